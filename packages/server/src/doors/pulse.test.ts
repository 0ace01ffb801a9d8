// The pulse door on real sockets, with the real runtime and the memory engine behind it.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { lstatSync, mkdirSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { createConnection, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, describe, test } from "node:test";
import { bytesOf, pulse } from "@yardmaster/dialects";
import { StartFault } from "../door-kit/door.js";
import { Tap, type TappedMessage } from "../door-kit/tap.js";
import { until } from "../testing/memory-runtime.js";
import { patience } from "../testing/patience.js";
import { allOf, PulseYard, type PulseYardOptions } from "../testing/pulse-yard.js";

const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex");
const failed = "02000000000000000803";
const okPulse = hex("0200000000000000 0801");

let yard: PulseYard;
async function openYard(options: PulseYardOptions = {}): Promise<PulseYard> {
  yard = await new PulseYard(options).open();
  return yard;
}
afterEach(() => yard.close());

const faults = (kind: string) => yard.door.faults.count(kind);

describe("the pulse door: tasks and solutions", patience, () => {
  for (const numbering of ["document", "main"] as const) {
    test(`a task's whole way, in ${numbering} numbering`, async () => {
      await openYard();
      const worker = await yard.worker({ numbering });
      await yard.hand.submit("pulse", "data");
      const asked = await worker.next();
      assert.equal(asked.told, 'SET_TASK 1 "data"');
      asked.answer("OK", { task: 1 });
      assert.equal(await worker.pulse("OK", 1), "OK");
      await worker.deliver(1, "solution");
      await yard.finished(1);
      assert.equal(String(bytesOf(await yard.body(1, "result"))), "solution");
      assert.deepEqual(await yard.story(1), ["waiting: submitted", "running: assigned", "done: done"]);
      assert.equal(await worker.pulse("SHUTDOWN"), "OK");
      assert.equal(await worker.pulse("OK"), "UNKNOWN_ID");
      assert.deepEqual(await yard.workerStates(), ["pulse/1 goodbye"]);
    });
  }

  test("ids count from 1 and are 64 bits wide; those that lie in the folder are somebody's", async () => {
    yard = new PulseYard();
    mkdirSync(yard.dir);
    writeFileSync(join(yard.dir, "41.sock"), "");
    await yard.open();
    assert.equal(await yard.pulse("REGISTER"), "OK 42");
    assert.equal(await yard.pulse("OK", { id: 2n ** 63n + 5n }), "UNKNOWN_ID");
  });

  test("a worker that works inside SET_TASK: pulses are answered meanwhile, and FETCH comes before the answer", async () => {
    await openYard();
    const worker = await yard.worker();
    await yard.hand.submit("pulse", "one");
    const setTask = await worker.next();
    for (let count = 0; count < 3; count += 1) assert.equal(await worker.pulse("OK", 1), "OK");
    await worker.deliver(1, "ONE");
    await yard.finished(1);
    await yard.hand.submit("pulse", "two");
    assert.equal(await worker.pulse("OK", 0), "OK");
    assert.deepEqual(worker.asked, []);
    setTask.answer("OK", { task: 1 });
    assert.equal((await worker.next()).told, 'SET_TASK 2 "two"');
  });

  test("a booting worker's task waits for its socket", async () => {
    await openYard();
    const worker = await yard.registered();
    await yard.hand.submit("pulse", "data");
    await yard.workerIs("1", "busy");
    // By now the first connect has failed, and the worker still counts as alive.
    for (let turn = 0; turn < 20; turn += 1) await new Promise((done) => setImmediate(done));
    await worker.listen();
    assert.equal((await worker.next()).told, 'SET_TASK 1 "data"');
    assert.equal((await yard.story(1)).length, 2);
  });

  test("large tasks and solutions pass while others are served", async () => {
    await openYard();
    const [big, small] = [await yard.worker(), await yard.worker()];
    const bytes = Buffer.alloc(30_000_000, "0123456789");
    await yard.hand.submit("pulse", { mediaType: "application/octet-stream", size: bytes.length, bytes });
    const asked = big.next();
    await yard.hand.submit("pulse", "small");
    assert.equal(await small.take(), 2);
    await small.deliver(2, "done");
    await yard.finished(2);
    const setTask = await asked;
    assert.ok(setTask.extra.equals(bytes));
    setTask.answer("OK", { task: 1 });
    await big.pulse("FETCH_ME", 1);
    const fetch = await big.next();
    // The answer's head and half of its solution. Nothing else waits for the rest.
    const head = pulse.writeWorkerResponse(
      { error: "OK", taskId: 1n, extraSize: BigInt(bytes.length) },
      "document",
    );
    fetch.socket.write(Buffer.concat([head, bytes.subarray(0, 15_000_000)]));
    await yard.hand.submit("pulse", "small again");
    assert.equal(await small.take(), 3);
    await small.deliver(3, "done");
    await yard.finished(3);
    fetch.socket.end(bytes.subarray(15_000_000));
    await yard.finished(1);
    assert.ok(bytesOf(await yard.body(1, "result")).equals(bytes));
  });

  test("a large task that its worker reads slowly delays nobody", async () => {
    await openYard();
    const slow = await yard.registered();
    const reader = createServer({ pauseOnConnect: true });
    await new Promise<void>((done) => reader.listen(slow.path, done));
    await slow.pulse("OK");
    const bytes = Buffer.alloc(30_000_000, "0123456789");
    const connected = new Promise<Socket>((done) => reader.once("connection", done));
    await yard.hand.submit("pulse", { mediaType: "application/octet-stream", size: bytes.length, bytes });
    const socket = await connected;
    // Nothing of it is read, so it cannot have been written.
    const small = await yard.worker();
    await yard.hand.submit("pulse", "small");
    assert.equal(await small.take(), 2);
    await small.deliver(2, "done");
    await yard.finished(2);
    const framer = new pulse.MessageFramer((read) => pulse.readControl(read, "document"), pulse.extraSizeOf);
    const asked = await new Promise<pulse.WithExtra<pulse.ControlMessage>>((done) => {
      socket.on("data", (chunk) => {
        const reading = framer.push(chunk);
        if (reading?.ok) done(reading.message);
      });
      socket.resume();
    });
    assert.ok(asked.extra.equals(bytes));
    socket.end(pulse.writeWorkerResponse({ error: "OK", taskId: 1n, extraSize: 0n }, "document"));
    reader.close();
  });

  test("the tap shows what is said, decoded", async () => {
    const tap = new Tap();
    const shown: TappedMessage[] = [];
    await openYard({ tap });
    tap.listen((message) => shown.push(message));
    const worker = await yard.worker();
    await yard.hand.submit("pulse", "data");
    await worker.take();
    await worker.deliver(1, "done");
    await yard.finished(1);
    assert.deepEqual(
      shown.map(({ direction, type, bytes }) => `${direction} ${type} ${bytes}`),
      [
        ...["in REGISTER 0", "out OK 0", "in OK 0", "out OK 0", "out SET_TASK 4", "in OK 0"],
        ...["in FETCH_ME 0", "out FETCH 0", "out OK 0", "in OK 4"],
      ],
    );
  });
});

describe("the pulse door: workers that fail", patience, () => {
  /** Two workers, of which the first has task 1. */
  async function twoWorkers() {
    await openYard();
    const first = await yard.worker();
    await yard.hand.submit("pulse", "data");
    const asked = await first.next();
    const second = await yard.worker();
    return { first, asked, second };
  }

  test("BUSY: to another at no cost, and the busy one is asked again after its next pulse", async () => {
    const { first, asked, second } = await twoWorkers();
    asked.answer("BUSY");
    assert.equal(await second.take(), 1);
    await yard.hand.submit("pulse", "two");
    assert.equal(await first.pulse("OK"), "OK");
    assert.equal((await first.next()).told, 'SET_TASK 2 "two"');
    assert.ok((await yard.story(1)).includes("waiting: returned: busy"));
  });

  test("TASK_FAILED: to another, with what it said in the story; the worker stays", async () => {
    const { first, asked, second } = await twoWorkers();
    asked.answer("OK", { task: 1 });
    await first.pulse("FETCH_ME", 1);
    (await first.next()).answer("TASK_FAILED", { task: 1, extra: "no licence" });
    assert.equal(await second.take(), 1);
    assert.ok((await yard.story(1)).includes("waiting: lost: reported: no licence"));
    await yard.workerIs("1", "idle");
  });

  test("FAILED: the worker is gone, its words are in the story, the task is with another", async () => {
    const { first, asked, second } = await twoWorkers();
    asked.answer("FAILED", { extra: "disk full" });
    assert.equal(await second.take(), 1);
    assert.ok((await yard.story(1)).includes("waiting: lost: reported: disk full"));
    assert.equal(await first.pulse("OK"), "UNKNOWN_ID");
    assert.equal(faults("worker_failed"), 1);
  });

  test("NO_FETCH leaves it as it is; no longer named, the task is done with an empty result", async () => {
    const { first, asked } = await twoWorkers();
    asked.answer("OK", { task: 1 });
    await first.pulse("FETCH_ME", 1);
    (await first.next()).answer("NO_FETCH", { task: 1 });
    // Until the answer is read, a pulse with task 0 is one that crossed it.
    const fetchedAgain = until(async () => {
      await first.pulse("OK", 1);
      return first.asked.shift();
    });
    (await fetchedAgain).answer("NO_FETCH", { task: 1 });
    await until(async () => {
      await first.pulse("OK", 0);
      return (await yard.task(1)).progress?.state === "done" || undefined;
    });
    assert.equal((await yard.body(1, "result"))?.size, 0);
  });

  test("a task_id that does not agree: RESTART, and the task is with another", async () => {
    const { first, asked, second } = await twoWorkers();
    asked.answer("OK", { task: 1 });
    assert.equal(await first.pulse("OK", 77), "OK");
    assert.equal((await first.next()).told, "RESTART");
    assert.equal(await second.take(), 1);
    assert.equal(await first.pulse("OK", 1), "UNKNOWN_ID");
    assert.ok((await yard.story(1)).includes("waiting: lost: restarted"));
  });

  test("a worker silent for longer than it said is dead, and its task is with another", async () => {
    await openYard();
    const doomed = await yard.worker({ next: 1 });
    await yard.hand.submit("pulse", "data");
    await doomed.take();
    const heir = await yard.worker();
    assert.equal(await heir.take(), 1);
    assert.equal(await doomed.pulse("OK", 1), "UNKNOWN_ID");
    assert.ok((await yard.story(1)).includes("waiting: lost: silence"));
  });

  test("one that vanishes in the middle of an exchange: its task is with another at once", async () => {
    const { asked, first, second } = await twoWorkers();
    asked.socket.write(hex("0400000000000000 1001"));
    first.close();
    assert.equal(await second.take(), 1);
    assert.ok((await yard.story(1)).includes("waiting: lost: connection_closed"));
  });

  test("one that died idle costs a task nothing", async () => {
    await openYard();
    const dead = await yard.worker();
    dead.close();
    await yard.hand.submit("pulse", "data");
    await yard.workerIs("1", "lost");
    const heir = await yard.worker();
    assert.equal(await heir.take(), 1);
    assert.equal((await yard.task(1)).progress?.losses, 0);
    assert.ok((await yard.story(1)).includes("waiting: returned: undelivered"));
  });

  test("a worker beyond the limit is told FAILED, or UNKNOWN_ID with its first pulse", async () => {
    await openYard({ workersMax: 1 });
    await yard.worker();
    const second = await yard.registered();
    await until(() => faults("too_many_workers") || undefined);
    assert.equal(await second.pulse("OK"), "UNKNOWN_ID");
  });
});

describe("the pulse door: bad input", patience, () => {
  /** All other workers continue. */
  async function stillWorks(): Promise<void> {
    const worker = await yard.worker();
    const task = await yard.hand.submit("pulse", "data");
    assert.equal(await worker.take(), task);
    await worker.deliver(task, "done");
    await yard.finished(task);
  }

  const cases: [what: string, bytes: string, answer: string, fault: string][] = [
    ["a length of 2^63", "0000000000000080", failed, "message_too_large"],
    ["a length of 2^64 - 1 and more", `ffffffffffffffff${"00".repeat(100)}`, failed, "message_too_large"],
    ["garbage for a message", "0400000000000000 ffffffff", failed, "bad_message"],
    ["a message that ends too soon", "0100000000000000 08", failed, "bad_message"],
    ["a type that nobody knows", "0200000000000000 0809", "02000000000000000801", "unknown_type"],
    ["a negative type", `0b00000000000000 08${"ff".repeat(9)}01`, "02000000000000000801", "unknown_type"],
  ];
  for (const [what, bytes, answer, fault] of cases) {
    test(`${what} is answered and counted`, async () => {
      await openYard();
      assert.equal(await yard.say(hex(bytes)), answer);
      assert.equal(faults(fault), 1);
      await stillWorks();
    });
  }

  test("a pulse byte by byte, and one with bytes behind it, are pulses", async () => {
    await openYard();
    const socket = createConnection(yard.mainPath);
    socket.setNoDelay();
    const answer = allOf(socket);
    for (const byte of hex("0200000000000000203c")) {
      await new Promise((done) => socket.write(Buffer.from([byte]), done));
    }
    assert.equal((await answer).toString("hex"), "02000000000000001001");
    assert.equal(await yard.say(hex("0200000000000000 203c ffffff")), "02000000000000001002");
  });

  test("1,000 connections that send nothing, or only a length, delay nobody", async () => {
    await openYard();
    const sockets: Socket[] = [];
    await Promise.all(
      Array.from({ length: 1_000 }, (_, index) => {
        const socket = createConnection(yard.mainPath);
        sockets.push(socket);
        if (index % 2 === 0) socket.write(hex("0800000000000000"));
        socket.on("error", () => {});
        return new Promise((done) => socket.once("connect", done));
      }),
    );
    await stillWorks();
    for (const socket of sockets) socket.destroy();
  });

  test("when there are too many connections, the one that has said nothing for longest goes", async () => {
    await openYard({ connectionsMax: 2 });
    const [first, second] = [createConnection(yard.mainPath), createConnection(yard.mainPath)];
    const over = new Promise((done) => first.once("close", done));
    first.resume();
    await Promise.all([first, second].map((socket) => new Promise((done) => socket.once("connect", done))));
    assert.equal(await yard.say(okPulse), "02000000000000000802");
    await over;
    assert.equal(faults("too_many_connections"), 1);
    assert.equal(second.destroyed, false);
    second.destroy();
  });

  test("an answer that is garbage, too large, or ends too soon: the worker is dropped", async () => {
    await openYard({ payloadBytesMax: 1000 });
    const answers: [bytes: string, fault: string][] = [
      ["0400000000000000 ffffffff", "bad_message"],
      ["0000000000000080", "message_too_large"],
      ["0500000000000000 1001 18e907", "extra_too_large"],
      ["0400000000000000 1001 1805 6162", "broken"],
      ["", "broken"],
    ];
    for (const [index, [bytes, fault]] of answers.entries()) {
      const before = faults(fault);
      const worker = await yard.worker();
      await yard.hand.submit("pulse", "data");
      const asked = await worker.next();
      asked.socket.end(hex(bytes));
      await yard.workerIs(worker.name, "lost");
      assert.equal(faults(fault), before + 1, bytes);
      const heir = await yard.worker();
      assert.equal(await heir.take(), index + 1);
      await heir.deliver(index + 1, "done");
      await yard.finished(index + 1);
      await heir.pulse("SHUTDOWN");
    }
  });

  test("a worker's socket that accepts and never answers delays nobody, and its worker is lost by silence", async () => {
    await openYard();
    const mute = await yard.worker({ next: 1 });
    await yard.hand.submit("pulse", "data");
    await mute.next();
    const other = await yard.worker();
    await yard.hand.submit("pulse", "for the other");
    assert.equal(await other.take(), 2);
    await other.deliver(2, "done");
    await yard.finished(2);
    assert.equal(await other.take(), 1);
    assert.ok((await yard.story(1)).includes("waiting: lost: silence"));
  });

  test("a connection that says nothing, or half a pulse, is closed when its time is over", async () => {
    await openYard({ times: { pulseMsMax: 100 } });
    const silent = allOf(createConnection(yard.mainPath));
    const half = createConnection(yard.mainPath);
    half.write(Buffer.from("0400000000000000", "hex"));
    assert.deepEqual(await Promise.all([silent, allOf(half)]), [Buffer.alloc(0), Buffer.alloc(0)]);
    assert.equal(faults("silent_connection"), 2);
    assert.match(await yard.pulse("REGISTER"), /^OK /);
  });

  test("a FETCH that is answered by half, and then by silence: the worker is dropped, the task is with another", async () => {
    await openYard({ times: { silenceMs: 150 } });
    const worker = await yard.worker();
    await yard.hand.submit("pulse", "data");
    const task = await worker.take();
    await worker.pulse("FETCH_ME", task);
    const fetch = await worker.next();
    const head = pulse.writeWorkerResponse({ error: "OK", taskId: BigInt(task), extraSize: 10n }, "document");
    fetch.socket.write(Buffer.concat([head, Buffer.from("half")]));
    const other = await yard.worker();
    assert.equal(await other.take(), task);
    assert.ok((await yard.story(task)).includes("waiting: lost: silence"));
    assert.equal(await worker.pulse("OK"), "UNKNOWN_ID");
    assert.equal(faults("silent"), 1);
  });

  test("a SET_TASK that is not answered has all the time it takes", async () => {
    await openYard({ times: { silenceMs: 50 } });
    const worker = await yard.worker();
    await yard.hand.submit("pulse", "data");
    const asked = await worker.next();
    // Longer than the silence that would end a FETCH; another connection's time runs out meanwhile.
    const other = await yard.worker();
    await yard.hand.submit("pulse", "fetched from nobody");
    const task = await other.take();
    await other.pulse("FETCH_ME", task);
    await yard.workerIs(other.name, "lost");
    await worker.pulse("FETCH_ME", asked.task);
    (await worker.next()).answer("OK", { task: asked.task, extra: "solution" });
    await yard.finished(asked.task);
  });

  test("a worker's socket that is a link to somewhere else is not followed", async () => {
    await openYard();
    let connections = 0;
    const elsewhere = createServer(() => {
      connections += 1;
    });
    const target = join(yard.folder, "elsewhere.sock");
    await new Promise<void>((done) => elsewhere.listen(target, done));
    const worker = await yard.registered();
    symlinkSync(target, worker.path);
    await yard.hand.submit("pulse", "data");
    await yard.workerIs(worker.name, "lost");
    assert.deepEqual([connections, faults("not_a_socket")], [0, 1]);
    elsewhere.close();
    assert.equal(await (await yard.worker()).take(), 1);
  });

  test("a worker's socket that is no socket, or is gone, is not reached", async () => {
    await openYard();
    const file = await yard.registered();
    writeFileSync(file.path, "");
    await yard.hand.submit("pulse", "data");
    await yard.workerIs(file.name, "lost");
    const gone = await yard.registered();
    await gone.listen();
    unlinkSync(gone.path);
    await gone.pulse("OK");
    await yard.workerIs(gone.name, "lost");
    assert.equal((await yard.task(1)).progress?.losses, 0);
  });
});

describe("the pulse door: its folder", patience, () => {
  const modeOf = (path: string) => (lstatSync(path).mode & 0o777).toString(8);

  test("is made for its user and group, and so is main.sock", async () => {
    await openYard();
    assert.deepEqual([modeOf(yard.dir), modeOf(yard.mainPath)], ["750", "660"]);
    assert.equal(yard.door.note, undefined);
  });

  test("one that cannot be written: the data folder, with a note", async () => {
    await openYard({ config: { dir: "/dev/null/x" } });
    assert.equal(yard.door.note, "instead of /dev/null/x, which cannot be written");
    assert.ok(lstatSync(join(yard.folder, "data", "controller", "main.sock")).isSocket());
  });

  /** The reason why the door of `yard` does not open. */
  const refusal = () =>
    yard.door.open().then(
      () => "it opened",
      (fault: unknown) => (fault instanceof StartFault ? fault.message : String(fault)),
    );

  test("a living controller is not pushed aside; the socket of a dead one is replaced", async () => {
    const other = createServer();
    yard = new PulseYard();
    await yard.runtime.start();
    mkdirSync(yard.dir);
    await new Promise<void>((done) => other.listen(yard.mainPath, done));
    assert.equal(await refusal(), `door pulse: another controller listens on ${yard.mainPath}`);
    // Left by a process that did not unlink it, as if it was killed.
    await new Promise((done) => other.close(done));
    const script = `require("net").createServer().listen(${JSON.stringify(yard.mainPath)}, () => process.kill(process.pid, "SIGKILL"))`;
    spawnSync(process.execPath, ["-e", script]);
    assert.ok(lstatSync(yard.mainPath).isSocket());
    await yard.door.open();
    assert.equal(await yard.pulse("OK", { id: 1n }), "UNKNOWN_ID");
  });

  test("a file that is not a socket is left alone, and a path that is too long is reported", async () => {
    yard = new PulseYard();
    await yard.runtime.start();
    mkdirSync(yard.dir);
    writeFileSync(yard.mainPath, "precious");
    assert.equal(await refusal(), `door pulse: ${yard.mainPath} is there, and is not a socket`);
    await yard.close();
    yard = new PulseYard({ config: { dir: `/tmp/${"x".repeat(100)}` } });
    await yard.runtime.start();
    assert.match(await refusal(), /is too long for a socket's folder/);
  });

  test("with a set numbering, workers of an earlier controller are asked what they hold", async () => {
    yard = new PulseYard({ config: { numbering: "document" } });
    mkdirSync(yard.dir);
    const asked: string[] = [];
    const idle = createServer((socket) => {
      socket.on("data", (chunk) => {
        asked.push(chunk.toString("hex"));
        socket.end(hex("0000000000000000"));
      });
    });
    await new Promise<void>((done) => idle.listen(join(yard.dir, "7.sock"), done));
    await yard.open();
    await yard.workerIs("7", "idle");
    assert.deepEqual(asked, ["02000000000000000803"]);
    assert.equal(await yard.pulse("OK", { id: 7n }), "OK");
    assert.equal(await yard.pulse("REGISTER"), "OK 8");
    idle.close();
  });
});
