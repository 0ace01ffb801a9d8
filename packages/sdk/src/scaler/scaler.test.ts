// The worker and the client against a scheduler that is a bare ROUTER controlled by the test.

import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { scaler, WireFrames } from "@yardmaster/dialects";
import { type Peer, Router } from "@yardmaster/zmtp";
import { patience } from "../testing/patience.js";
import { resultOf, ScalerClient, type ScalerClientOptions } from "./client.js";
import { ScalerError } from "./future.js";
import { bytesSerializer, jsonSerializer, messagePackSerializer } from "./serializers.js";
import { ScalerWorker, type ScalerWorkerOptions } from "./worker.js";

interface ReceivedMessage {
  readonly peer: Peer;
  readonly message: scaler.PeerMessage;
}

type Of<Type> = Extract<scaler.PeerMessage, { type: Type }> & { readonly peer: Peer };

/** A ROUTER that echoes heartbeats. Its peers' other messages are awaited in order. */
class TestScheduler {
  readonly router: Router;
  readonly peers: Peer[] = [];
  readonly heartbeats: scaler.Heartbeat[] = [];
  readonly #wire: scaler.ScalerWire;
  readonly #said: ReceivedMessage[] = [];
  readonly #takers: ((said: ReceivedMessage) => void)[] = [];
  endpoint = "";

  constructor(wire: scaler.ScalerWire) {
    this.#wire = wire;
    this.router = new Router({
      handover: true,
      onPeer: (peer) => this.peers.push(peer),
      onMessage: (peer, frames) => {
        const reading = scaler.readFromPeer(WireFrames.of(frames), wire);
        assert.ok(reading.ok);
        this.#take({ peer, message: reading.message });
      },
    });
  }

  #take(said: ReceivedMessage): void {
    const { peer, message } = said;
    if (message.type === "heartbeat") {
      this.heartbeats.push(message);
      this.tellWorker(peer, { type: "heartbeat-echo" });
    } else if (message.type === "client-heartbeat") this.tellClient(peer, { type: "client-heartbeat-echo" });
    else {
      const taker = this.#takers.shift();
      if (taker) taker(said);
      else this.#said.push(said);
    }
  }

  tellWorker(peer: Peer, message: scaler.ToWorker): void {
    this.router.sendTo(peer, scaler.writeToWorker(message, this.#wire));
  }

  tellClient(peer: Peer, message: scaler.ToClient): void {
    this.router.sendTo(peer, scaler.writeToClient(message));
  }

  next(): Promise<ReceivedMessage> {
    const said = this.#said.shift();
    return said ? Promise.resolve(said) : new Promise((resolve) => this.#takers.push(resolve));
  }

  /** The next message, which must have this type. */
  async expect<Type extends scaler.PeerMessage["type"]>(type: Type): Promise<Of<Type>> {
    const { peer, message } = await this.next();
    assert.equal(message.type, type);
    return Object.assign(message, { peer }) as Of<Type>;
  }

  /** The first message of this type; earlier ones are kept for later. */
  async until<Type extends scaler.PeerMessage["type"]>(type: Type): Promise<Of<Type>> {
    for (;;) {
      const at = this.#said.findIndex(({ message }) => message.type === type);
      const [said] = at < 0 ? [] : this.#said.splice(at, 1);
      if (said !== undefined) return Object.assign(said.message, { peer: said.peer }) as Of<Type>;
      this.#said.push(await new Promise<ReceivedMessage>((resolve) => this.#takers.push(resolve)));
    }
  }

  answer(
    peer: Peer,
    ids: readonly Buffer[],
    contents: readonly (string | Uint8Array)[],
  ): scaler.ObjectAnswer {
    const bytes = contents.map((content) => Buffer.from(content));
    const names = bytes.map(() => Buffer.from("name"));
    const message = {
      type: "object-answer",
      kind: "content",
      ids,
      names,
      bytes,
      hasSplitCounts: false,
    } as const;
    this.router.sendTo(peer, scaler.writeToWorker(message, this.#wire));
    return message;
  }
}

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function openScheduler(wire: scaler.ScalerWire = "r"): Promise<TestScheduler> {
  const scheduler = new TestScheduler(wire);
  scheduler.endpoint = (await scheduler.router.bind("tcp://127.0.0.1:0")).endpoint;
  closing.push(() => scheduler.router.close({ lingerMs: 0 }));
  return scheduler;
}

const functions = {
  add: ([a, b]: readonly unknown[]) => Number(a) + Number(b),
  fail: () => {
    throw new Error("it was told to");
  },
};

async function startWorker(scheduler: TestScheduler, options: Partial<ScalerWorkerOptions> = {}) {
  const joined = new Promise<Peer>((resolve) => {
    const poll = () =>
      scheduler.heartbeats.length > 0 ? resolve(scheduler.peers[0] as Peer) : setImmediate(poll);
    poll();
  });
  const worker = new ScalerWorker({ scheduler: scheduler.endpoint, functions, leaveMs: 50, ...options });
  closing.push(() => worker.stop());
  return { worker, peer: await joined };
}

function startClient(scheduler: TestScheduler, options: Partial<ScalerClientOptions> = {}): ScalerClient {
  const client = new ScalerClient({ scheduler: scheduler.endpoint, ...options });
  closing.push(() => client.close());
  return client;
}

const id = (name: string) => Buffer.from(name);

function task(name: string, ...given: string[]): scaler.TaskMessage {
  const named = given.map((one) => ({ kind: "R" as const, id: id(one) }));
  const metadata = scaler.taskMetadata(3);
  return { type: "task", task: id(name), source: id("me"), metadata, function: id("f"), arguments: named };
}

/** The outcome of a task whose function object and arguments have these contents. */
async function outcomeOf(scheduler: TestScheduler, peer: Peer, ...contents: (string | Uint8Array)[]) {
  const given = contents.slice(1).map((_, index) => `a${index}`);
  scheduler.tellWorker(peer, task("t", ...given));
  const { ids } = await scheduler.expect("object-request");
  scheduler.answer(peer, ids, contents);
  const created = await scheduler.expect("object-create");
  const { status, results } = await scheduler.expect("task-result");
  assert.deepEqual(results, created.ids);
  // So that the next task requests its own objects.
  const dropped = { type: "object-delete", source: id("w"), ids, hasSplitCounts: false } as const;
  scheduler.tellWorker(peer, dropped);
  const [bytes] = created.bytes as [Buffer];
  return [status, scaler.exceptionText(bytes) ?? bytes.toString("latin1")];
}

describe("the scaler worker", patience, () => {
  for (const wire of ["r", "r-packed", "d", "d-packed", "d-split"] as const) {
    test(`runs functions by name, ${wire}`, async () => {
      const scheduler = await openScheduler(wire);
      const { peer } = await startWorker(scheduler, { wire });
      assert.deepEqual(await outcomeOf(scheduler, peer, "add", "1", "2"), ["S", "3"]);
      assert.deepEqual(await outcomeOf(scheduler, peer, '{"function": "add"}', "1", "3"), ["S", "4"]);
      assert.deepEqual(await outcomeOf(scheduler, peer, "fail"), ["F", "it was told to"]);
    });
  }

  test("serializers: its own, a function's own, and what the function object says", async () => {
    const scheduler = await openScheduler();
    const echo = ([value]: readonly unknown[]) => value;
    const { peer } = await startWorker(scheduler, {
      serializer: messagePackSerializer,
      functions: { ...functions, echo, raw: { run: echo, serializer: bytesSerializer } },
    });
    const packed = (value: unknown) => messagePackSerializer.write(value);
    const [, sum] = await outcomeOf(scheduler, peer, "add", packed(1), packed(2));
    assert.deepEqual(messagePackSerializer.read(Buffer.from(String(sum), "latin1")), 3);
    assert.deepEqual(await outcomeOf(scheduler, peer, "raw", "no JSON {"), ["S", "no JSON {"]);
    const inJson = '{"function": "add", "serializer": "json"}';
    assert.deepEqual(await outcomeOf(scheduler, peer, inJson, "1", "2"), ["S", "3"]);
    const unknown = '{"function": "add", "serializer": "pickle"}';
    assert.deepEqual(await outcomeOf(scheduler, peer, unknown, "1", "2"), [
      "F",
      'This worker has no serializer "pickle".',
    ]);
  });

  test("loads nothing that is not a name, and looks for names only among its own functions", async () => {
    const scheduler = await openScheduler();
    const { peer } = await startWorker(scheduler);
    const pickle = Buffer.from("80054b312e", "hex");
    assert.match(String(await outcomeOf(scheduler, peer, pickle)), /^F,.*functions by their names/);
    for (const name of ["constructor", "toString", "nothing"]) {
      assert.deepEqual(await outcomeOf(scheduler, peer, name), [
        "F",
        `This worker has no function "${name}".`,
      ]);
    }
    const [status] = await outcomeOf(scheduler, peer, "add", "{ no JSON", "2");
    assert.equal(status, "F");
  });

  test("a function learns its task, and when its answer is no longer wanted", async () => {
    const scheduler = await openScheduler();
    let begun: (context: unknown) => void = () => {};
    const context = new Promise<unknown>((resolve) => {
      begun = resolve;
    });
    const { peer } = await startWorker(scheduler, {
      functions: {
        wait: (_args, given) => {
          begun(given);
          return new Promise((resolve) => given.signal.addEventListener("abort", () => resolve("late")));
        },
      },
    });
    scheduler.tellWorker(peer, task("t"));
    const { ids } = await scheduler.expect("object-request");
    scheduler.answer(peer, ids, ["wait"]);
    const { signal, ...rest } = (await context) as { signal: AbortSignal };
    assert.deepEqual(rest, { task: id("t").toString("hex"), source: "me", priority: 3 });
    const flags = { force: true, retrieveTaskObject: false };
    scheduler.tellWorker(peer, { type: "task-cancel", task: id("t"), flags });
    assert.equal((await scheduler.expect("task-result")).status, "C");
    assert.ok(signal.aborted);
  });

  test("sends heartbeats with its use of resources", async () => {
    const scheduler = await openScheduler();
    await startWorker(scheduler, { heartbeatMs: 5, concurrency: 3 });
    while (scheduler.heartbeats.length < 3) await new Promise(setImmediate);
    const [first, , third] = scheduler.heartbeats;
    assert.equal(first?.processors.length, 0);
    assert.equal(third?.processors.length, 3);
    assert.ok((third?.agentRssBytes ?? 0n) > 1_000_000n && (third?.latencyUs ?? 0) > 0);
  });

  test("lets what runs finish when it is stopped, and says goodbye", async () => {
    const scheduler = await openScheduler();
    let finish: (value: unknown) => void = () => {};
    let begun: () => void = () => {};
    const isAtIt = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const wait = () => {
      begun();
      return new Promise((resolve) => {
        finish = resolve;
      });
    };
    const { worker, peer } = await startWorker(scheduler, { functions: { wait } });
    scheduler.tellWorker(peer, task("t"));
    const { ids } = await scheduler.expect("object-request");
    scheduler.answer(peer, ids, ["wait"]);
    await isAtIt;
    const stopped = worker.stop();
    finish("done");
    await scheduler.expect("object-create");
    assert.equal((await scheduler.expect("task-result")).status, "S");
    const { worker: name } = await scheduler.expect("disconnect-request");
    assert.equal(name.toString(), worker.identity);
    scheduler.tellWorker(peer, { type: "disconnect-response", worker: name });
    await stopped;
  });

  test("is closed when the scheduler shuts it down", async () => {
    const scheduler = await openScheduler();
    const { worker, peer } = await startWorker(scheduler);
    scheduler.tellWorker(peer, { type: "client-disconnect", kind: "shutdown" });
    await worker.closed;
  });

  test("reconnects under its name when the scheduler is silent", async () => {
    const scheduler = await openScheduler();
    const { worker, peer } = await startWorker(scheduler, { heartbeatMs: 5, schedulerTimeoutMs: 30 });
    scheduler.router.pause(peer);
    while (scheduler.peers.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(scheduler.peers[1]?.identity.toString(), worker.identity);
  });
});

describe("the scaler client", patience, () => {
  /** Ends the next task with these bytes. */
  async function end(
    scheduler: TestScheduler,
    status: "S" | "F",
    content: string | Uint8Array,
  ): Promise<void> {
    const { peer, task: name } = await scheduler.until("task");
    const results = [Buffer.concat([id("r-"), name])];
    scheduler.tellClient(peer, {
      type: "task-result",
      task: name,
      status,
      metadata: Buffer.alloc(0),
      results,
    });
    const { ids } = await scheduler.until("object-request");
    assert.deepEqual(ids, results);
    scheduler.answer(peer, ids, [content]);
  }

  test("submits a task and gets its result", async () => {
    const scheduler = await openScheduler();
    const client = startClient(scheduler);
    const future = client.submit<number>("add", 1, { two: 2 });
    const serializer = await scheduler.expect("object-create");
    assert.deepEqual(serializer.names.slice(0, 2).map(String), ["serializer", "serializer"]);
    const objects = Object.fromEntries(serializer.ids.map((one, index) => [one.toString("hex"), index]));
    const { function: called, arguments: given, peer, task: name } = await scheduler.expect("task");
    const content = (one: Buffer) => String(serializer.bytes[objects[one.toString("hex")] ?? 9]);
    assert.deepEqual(JSON.parse(content(called)), { function: "add", serializer: "json" });
    assert.deepEqual(
      given.map((one) => content(one.id)),
      ["1", '{"two":2}'],
    );
    const results = [id("r")];
    const status = "S";
    scheduler.tellClient(peer, {
      type: "task-result",
      task: name,
      status,
      metadata: Buffer.alloc(0),
      results,
    });
    await scheduler.expect("object-request");
    assert.equal(future.isDone, false);
    scheduler.answer(peer, results, ["3"]);
    assert.equal(await future, 3);
    assert.equal(future.isDone, true);
    const { ids } = await scheduler.expect("object-delete");
    assert.equal(ids.length, 4);
  });

  test("failures in the words of whoever failed", async () => {
    const scheduler = await openScheduler();
    const client = startClient(scheduler);
    const failed = { code: "failed" };
    for (const [object, message] of [
      [scaler.pickledException("no such frame"), "no such frame"],
      ["plain words", "plain words"],
      [Buffer.from("80054b312e", "hex"), "The task failed."],
    ] as const) {
      const future = client.submit("f");
      await end(scheduler, "F", object);
      await assert.rejects(future.result(), { ...failed, message });
    }
    const wrong = client.submit("f");
    await end(scheduler, "S", "{ no JSON");
    await assert.rejects(wrong.result(), { code: "bad_result" });
  });

  test("bare names and another serializer", async () => {
    const scheduler = await openScheduler();
    const client = startClient(scheduler, { serializer: messagePackSerializer, plainNames: true });
    const future = client.submit("f", Buffer.from("x"));
    const { bytes } = await scheduler.expect("object-create");
    assert.deepEqual(
      bytes.slice(2).map(String).sort(),
      ["f", String(messagePackSerializer.write(Buffer.from("x")))].sort(),
    );
    await end(scheduler, "S", messagePackSerializer.write([1]));
    assert.deepEqual(await future, [1]);
  });

  test("maps in order, and cancels the rest when one fails", async () => {
    const scheduler = await openScheduler();
    const client = startClient(scheduler);
    const values = client.map("f", [1, 2, 3]);
    for (const value of ["10", "20", "30"]) await end(scheduler, "S", value);
    assert.deepEqual(await values, [10, 20, 30]);
    const failing = client.map("f", [1, 2]);
    await end(scheduler, "F", "no");
    await assert.rejects(failing, { code: "failed" });
    await scheduler.until("task-cancel");
  });

  test("a graph: the results of its targets", async () => {
    const scheduler = await openScheduler();
    const client = startClient(scheduler);
    const values = client.get(
      { a: { call: "one" }, b: { call: "add", args: [resultOf("a"), 1], priority: -2 } },
      ["b", "a"],
    );
    const { peer, graph, nodes, targets } = await scheduler.until("graph");
    const [a, b] = nodes as [scaler.TaskMessage, scaler.TaskMessage];
    assert.deepEqual(targets, [b.task, a.task]);
    assert.deepEqual(b.arguments[0], { kind: "T", id: a.task });
    assert.equal(scaler.priorityOf(b.metadata), -2);
    const metadata = Buffer.alloc(0);
    for (const [node, content] of [
      [a.task, "1"],
      [b.task, "2"],
    ] as const) {
      scheduler.tellClient(peer, { type: "task-result", task: node, status: "S", metadata, results: [node] });
      const { ids } = await scheduler.until("object-request");
      scheduler.answer(peer, ids, [content]);
    }
    scheduler.tellClient(peer, { type: "task-result", task: graph, status: "S", metadata, results: [] });
    assert.deepEqual(await values, { b: 2, a: 1 });
    assert.throws(() => client.graph({ a: { call: "one", args: [resultOf("x")] } }, ["a"]), /no node "x"/);
    assert.throws(() => client.graph({ a: { call: "one" } }, ["y"]), /no node "y"/);
  });

  test("an object for many tasks is sent once, and deleted when it is released and they are over", async () => {
    const scheduler = await openScheduler();
    const client = startClient(scheduler);
    const shared = client.put({ large: true });
    const futures = [client.submit("f", shared), client.submit("f", shared)];
    client.release(shared);
    client.release(shared);
    const { ids } = await scheduler.expect("object-create");
    assert.equal(ids.length, 4);
    await assert.rejects(client.submit("f", shared).result(), /was released/);
    for (const _ of futures) await end(scheduler, "S", "1");
    await Promise.all(futures);
    for (let found = false; !found; ) {
      const deleted = await scheduler.until("object-delete");
      found = deleted.ids.some((one) => one.toString("hex") === shared.id);
    }
  });

  test("sends again over a new connection what has not ended", async () => {
    const scheduler = await openScheduler();
    const client = startClient(scheduler);
    const future = client.submit("f");
    await scheduler.expect("object-create");
    const first = await scheduler.expect("task");
    scheduler.router.disconnect(first.peer);
    const again = await scheduler.expect("object-create");
    assert.notEqual(again.peer.id, first.peer.id);
    assert.equal(again.peer.identity.toString(), client.identity);
    await end(scheduler, "S", "7");
    assert.equal(await future, 7);
  });

  test("shutting down, and closing with tasks that are left", async () => {
    const scheduler = await openScheduler();
    const client = startClient(scheduler);
    const future = client.submit("f");
    const { peer } = await scheduler.until("task");
    const asked = client.shutDown();
    assert.equal((await scheduler.until("client-disconnect")).kind, "shutdown");
    scheduler.tellClient(peer, { type: "shutdown-response", isAccepted: false });
    assert.equal(await asked, false);
    await client.close();
    await assert.rejects(future.result(), { code: "closed" });
    assert.equal((await scheduler.until("client-disconnect")).kind, "disconnect");
    await assert.rejects(client.submit("f").result(), ScalerError);
  });

  test("what is too large is not sent", async () => {
    const scheduler = await openScheduler();
    const client = startClient(scheduler, { objectBytesMax: 100 });
    await assert.rejects(client.submit("f", "x".repeat(200)).result(), { code: "too_large" });
  });
});

test("JSON has a word for everything", () => {
  assert.equal(jsonSerializer.read(Buffer.from(jsonSerializer.write(undefined))), null);
  assert.throws(() => bytesSerializer.write(1), TypeError);
});
