// Our own scaler worker and client on the real door, with each other and with foreign peers.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import {
  bytesSerializer,
  messagePackSerializer,
  resultOf,
  ScalerClient,
  type ScalerClientOptions,
  type ScalerFunction,
  ScalerWorker,
  type ScalerWorkerOptions,
} from "@yardmaster/sdk";
import { type ServedYard, serveYard } from "../end-to-end/served-yard.js";
import { patience } from "../patience.js";
import { startPython, withoutPyzmq } from "./foreign.js";
import { Inbox } from "./inbox.js";
import { startProxy } from "./proxy.js";
import { documentWorker, programWorker, client as pythonClient } from "./scaler-peers.js";

const addressOf = (yard: ServedYard) => String(yard.doors.scaler?.listen);
const schedulerOf = (yard: ServedYard) => `tcp://${addressOf(yard)}`;

const square: ScalerFunction = ([x]) => Number(x) ** 2;
const add: ScalerFunction = ([a, b]) => Number(a) + Number(b);
const fail: ScalerFunction = () => {
  throw new Error("it was told to");
};

/** A function that reports when it has begun, and ends when told to or aborted. */
function holding() {
  const begun = new Inbox<string>();
  const ended = new Inbox<string>();
  const release: (() => void)[] = [];
  const hold: ScalerFunction = ([name], { signal }) =>
    new Promise((resolve) => {
      const end = (how: string) => {
        ended.put(`${name} ${how}`);
        resolve(how);
      };
      release.push(() => end("released"));
      signal.addEventListener("abort", () => end("aborted"));
      begun.put(String(name));
    });
  return { hold, begun, ended, release };
}

for (const wire of ["r", "r-packed", "d", "d-packed", "d-split"] as const) {
  describe(`our own ends through the scaler door, ${wire}`, patience, () => {
    let yard: ServedYard;
    let worker: ScalerWorker;
    let client: ScalerClient;
    const { hold, begun, ended } = holding();
    before(async () => {
      yard = await serveYard({ doors: { scaler: {} } });
      const functions = { square, add, fail, hold };
      worker = new ScalerWorker({ scheduler: schedulerOf(yard), wire, functions, name: "ours" });
      client = new ScalerClient({ scheduler: schedulerOf(yard) });
    });
    after(async () => {
      await Promise.all([worker.stop(), client.close()]);
      assert.equal(await yard.stop(), 0);
    });

    test("a task, a map, and failures", async () => {
      assert.equal(await client.submit("add", 1, 2), 3);
      const items = Array.from({ length: 500 }, (_, index) => index);
      assert.deepEqual(
        await client.map("square", items),
        items.map((item) => item ** 2),
      );
      await assert.rejects(client.submit("fail").result(), { code: "failed", message: "it was told to" });
      await assert.rejects(client.submit("nothing").result(), { message: /no function "nothing"/ });
    });

    test("a graph, and one that cannot be run", async () => {
      const nodes = {
        a: { call: "square", args: [3] },
        b: { call: "square", args: [4] },
        sum: { call: "add", args: [resultOf("a"), resultOf("b")] },
      };
      assert.deepEqual(await client.get(nodes, ["sum", "a"]), { sum: 25, a: 9 });
      const cycle = {
        a: { call: "square", args: [resultOf("b")] },
        b: { call: "square", args: [resultOf("a")] },
      };
      await assert.rejects(client.get(cycle, ["a"]), { code: "failed" });
      const broken = { a: { call: "fail" }, b: { call: "square", args: [resultOf("a")] } };
      await assert.rejects(client.get(broken, ["b"]), { code: "failed", message: "it was told to" });
    });

    test("an object that many tasks share", async () => {
      const shared = client.put(21);
      const futures = [1, 2, 3].map((x) => client.submit("add", shared, x));
      client.release(shared);
      assert.deepEqual(await Promise.all(futures), [22, 23, 24]);
    });

    test("cancels of a running task and of one behind it", async () => {
      const running = client.submit("hold", "first");
      assert.equal(await begun.next(), "first");
      const queued = client.submit("hold", "second");
      queued.cancel();
      await assert.rejects(queued.result(), { code: "cancelled" });
      running.cancel();
      await assert.rejects(running.result(), { code: "cancelled" });
      assert.equal(await ended.next(), "first aborted");
      assert.equal(await client.submit("add", 1, 1), 2);
    });

    test("a worker that leaves gives back what it has not begun", async () => {
      const leaving = holding();
      const functions = { hold: leaving.hold, square };
      const second = new ScalerWorker({ scheduler: schedulerOf(yard), wire, functions, identity: "second" });
      await joined(yard, "second");
      const busy = client.submit("hold", "busy");
      const [one, other] = [begun.next(), leaving.begun.next()];
      // Either worker may have the first task; the other one is idle and gets the next.
      const also = client.submit("hold", "also busy");
      await Promise.all([one, other]);
      const squares = Promise.all([1, 2, 3, 4].map((x) => client.submit<number>("square", x)));
      const stopped = second.stop();
      for (const release of leaving.release.splice(0)) release();
      await stopped;
      busy.cancel();
      also.cancel();
      assert.deepEqual(await squares, [1, 4, 9, 16]);
    });
  });
}

describe("our own ends and others", patience, () => {
  let yard: ServedYard;
  /**
   * Things that a test opened. They are closed even if it fails, because otherwise the process
   * would not end.
   */
  const open: { close(): Promise<unknown> }[] = [];
  const opened = <Opened extends { close(): Promise<unknown> }>(one: Opened) => {
    open.push(one);
    return one;
  };
  const startClient = (options: Partial<ScalerClientOptions> = {}) =>
    opened(new ScalerClient({ scheduler: schedulerOf(yard), ...options }));
  const startWorker = (
    functions: ScalerWorkerOptions["functions"],
    options: Partial<ScalerWorkerOptions> = {},
  ) => {
    const worker = new ScalerWorker({ scheduler: schedulerOf(yard), functions, ...options });
    open.push({ close: () => worker.stop() });
    return worker;
  };
  const startPeer = (script: string, ...args: string[]) => {
    const peer = startPython(script, addressOf(yard), ...args);
    open.push({ close: () => peer.stop() });
    return peer;
  };
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close();
  });
  before(async () => {
    yard = await serveYard({ doors: { scaler: { function: "echo", perWorkerQueueSize: 2 } } });
  });
  after(async () => {
    assert.equal(await yard.stop(), 0);
  });

  test("a task that waits for tasks, on a worker that runs one at a time and may hold two", async () => {
    const inner = startClient();
    const sum: ScalerFunction = async ([depth], { priority }) => {
      if (depth === 0) return 1;
      const options = { priority: priority - 1 };
      const below = [1, 2].map(() => inner.call<number>("sum", [Number(depth) - 1], options));
      return (await Promise.all(below)).reduce((total, one) => total + one, 1);
    };
    startWorker({ sum });
    assert.equal(await startClient().submit("sum", 4), 31);
  });

  test("MessagePack, with bytes in it", async () => {
    startWorker({ echo: ([value]) => value });
    const client = startClient({ serializer: messagePackSerializer });
    const value = { bytes: Buffer.from([0, 255]), list: [1, null, "é"] };
    assert.deepEqual(await client.submit("echo", value), value);
  });

  test("large objects, and many of them", async () => {
    startWorker({ count: (args) => String(args.length) }, { serializer: bytesSerializer });
    const client = startClient({ serializer: bytesSerializer });
    const large = Buffer.alloc(20_000_000, "x");
    assert.equal(String(await client.submit("count", large)), "1");
    const many = Array.from({ length: 2_000 }, (_, index) => `argument ${index}`);
    assert.equal(String(await client.submit("count", ...many)), "2000");
  });

  test("a task from http for our worker", async () => {
    const echo: ScalerFunction = ([value]) => `${value}!`;
    startWorker({ echo: { run: echo, serializer: bytesSerializer } });
    const submitted = await fetch(`${yard.url}/v1/queues/scaler/tasks?wait=120s`, {
      method: "POST",
      body: "no JSON {",
    });
    const { id, state } = (await submitted.json()) as Record<string, string>;
    assert.equal(state, "done");
    const result = await fetch(`${yard.url}/v1/tasks/${id}/result`);
    assert.equal(await result.text(), "no JSON {!");
  });

  test("our client's task for an http worker", async () => {
    const future = startClient({ plainNames: true }).submit("add", 1, 2);
    const claim = await fetch(`${yard.url}/v1/queues/scaler:claim?worker=h&wait=120s`, { method: "POST" });
    const { attempts } = (await claim.json()) as { attempts: ClaimedAttempt[] };
    const [claimed] = attempts as [ClaimedAttempt];
    const parts = messagePackSerializer.read(Buffer.from(claimed.payload, "base64")) as Buffer[];
    assert.deepEqual(parts.map(String), ["add", "1", "2"]);
    const done = `${yard.url}/v1/tasks/${claimed.task}/attempts/${claimed.attempt}:done`;
    await fetch(done, { method: "POST", headers: { "yard-token": claimed.token }, body: "3" });
    assert.equal(await future, 3);
  });

  test("a client that comes back under its name gets what became of its tasks, which ran once", async () => {
    const { hold, begun, ended, release } = holding();
    startWorker({ hold });
    const proxy = opened(await startProxy(addressOf(yard)));
    const client = startClient({ scheduler: `tcp://${proxy.address}` });
    const future = client.submit("hold", "x");
    assert.equal(await begun.next(), "x");
    proxy.cut();
    for (const end of release) end();
    assert.equal(await ended.next(), "x released");
    assert.equal(await future, "released");
    const next = client.submit("hold", "y");
    assert.equal(await begun.next(), "y", "x was not given out again");
    for (const end of release) end();
    assert.equal(await next, "released");
  });

  test("a worker whose connection is lost works on, and its result counts when it has the task again", async () => {
    const { hold, begun, release } = holding();
    const proxy = opened(await startProxy(addressOf(yard)));
    startWorker({ hold }, { scheduler: `tcp://${proxy.address}`, identity: "cut-off", heartbeatMs: 100 });
    const client = startClient();
    const future = client.submit("hold", "x");
    assert.equal(await begun.next(), "x");
    proxy.cut();
    await lostAndBack(yard, "cut-off");
    for (const end of release) end();
    assert.equal(await future, "released");
    const next = client.submit("hold", "y");
    assert.equal(await begun.next(), "y", "x was not begun again");
    next.cancel();
    await assert.rejects(next.result(), { code: "cancelled" });
  });

  for (const [form, script] of [
    ["document", documentWorker],
    ["program", programWorker],
  ] as const) {
    test(`our client and a worker in Python, ${form} form`, { skip: withoutPyzmq }, async () => {
      const peer = startPeer(script, "native", `python-${form}`);
      assert.equal(await peer.line(), "registered");
      const client = startClient({ serializer: bytesSerializer, plainNames: true });
      assert.equal(String(await client.submit("upper", "one", "two")), "ONE TWO");
      await assert.rejects(client.submit("fail").result(), { code: "failed", message: "it was told to" });
    });
  }

  test("our worker and a client in Python", { skip: withoutPyzmq }, async () => {
    const upper: ScalerFunction = (args) => args.join(" ").toUpperCase();
    startWorker({ upper, fail }, { serializer: bytesSerializer });
    const peer = startPeer(pythonClient, "1|Client|python");
    assert.equal(await peer.line(), "connected");
    peer.write('["submit", "a", "upper", "one", "two"]\n');
    assert.equal(await peer.line(), "a S ONE TWO");
    peer.write('["submit", "b", "fail"]\n');
    assert.equal(await peer.line(), "b F Exception('it was told to')");
  });

  test("a shut-down by a client, where it is allowed and where not", async () => {
    assert.equal(await startClient().shutDown(), false);
    const unprotected = await serveYard({ doors: { scaler: { protected: false } } });
    const scheduler = schedulerOf(unprotected);
    const worker = startWorker({}, { scheduler, identity: "w" });
    await joined(unprotected, "w");
    assert.equal(await startClient({ scheduler }).shutDown(), true);
    await worker.closed;
    assert.equal(await unprotected.stop(), 0);
  });
});

interface ClaimedAttempt {
  readonly task: string;
  readonly attempt: number;
  readonly token: string;
  readonly payload: string;
}

async function joined(yard: ServedYard, name: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${yard.url}/v1/workers`);
    const { items } = (await answer.json()) as { items: { id: string }[] };
    if (items.some(({ id }) => id === `scaler/${name}`)) return;
  }
}

/** Resolves when a worker was lost, came back and has a task. */
async function lostAndBack(yard: ServedYard, name: string): Promise<void> {
  // The task was sent when it is shown as running. Two heartbeats later the worker has read it too.
  const beats = new Set<string>();
  while (beats.size < 3) {
    const answer = await fetch(`${yard.url}/v1/workers`);
    const { items } = (await answer.json()) as { items: ShownWorker[] };
    const lives = items.filter(({ id }) => id === `scaler/${name}`);
    const back = lives.find(({ state, running }) => state === "busy" && running === 1);
    if (lives.length === 2 && back !== undefined) beats.add(back.lastSeenAt);
  }
}

interface ShownWorker {
  readonly id: string;
  readonly state: string;
  readonly running: number;
  readonly lastSeenAt: string;
}
