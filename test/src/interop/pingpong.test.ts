// The pingpong door with independent peers in plain Python with pyzmq, like those of the dialect's
// users.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type ServedYard, serveYard } from "../end-to-end/served-yard.js";
import { patience } from "../patience.js";
import { type PythonPeer, startPython, withoutPyzmq } from "./foreign.js";
import { originalWorker, reqClient, traderClient } from "./pingpong-peers.js";

/**
 * Sends READY and a PING per second, prints PONGs, and answers every job with its frames in
 * capitals.
 */
const documentWorker = `
import sys, time, zmq
socket = zmq.Context().socket(zmq.DEALER)
socket.connect("tcp://" + sys.argv[1])
socket.send_multipart([b"", b"READY"])
pinged = 0
while True:
    if time.monotonic() - pinged > 0.2:
        socket.send_multipart([b"", b"PING"])
        pinged = time.monotonic()
    if not socket.poll(50):
        continue
    empty, *frames = socket.recv_multipart()
    assert empty == b""
    if frames == [b"PONG"]:
        print("PONG")
        continue
    print("job", *[frame.decode() for frame in frames])
    socket.send_multipart([b""] + [frame.upper() for frame in frames])
`;

/**
 * Program form: a job comes with its client and two empty frames, and is answered with JOB
 * COMPLETE.
 */
const programWorker = `
import sys, zmq
socket = zmq.Context().socket(zmq.DEALER)
socket.connect("tcp://" + sys.argv[1])
socket.send_multipart([b"", b"READY"])
while True:
    frames = socket.recv_multipart()
    if len(frames) != 5:
        continue
    empty, job, client, *rest = frames
    assert rest == [b"", b""]
    print("job", job.decode())
    socket.send_multipart([b"", b"JOB COMPLETE", client, b"", job.upper()])
`;

/** Sends all jobs at once, each with its own name, and prints the answers as they arrive. */
const dealerClient = `
import sys, zmq
socket = zmq.Context().socket(zmq.DEALER)
socket.connect("tcp://" + sys.argv[1])
jobs = sys.stdin.readline().split()
for number, job in enumerate(jobs):
    socket.send_multipart([b"n%d" % number, b"more", b"", job.encode()])
for job in jobs:
    print(" ".join(part.decode() or "-" for part in socket.recv_multipart()))
`;

/** The next line that is not about pings. */
async function nextJob(worker: PythonPeer): Promise<string> {
  for (;;) {
    const line = await worker.line();
    if (line !== "PONG") return line;
  }
}

for (const [form, script] of [
  ["document", documentWorker],
  ["program", programWorker],
] as const) {
  describe(`pyzmq through the pingpong door, ${form} form`, { skip: withoutPyzmq, ...patience }, () => {
    let yard: ServedYard;
    let worker: PythonPeer;
    const peers: PythonPeer[] = [];
    const start = (code: string, address: string | undefined) => {
      const peer = startPython(code, String(address));
      peers.push(peer);
      return peer;
    };

    before(async () => {
      yard = await serveYard({ doors: { pingpong: { form } } });
      worker = start(script, yard.doors.pingpong?.workers);
    });
    after(async () => {
      await Promise.all(peers.map((peer) => peer.stop()));
      assert.equal(await yard.stop(), 0);
    });

    test("a REQ client", async () => {
      const client = start(reqClient, yard.doors.pingpong?.clients);
      for (const job of ["one", "two", "three"]) {
        client.write(`${job}\n`);
        assert.equal(await nextJob(worker), `job ${job}`);
        assert.equal(await client.line(), job.toUpperCase());
      }
      client.write("PONG\n");
      assert.match(await client.line(), /^ERROR\+does_not_fit\+/);
    });

    test("a DEALER client with correlation frames", async () => {
      const client = start(dealerClient, yard.doors.pingpong?.clients);
      client.write("alpha beta gamma\n");
      const answers = [await client.line(), await client.line(), await client.line()];
      assert.deepEqual(answers.sort(), ["n0 more - ALPHA", "n1 more - BETA", "n2 more - GAMMA"]);
      for (const job of ["alpha", "beta", "gamma"]) assert.equal(await nextJob(worker), `job ${job}`);
    });

    test("a job handed in by http", async () => {
      const submitted = await fetch(`${yard.url}/v1/queues/pingpong/tasks?wait=120s`, {
        method: "POST",
        body: "by http",
      });
      const { id, state, worker: by } = (await submitted.json()) as Record<string, string>;
      assert.equal(state, "done");
      assert.match(String(by), /^pingpong\/0x00/);
      assert.equal(await nextJob(worker), "job by http");
      const result = await fetch(`${yard.url}/v1/tasks/${id}/result`);
      assert.equal(await result.text(), "BY HTTP");
    });

    if (form === "program") return;

    test("jobs of several frames", async () => {
      const client = start(reqClient, yard.doors.pingpong?.clients);
      client.write("a++b\n");
      assert.equal(await nextJob(worker), "job a  b");
      assert.equal(await client.line(), "A++B");
    });

    test("every PING is answered", async () => {
      for (let count = 0; count < 3; ) if ((await worker.line()) === "PONG") count += 1;
    });

    test("a worker that is killed under a job: the next one does it", async () => {
      worker.signal("SIGSTOP");
      const client = start(reqClient, yard.doors.pingpong?.clients);
      client.write("orphan\n");
      await runningAt(yard, "orphan".length);
      worker.signal("SIGKILL");
      const heir = start(script, yard.doors.pingpong?.workers);
      assert.equal(await client.line(), "ORPHAN");
      assert.equal(await nextJob(heir), "job orphan");
    });
  });
}

/** Resolves when a task with a payload of this size runs. */
async function runningAt(yard: ServedYard, payloadBytes: number): Promise<void> {
  for (;;) {
    const response = await fetch(`${yard.url}/v1/tasks?state=running`);
    const { items } = (await response.json()) as { items: { payloadBytes: number }[] };
    if (items.some((task) => task.payloadBytes === payloadBytes)) return;
  }
}

describe("the original program's worker, whose timer says READY at work", {
  skip: withoutPyzmq,
  timeout: 60_000,
}, () => {
  let yard: ServedYard;
  const peers: PythonPeer[] = [];
  const start = (code: string, ...args: string[]) => {
    const peer = startPython(code, ...args);
    peers.push(peer);
    return peer;
  };
  after(async () => {
    await Promise.all(peers.map((peer) => peer.stop()));
    assert.equal(await yard.stop(), 0);
  });

  test("each job is begun once, and its result goes to the client that asked", async () => {
    yard = await serveYard({ doors: { pingpong: { form: "program" } } });
    const { clients, workers } = yard.doors.pingpong ?? {};
    // Its times are a tenth of the original's: READY after 0.3 s of work.
    const worker = start(originalWorker, String(workers), "original", "0.1");
    const asking = [0, 1, 2, 3].map(async (number) => {
      const client = start(reqClient, String(clients));
      client.write(`JOB${number} 0.8\n`);
      return client.line();
    });
    assert.deepEqual(
      await Promise.all(asking),
      [0, 1, 2, 3].map((number) => `JOB${number} by original`),
    );
    const said = [];
    while (said.filter((line) => line.startsWith("job")).length < 4) said.push(await worker.line());
    assert.ok(said.includes("READY"), `it was never at work for long: ${said}`);
    assert.deepEqual(
      said.filter((line) => line.startsWith("job")).sort(),
      [0, 1, 2, 3].map((number) => `job JOB${number}`),
    );
    const { items } = (await (await fetch(`${yard.url}/v1/tasks`)).json()) as { items: { state: string }[] };
    assert.deepEqual(
      items.map(({ state }) => state),
      ["done", "done", "done", "done"],
    );
  });

  test("a Trader without correlation frames has all its orders answered", async () => {
    const trader = start(traderClient, String(yard.doors.pingpong?.clients));
    trader.write("A 0\nB 0.5\nC 0\n");
    const answers = [await trader.line(), await trader.line(), await trader.line()];
    assert.deepEqual(answers.sort(), ["A by original", "B by original", "C by original"]);
  });
});
