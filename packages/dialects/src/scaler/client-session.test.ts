import assert from "node:assert/strict";
import { test } from "node:test";
import type { Instant, Moment } from "@yardmaster/core";
import { defaultScalerClientSettings, ScalerClientSession, type ScalerWaiter } from "./client-session.js";
import type { ClientMessage, TaskStatus, ToClient } from "./messages.js";

const bytes = (text: string) => Buffer.from(text);

/**
 * A client's session, with a log of what it did since the log was last read, one line per action.
 * Objects are shown by their names.
 */
class ClientUnderTest {
  readonly session: ScalerClientSession;
  readonly #names = new Map<string, string>();
  readonly #did: string[] = [];
  now = 0;

  constructor() {
    this.session = new ScalerClientSession(bytes("me"), bytes("json"), defaultScalerClientSettings, {
      send: (message) => this.#did.push(this.#lineOf(message)),
      reconnect: () => this.#did.push("reconnect"),
      resources: () => ({ cpu: 1, rssBytes: 2n }),
    });
  }

  get moment(): Moment {
    return { instant: this.now as Instant, wall: this.now } as Moment;
  }

  connected(): this {
    this.session.connected(this.moment);
    this.receive({ type: "client-heartbeat-echo" });
    this.did();
    return this;
  }

  receive(message: ToClient): void {
    this.session.receive(message, this.moment);
  }

  hold(name: string): Buffer {
    const id = this.session.objects.hold(name, bytes(`content of ${name}`));
    this.#names.set(id.toString("hex"), name);
    return id;
  }

  waiter(name: string): ScalerWaiter {
    return {
      done: (result) => this.#did.push(`${name} done: ${result}`),
      failed: (reason, error) =>
        this.#did.push(`${name} ${reason}${error === undefined ? "" : `: ${error}`}`),
    };
  }

  submit(name: string, called: string, ...given: string[]): void {
    this.session.submit(this.request(name, called, ...given), this.waiter(name));
  }

  /** An argument `<node` stands for that node's result. */
  request(name: string, called: string, ...given: string[]) {
    return {
      task: bytes(name),
      function: this.hold(called),
      arguments: given.map((one) =>
        one.startsWith("<")
          ? ({ kind: "T", id: bytes(one.slice(1)) } as const)
          : ({ kind: "R", id: this.hold(one) } as const),
      ),
      priority: 0,
    };
  }

  graph(): void {
    const nodes = [
      this.request("x", "f", "a"),
      this.request("y", "f", "b"),
      this.request("z", "g", "<x", "<y"),
    ];
    const targets = ["x", "z"].map((name) => [bytes(name), this.waiter(name)] as const);
    this.session.submitGraph({ graph: bytes("graph"), nodes, targets }, this.waiter("graph"));
  }

  told(name: string, status: TaskStatus, ...results: string[]): void {
    const metadata = Buffer.alloc(0);
    this.receive({ type: "task-result", task: bytes(name), status, metadata, results: results.map(bytes) });
  }

  answer(id: string, content?: string): void {
    const found = content === undefined ? [] : [bytes(content)];
    const ids = [bytes(id)];
    this.receive({
      type: "object-answer",
      kind: "content",
      ids,
      names: found,
      bytes: found,
      hasSplitCounts: false,
    });
  }

  pass(ms: number): void {
    this.now += ms;
    this.session.handleTimeout(this.moment);
  }

  did(): string[] {
    return this.#did.splice(0);
  }

  #lineOf(message: ClientMessage): string {
    switch (message.type) {
      case "client-heartbeat":
        return `CB ${message.latencyUs}`;
      case "object-create":
        return `OI C ${message.names.join(" ")}`;
      case "object-delete":
        return `OI D ${message.ids.map((id) => this.#nameOf(id)).join(" ")}`;
      case "task":
        return `TK ${message.task} ${[message.function, ...message.arguments.map(({ id }) => id)].map((id) => this.#nameOf(id)).join(" ")}`;
      case "task-cancel":
        return `TC ${message.task}`;
      case "graph":
        return `GT ${message.graph} to ${message.targets.join(" ")} of ${message.nodes.map(({ task }) => task).join(" ")}`;
      case "graph-cancel":
        return `GC ${message.graph}`;
      case "object-request":
        return `OR ${message.ids.join(" ")}`;
      case "client-disconnect":
        return `CS ${message.kind}`;
      default:
        return message satisfies never;
    }
  }

  #nameOf(id: Buffer): string {
    return this.#names.get(id.toString("hex")) ?? id.toString();
  }
}

test("a task: its objects go first, its result is fetched, and then all of them are deleted", () => {
  const client = new ClientUnderTest();
  client.session.connected(client.moment);
  assert.deepEqual(client.did(), ["CB 0", "OI C serializer serializer"]);
  client.submit("t", "f", "a", "a");
  assert.deepEqual(client.did(), ["OI C f a", "TK t f a a"]);
  client.told("t", "S", "r");
  assert.deepEqual(client.did(), ["OR r"]);
  client.answer("r", "the result");
  assert.deepEqual(client.did(), ["t done: the result"]);
  client.pass(50);
  assert.deepEqual(client.did(), ["OI D f a r"]);
  assert.equal(client.session.waiting, 0);
  assert.equal(client.session.objects.size, 2, "the serializer, under both its ids");
});

test("an object is told once, and kept while anything needs it", () => {
  const client = new ClientUnderTest().connected();
  client.submit("t1", "f", "a");
  client.submit("t2", "f", "a");
  assert.deepEqual(client.did(), ["OI C f a", "TK t1 f a", "TK t2 f a"]);
  client.told("t1", "C");
  client.pass(50);
  assert.deepEqual(client.did(), ["t1 cancelled"]);
  client.told("t2", "C");
  client.submit("t3", "f");
  client.pass(50);
  assert.deepEqual(client.did(), ["t2 cancelled", "TK t3 f", "OI D a"]);
});

test("how tasks end that have no result", () => {
  const client = new ClientUnderTest().connected();
  for (const name of ["F", "C", "N", "K", "W", "R"]) client.submit(name, "f");
  client.did();
  client.told("F", "F", "e");
  client.answer("e", "why");
  for (const name of ["C", "N", "K", "W", "R"] as const) client.told(name, name);
  assert.deepEqual(client.did(), [
    "OR e",
    "F failed: why",
    "C cancelled",
    "N not_found",
    "K worker_died",
    "W no_worker",
  ]);
  client.told("R", "S", "r");
  client.answer("r");
  assert.deepEqual(client.did(), ["OR r", "R result_missing"]);
});

test("told twice: the second counts for nothing, and leaves nothing behind", () => {
  const client = new ClientUnderTest().connected();
  client.submit("t", "f");
  client.told("t", "S", "r");
  client.told("t", "S", "r");
  client.told("t", "F", "other");
  client.answer("r", "result");
  client.answer("r", "again");
  client.told("t", "S", "late");
  client.told("unknown", "C");
  assert.deepEqual(client.did().slice(2), ["OR r", "t done: result"]);
  client.pass(50);
  assert.deepEqual(client.did(), ["OI D other f r late"]);
});

test("cancels: one that was sent waits for the answer, one that was not does not", () => {
  const client = new ClientUnderTest();
  client.submit("early", "f");
  client.session.cancel(bytes("early"), client.moment);
  assert.deepEqual(client.did(), ["early cancelled"]);
  client.connected();
  client.submit("t", "f");
  client.session.cancel(bytes("t"), client.moment);
  client.session.cancel(bytes("t"), client.moment);
  client.session.cancel(bytes("unknown"), client.moment);
  assert.deepEqual(client.did().slice(-2), ["TK t f", "TC t"]);
  client.told("t", "C");
  assert.deepEqual(client.did(), ["t cancelled"]);
});

test("a graph: targets as they are done, then itself; their results go all together", () => {
  const client = new ClientUnderTest().connected();
  client.graph();
  assert.deepEqual(client.did(), ["OI C f a b g", "GT graph to x z of x y z"]);
  client.told("x", "S", "rx");
  client.answer("rx", "X");
  client.pass(50);
  assert.deepEqual(client.did(), ["OR rx", "x done: X"]);
  client.told("z", "S", "rz");
  client.told("graph", "S");
  assert.deepEqual(client.did(), ["OR rz", "graph done: "]);
  client.answer("rz", "Z");
  client.pass(50);
  assert.deepEqual(client.did(), ["z done: Z", "OI D a f b g rx rz"]);
  assert.equal(client.session.waiting, 0);
});

test("a graph that fails, and its targets with it", () => {
  const client = new ClientUnderTest().connected();
  client.graph();
  client.told("x", "F", "e");
  client.answer("e", "why");
  client.told("graph", "F", "e2");
  client.answer("e2", "x failed");
  assert.deepEqual(client.did().slice(2), [
    "OR e",
    "x failed: why",
    "OR e2",
    "z failed: x failed",
    "graph failed: x failed",
  ]);
  client.pass(50);
  assert.deepEqual(client.did(), ["OI D a f b g e e2"]);
});

test("a graph is cancelled by any of its targets", () => {
  const client = new ClientUnderTest().connected();
  client.graph();
  client.session.cancel(bytes("z"), client.moment);
  assert.deepEqual(client.did().slice(2), ["GC graph"]);
  client.told("graph", "C");
  assert.deepEqual(client.did(), ["x cancelled", "z cancelled", "graph cancelled"]);
  assert.equal(client.session.waiting, 0);
});

test("over a new connection it sends again what has not ended", () => {
  const client = new ClientUnderTest();
  client.submit("t1", "f", "a");
  assert.deepEqual(client.did(), []);
  client.session.connected(client.moment);
  assert.deepEqual(client.did(), ["CB 0", "OI C serializer serializer f a", "TK t1 f a"]);
  client.submit("t2", "g");
  client.session.cancel(bytes("t2"), client.moment);
  client.told("t1", "S", "r");
  client.submit("t3", "h");
  client.told("t3", "C");
  client.graph();
  client.did();
  client.session.disconnected();
  client.pass(10_000);
  client.submit("t4", "h");
  assert.deepEqual(client.did(), []);
  client.session.connected(client.moment);
  assert.deepEqual(client.did(), ["CB 0", "OI C serializer serializer f a g h b", "TK t4 h", "OR r"]);
  // Outcomes that ended meanwhile arrive before the echo and are not requested again.
  client.submit("t5", "h");
  client.told("graph", "C");
  client.did();
  client.receive({ type: "client-heartbeat-echo" });
  assert.deepEqual(client.did(), ["TK t2 g", "TC t2"]);
});

test("sends a heartbeat after the echo of the last, and reconnects if none comes", () => {
  const client = new ClientUnderTest();
  client.session.connected(client.moment);
  client.now = 3;
  client.receive({ type: "client-heartbeat-echo" });
  client.did();
  assert.equal(client.session.nextDeadline(), 2_000);
  client.pass(1_997);
  assert.deepEqual(client.did(), ["CB 3000"]);
  client.pass(60_000);
  assert.deepEqual([client.did(), client.session.nextDeadline()], [["reconnect"], undefined]);
});

test("many objects go in several messages", () => {
  const client = new ClientUnderTest();
  for (let number = 0; number < 600; number += 1) client.submit(`t${number}`, "f", `a${number}`);
  client.session.connected(client.moment);
  const created = client.did().filter((line) => line.startsWith("OI C"));
  assert.deepEqual(
    created.map((line) => line.split(" ").length - 2),
    [256, 256, 91],
  );
  for (let number = 0; number < 600; number += 1) client.told(`t${number}`, "C");
  client.did();
  client.pass(50);
  assert.deepEqual(
    client.did().map((line) => line.split(" ").length - 2),
    [256, 256, 89],
  );
});

test("leaving and shutting down", () => {
  const client = new ClientUnderTest().connected();
  const answers: boolean[] = [];
  client.session.shutDown((answer) => answers.push(answer));
  client.receive({ type: "shutdown-response", isAccepted: true });
  client.receive({ type: "shutdown-response", isAccepted: true });
  client.session.shutDown((answer) => answers.push(answer));
  client.submit("t", "f");
  assert.equal(client.session.leave().length, 1);
  assert.deepEqual(answers, [true, false]);
  assert.deepEqual(client.did().at(-1), "CS disconnect");
  client.told("t", "S", "r");
  client.pass(100_000);
  assert.deepEqual(client.did(), []);
});
