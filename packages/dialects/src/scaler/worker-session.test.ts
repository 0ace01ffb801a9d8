import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Instant, Moment } from "@yardmaster/core";
import type { ScalerWire, ToWorker, WorkerMessage } from "./messages.js";
import { readAtWorker, writeFromWorker } from "./peer-codec.js";
import { exceptionText } from "./pickle.js";
import { taskMetadata } from "./structs.js";
import { defaultScalerWorkerSettings, type ScalerWorkerSettings } from "./worker-host.js";
import { ScalerWorkerSession } from "./worker-session.js";

const resources = { pid: 7, cpu: 10, rssBytes: 1n << 25n, freeRssBytes: 1n << 33n };
const source = Buffer.from("client");
const bytes = (text: string) => Buffer.from(text);

/**
 * A worker's session, with a log of what it did since the log was last read, one line per action.
 */
class WorkerUnderTest {
  readonly session: ScalerWorkerSession;
  readonly sent: WorkerMessage[] = [];
  readonly #did: string[] = [];
  now = 0;

  constructor(settings: Partial<ScalerWorkerSettings> = {}) {
    this.session = new ScalerWorkerSession(
      bytes("w-1"),
      { ...defaultScalerWorkerSettings, ...settings },
      {
        send: (message) => {
          this.sent.push(message);
          this.#did.push(lineOf(message));
        },
        run: (call) => this.#did.push(`run ${call.run} ${[call.function, ...call.arguments].join(" ")}`),
        abort: (run) => this.#did.push(`abort ${run}`),
        reconnect: () => this.#did.push("reconnect"),
        ended: () => this.#did.push("ended"),
        resources: () => resources,
        unique: () => Buffer.alloc(16),
      },
    );
  }

  get moment(): Moment {
    return { instant: this.now as Instant, wall: this.now } as Moment;
  }

  connected(): this {
    this.session.connected(this.moment);
    this.receive({ type: "heartbeat-echo" });
    this.did();
    return this;
  }

  receive(message: ToWorker): void {
    this.session.receive(message, this.moment);
  }

  /** A task whose id is its name, and whose objects have their names as ids. */
  task(name: string, called: string, ...given: string[]): void {
    this.urgent(0, name, called, ...given);
  }

  urgent(priority: number, name: string, called: string, ...given: string[]): void {
    const named = given.map((id) => ({ kind: "R" as const, id: bytes(id) }));
    const metadata = taskMetadata(priority);
    const task = bytes(name);
    this.receive({ type: "task", task, source, metadata, function: bytes(called), arguments: named });
  }

  /** An object's bytes are its id in capitals. */
  answer(ids: string, found = ids.split(" ").length, kind: "content" | "not-found" = "content"): void {
    const all = ids.split(" ");
    const some = all.slice(0, found);
    this.receive({
      type: "object-answer",
      kind,
      ids: all.map(bytes),
      names: some.map(bytes),
      bytes: some.map((id) => bytes(id.toUpperCase())),
      hasSplitCounts: false,
    });
  }

  cancel(name: string, force: boolean): void {
    this.receive({ type: "task-cancel", task: bytes(name), flags: { force, retrieveTaskObject: false } });
  }

  finish(run: number, text: string): void {
    this.session.finish(run, bytes(text), this.moment);
  }

  pass(ms: number): void {
    this.now += ms;
    this.session.handleTimeout(this.moment);
  }

  did(): string[] {
    return this.#did.splice(0);
  }
}

function lineOf(message: WorkerMessage): string {
  switch (message.type) {
    case "heartbeat":
      return `HB ${message.queuedTasks} ${message.processors.map(processorOf).join("")}`.trimEnd();
    case "object-request":
      return `OR ${message.ids.join(" ")}`;
    case "object-create":
      return `OI ${message.source} ${message.bytes.map((one) => exceptionText(one) ?? String(one)).join(" ")}`;
    case "task-result":
      return `TR ${message.task} ${message.status} ${message.results.length}`;
    case "balance-response":
      return `BR ${message.tasks.join(" ")}`;
    case "disconnect-request":
      return `DR ${message.worker}`;
    default:
      return message.type;
  }
}

function processorOf({ hasTask, isSuspended }: { hasTask: boolean; isSuspended: boolean }): string {
  if (isSuspended) return "s";
  return hasTask ? "t" : "-";
}

test("a task: its objects are asked for, and the result's object goes before the result", () => {
  const worker = new WorkerUnderTest().connected();
  worker.task("t", "f", "a", "b", "a");
  assert.deepEqual(worker.did(), ["OR f a b"]);
  worker.answer("f a b");
  assert.deepEqual(worker.did(), ["run 1 F A B A"]);
  worker.finish(1, "result");
  assert.deepEqual(worker.did(), ["OI client result", "TR t S 1"]);
  worker.finish(1, "again");
  assert.deepEqual(worker.did(), []);
});

test("sends the frames that were captured from the original worker", () => {
  const captured = JSON.parse(
    readFileSync(new URL("../../src/scaler/vectors/scaler.json", import.meta.url), "utf8"),
  ) as { name: string; form: string; frames: string[] }[];
  const frames = (name: string) =>
    (captured.find((one) => one.name === name)?.frames ?? []).map((frame) => Buffer.from(frame, "hex"));
  const created = frames("OI worker");
  const sent: Buffer[][] = [];
  const now = { instant: 0 as Instant, wall: 0 } as Moment;
  const session = new ScalerWorkerSession(bytes("w"), defaultScalerWorkerSettings, {
    send: (message) => sent.push(writeFromWorker(message, "r")),
    run: ({ run }) => session.finish(run, created[6] as Buffer, now),
    abort: () => {},
    reconnect: () => {},
    ended: () => {},
    resources: () => ({ pid: 0, cpu: 0, rssBytes: 32_370_688n, freeRssBytes: 24_668_774_400n }),
    unique: () => (created[4] as Buffer).subarray(8),
  });
  session.connected(now);
  assert.equal(sent[0]?.[1]?.length, 33);
  const task = frames("TK scheduler to worker");
  for (const message of [frames("HE scheduler to worker"), task]) {
    const reading = readAtWorker(message, "r");
    assert.ok(reading.ok);
    session.receive(reading.message, now);
  }
  const ids = [task[4], task[6]] as Buffer[];
  assert.deepEqual(sent[1], [bytes("OR"), bytes("A"), ...ids]);
  session.receive(
    { type: "object-answer", kind: "content", ids, names: ids, bytes: ids, hasSplitCounts: false },
    now,
  );
  assert.deepEqual(sent.slice(2), [created, frames("TR worker")]);
});

test("runs up to its limit at a time, in the order in which they came, with the objects of the next ones asked for ahead", () => {
  const worker = new WorkerUnderTest({ concurrency: 2, fetchAhead: 1 }).connected();
  for (const name of ["t1", "t2", "t3", "t4"]) worker.task(name, "f", name.replace("t", "a"));
  assert.deepEqual(worker.did(), ["OR f a1", "OR a2", "OR a3"]);
  worker.answer("a2");
  worker.answer("f a1");
  assert.deepEqual(worker.did(), ["run 1 F A1", "OR a4", "run 2 F A2"]);
  worker.answer("a3");
  assert.deepEqual(worker.did(), []);
  worker.finish(1, "r");
  assert.deepEqual(worker.did(), ["OI client r", "TR t1 S 1", "run 3 F A3"]);
  assert.deepEqual([worker.session.queued, worker.session.running], [1, 2]);
});

test("an object that was used is not asked for again, until it is deleted or there is no room for it", () => {
  const worker = new WorkerUnderTest({ objectBytesMax: 300 }).connected();
  worker.task("t1", "f");
  worker.answer("f");
  worker.finish(1, "r");
  worker.task("t2", "f");
  assert.deepEqual(worker.did().at(-1), "run 2 F");
  worker.finish(2, "r");
  worker.receive({ type: "object-delete", source: bytes("w-1"), ids: [bytes("f")], hasSplitCounts: false });
  worker.task("t3", "f", "x", "y");
  assert.deepEqual(worker.did().at(-1), "OR f x y");
  worker.answer("f x y");
  worker.finish(3, "r");
  worker.task("t4", "y", "x", "f");
  assert.deepEqual(worker.did().at(-1), "OR f");
});

test("asks for little ahead while objects are large, and for more when they turn out small", () => {
  const asked = (settings: Partial<ScalerWorkerSettings>, rounds: number) => {
    const worker = new WorkerUnderTest(settings).connected();
    for (let number = 0; number < 200; number += 1) worker.task(`t${number}`, `o${number}`);
    let asks = worker.did().map((line) => line.slice(3));
    for (let round = 1; round <= rounds; round += 1) {
      worker.answer(asks.shift() as string);
      worker.finish(round, "r");
      asks = [
        ...asks,
        ...worker
          .did()
          .filter((line) => line.startsWith("OR"))
          .map((line) => line.slice(3)),
      ];
    }
    return asks.length;
  };
  assert.equal(asked({ objectBytesMax: 1_000_000 }, 0), 1 + 4);
  assert.equal(asked({ objectBytesMax: 1_000_000 }, 100), 1 + 64);
  assert.ok(asked({ objectBytesMax: 20 }, 100) <= 1 + 10);
});

test("a failure says what went wrong in an object that the program's clients can read", () => {
  const worker = new WorkerUnderTest().connected();
  worker.task("t", "f");
  worker.answer("f");
  worker.did();
  worker.session.fail(1, "no such frame: é", worker.moment);
  assert.deepEqual(worker.did(), ["OI client no such frame: é", "TR t F 1"]);
});

test("an object that is not there fails its task alone; what others want behind it is asked for again", () => {
  const worker = new WorkerUnderTest({ concurrency: 9 }).connected();
  worker.task("t1", "f", "gone", "shared");
  worker.task("t2", "f", "shared");
  assert.deepEqual(worker.did(), ["OR f gone shared"]);
  worker.answer("f gone shared", 1);
  assert.deepEqual(worker.did(), [
    `OI client The scheduler has no object ${bytes("gone").toString("hex")}.`,
    "TR t1 F 1",
    "OR shared",
  ]);
  worker.answer("shared");
  assert.deepEqual(worker.did(), ["run 1 F SHARED"]);
});

test("not found, as form d has it", () => {
  const worker = new WorkerUnderTest({ wire: "d" }).connected();
  worker.task("t1", "f", "gone");
  worker.task("t2", "f");
  worker.did();
  worker.answer("f gone", 0, "not-found");
  assert.deepEqual(worker.did().slice(1), ["TR t1 F 1", "OR f"]);
  worker.answer("f");
  assert.deepEqual(worker.did(), ["run 1 F"]);
});

test("cancels in form r: queued, running, running by force, unknown", () => {
  const worker = new WorkerUnderTest().connected();
  worker.task("running", "f");
  worker.task("queued", "f");
  worker.answer("f");
  worker.did();
  worker.cancel("queued", false);
  worker.cancel("running", false);
  worker.cancel("unknown", false);
  worker.cancel("unknown", true);
  assert.deepEqual(worker.did(), ["TR queued C 0", "TR unknown N 0"]);
  worker.cancel("running", true);
  assert.deepEqual(worker.did(), ["abort 1", "TR running C 0"]);
  // The aborted run keeps its slot until it ends, and its answer is discarded.
  worker.task("next", "f");
  assert.deepEqual(worker.did(), []);
  worker.finish(1, "late");
  assert.deepEqual(worker.did(), ["run 2 F"]);
});

test("cancels in form d: each is answered", () => {
  const worker = new WorkerUnderTest({ wire: "d" }).connected();
  worker.task("running", "f");
  worker.task("queued", "f");
  worker.answer("f");
  worker.did();
  for (const name of ["queued", "running", "unknown"]) {
    worker.receive({ type: "task-cancel", task: bytes(name) });
  }
  assert.deepEqual(worker.did(), ["TR queued C 0", "abort 1", "TR running C 0", "TR unknown C 0"]);
});

test("a cancelled task that comes again runs again", () => {
  const worker = new WorkerUnderTest({ concurrency: 2 }).connected();
  worker.task("t", "f");
  worker.answer("f");
  worker.cancel("t", true);
  worker.task("t", "f");
  worker.did();
  worker.finish(1, "of the first");
  assert.deepEqual(worker.did(), []);
  worker.finish(2, "of the second");
  assert.deepEqual(worker.did(), ["OI client of the second", "TR t S 1"]);
});

test("gives back what it has not begun, the last first", () => {
  const worker = new WorkerUnderTest({ wire: "d" }).connected();
  for (const name of ["t1", "t2", "t3"]) worker.task(name, "f");
  worker.answer("f");
  worker.did();
  worker.receive({ type: "balance-request", count: 1 });
  worker.receive({ type: "balance-request", count: 4_000_000_000 });
  worker.receive({ type: "balance-request", count: 0 });
  assert.deepEqual(worker.did(), ["BR t3", "BR t2", "BR "]);
  worker.finish(1, "r");
  assert.deepEqual(worker.did(), ["OI client r", "TR t1 S 1"]);
});

test("a task that comes twice runs once", () => {
  const worker = new WorkerUnderTest({ concurrency: 2 }).connected();
  worker.task("t", "f");
  worker.task("t", "f");
  worker.answer("f");
  worker.answer("f");
  assert.deepEqual(worker.did(), ["OR f", "run 1 F"]);
});

test("a more urgent task begins beside the one that waits for it, and only one of its kind", () => {
  const worker = new WorkerUnderTest().connected();
  worker.task("parent", "f");
  worker.answer("f");
  worker.urgent(-1, "child-1", "f");
  worker.urgent(-1, "child-2", "f");
  worker.urgent(0, "other", "f");
  assert.deepEqual(worker.did(), ["OR f", "run 1 F", "run 2 F"]);
  worker.pass(1_000);
  assert.deepEqual(worker.did(), ["HB 2 st"]);
  worker.finish(2, "r");
  assert.deepEqual(worker.did().slice(1), ["TR child-1 S 1", "run 3 F"]);
});

test("an urgent task is fetched and begun before any number of others", () => {
  const worker = new WorkerUnderTest({ fetchAhead: 1 }).connected();
  worker.task("parent", "f");
  worker.answer("f");
  for (let number = 0; number < 9; number += 1) worker.task(`t${number}`, "f", `a${number}`);
  worker.did();
  worker.urgent(-1, "child", "f", "c");
  worker.answer("c");
  assert.deepEqual(worker.did(), ["OR c", "run 2 F C"]);
});

test("sends a heartbeat after the echo of the last, and reconnects if none comes", () => {
  const worker = new WorkerUnderTest({ concurrency: 2 });
  worker.session.connected(worker.moment);
  assert.deepEqual(worker.did(), ["HB 0"]);
  worker.pass(5_000);
  assert.deepEqual(worker.did(), []);
  worker.receive({ type: "heartbeat-echo" });
  worker.pass(0);
  assert.deepEqual(worker.did(), ["HB 0 --"]);
  worker.task("t", "f");
  worker.answer("f");
  worker.did();
  worker.pass(59_999);
  assert.deepEqual(worker.did(), []);
  worker.pass(1);
  assert.deepEqual(worker.did(), ["reconnect"]);
  assert.equal(worker.session.nextDeadline(), undefined);
});

for (const [wire, sizes] of [
  ["r", "33"],
  ["r-packed", "25"],
  ["d", "51"],
  ["d-packed", "37"],
  ["d-split", "2 8 2 8 8 2 4 1 1 1"],
] as const) {
  test(`a first heartbeat, ${wire}`, () => {
    const worker = new WorkerUnderTest({ wire: wire as ScalerWire });
    worker.session.connected(worker.moment);
    const [, ...frames] = writeFromWorker(worker.sent[0] as WorkerMessage, wire);
    assert.equal(frames.map(({ length }) => length).join(" "), sizes);
  });
}

test("a lost connection: running tasks continue, tasks that have not begun are forgotten", () => {
  const worker = new WorkerUnderTest({ concurrency: 2 }).connected();
  for (const name of ["one", "two", "queued"]) worker.task(name, "f");
  worker.answer("f");
  worker.did();
  worker.session.disconnected(worker.moment);
  worker.finish(1, "while away");
  assert.deepEqual(worker.did(), []);
  assert.deepEqual([worker.session.queued, worker.session.running], [0, 1]);
  worker.session.connected(worker.moment);
  assert.deepEqual(worker.did(), ["HB 0", "OI client while away", "TR one S 1"]);
  // The worker receives a task that it already runs: one run answers both.
  worker.task("two", "f");
  worker.task("queued", "f");
  assert.deepEqual(worker.did(), ["OR f"]);
  worker.finish(2, "afterwards");
  worker.answer("f");
  assert.deepEqual(worker.did(), ["OI client afterwards", "TR two S 1", "run 3 F"]);
});

test("leaves when its running tasks have ended; tasks that have not begun go to others", () => {
  const worker = new WorkerUnderTest().connected();
  worker.task("running", "f");
  worker.task("queued", "f");
  worker.answer("f");
  worker.did();
  worker.session.leave(worker.moment);
  worker.task("late", "f");
  assert.deepEqual(worker.did(), []);
  worker.finish(1, "r");
  assert.deepEqual(worker.did(), ["OI client r", "TR running S 1", "DR w-1"]);
  worker.receive({ type: "disconnect-response", worker: bytes("w-1") });
  worker.pass(5_000);
  assert.deepEqual(worker.did(), ["ended"]);
});

test("ends half a second after a shutdown, although the scheduler does not confirm its goodbye", () => {
  const worker = new WorkerUnderTest().connected();
  worker.receive({ type: "client-disconnect", kind: "shutdown" });
  worker.pass(499);
  assert.deepEqual(worker.did(), ["DR w-1"]);
  worker.pass(1);
  assert.deepEqual(worker.did(), ["ended"]);
});

test("leaves at once if there is no connection, or when it is lost meanwhile", () => {
  const away = new WorkerUnderTest();
  away.session.leave(away.moment);
  assert.deepEqual(away.did(), ["ended"]);
  const worker = new WorkerUnderTest().connected();
  worker.task("t", "f");
  worker.answer("f");
  worker.session.leave(worker.moment);
  worker.did();
  worker.session.disconnected(worker.moment);
  assert.deepEqual(worker.did(), ["abort 1", "ended"]);
});

test("its memory is bounded if a scheduler gives tasks, cancels them and never answers", () => {
  const worker = new WorkerUnderTest().connected();
  for (let number = 0; number < 3_000; number += 1) {
    worker.task(`t${number}`, `f${number}`);
    worker.cancel(`t${number}`, false);
  }
  assert.equal(worker.did().filter((line) => line.startsWith("OR")).length, 1_000);
});
