// A large body is stored before the core hears of it. Only events that must come after it wait.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Body, defaultCoreOptions, type Effect, type TaskId, type WorkerId } from "@yardmaster/core";
import { MemoryStore } from "@yardmaster/engines";
import { Runtime } from "./runtime.js";
import { HandDoor } from "./testing/hand-door.js";
import { until } from "./testing/memory-runtime.js";
import { OutOfLineEngine } from "./testing/out-of-line-engine.js";
import { SkippingClock } from "./testing/skipping-clock.js";

const largeBodyBytes = 100;
const bodyOf = (text: string): Body => {
  const bytes = Buffer.from(text);
  return { mediaType: "text/plain", size: bytes.length, bytes };
};
const large = bodyOf("large ".repeat(50));
const tiny = bodyOf("tiny");

async function setUp(store = new MemoryStore()) {
  const engine = new OutOfLineEngine(4, store);
  const core = { ...defaultCoreOptions, random: () => 0 };
  const onFatal = (fault: Error) => assert.fail(fault);
  const clock = new SkippingClock();
  const runtime = new Runtime({
    engine,
    clock,
    core,
    onFatal,
    checksAlways: true,
    largeBodyBytes,
  });
  const door = new HandDoor(runtime.port("hand"));
  const otherDoor = new HandDoor(runtime.port("other"));
  runtime.attach(door);
  runtime.attach(otherDoor);
  await runtime.start();
  await runtime.openDoors();
  let release = () => {};
  /** From now on bodies are stored when `release` is called. */
  const holdBodies = () => {
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    engine.beforePut = () => held;
  };
  const seen: string[] = [];
  door.onDeliver = (effects) => {
    for (const effect of effects) seen.push(wordsOf(effect));
  };
  const sees = (words: string) => until(() => (seen.includes(words) ? true : undefined));
  const submit = (payload: Body, request?: number, more: object = {}) =>
    door.post({
      type: "task-submitted",
      ...(request === undefined ? {} : { request }),
      submission: { queue: "q", payload, ...more },
    });
  const now = () => runtime.port("x").now().instant;
  const longerThanALease = () => clock.skip(leaseMs + 300, now);
  return {
    ...{ engine, runtime, door, otherDoor, holdBodies, release: () => release(), seen, sees, submit },
    longerThanALease,
  };
}

function wordsOf(effect: Effect): string {
  if (effect.type === "reply") {
    const { answer } = effect;
    const more = answer.type === "accepted" ? answer.task : answer.type === "refused" ? answer.code : "";
    return `${answer.type} ${effect.request}: ${more}`;
  }
  return effect.type === "assign" ? `assign ${effect.task.id}` : effect.type;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A task that a worker holds. */
async function assigned(door: HandDoor, payload = "tiny") {
  const task = await door.submit("q", payload);
  const worker = door.join("hand/w", "q");
  const { attempt } = await door.next("assign");
  return { worker, task: { id: task }, attempt };
}

const leaseMs = 400;

/** The submitted task, claimed with a short lease. */
async function claimed(door: HandDoor) {
  await door.next("reply");
  const worker = "hand/w" as WorkerId;
  door.joinPulling(worker);
  door.post({ type: "work-claimed", request: 102, worker, queue: "q", max: 1, forMs: 0, leaseMs });
  const { task, attempt } = await door.next("assign");
  return { worker, task, attempt };
}

const stateOf = async (runtime: Runtime, id: TaskId) =>
  (await runtime.port("x").reads.task(id))?.progress?.state;

async function isDone(runtime: Runtime, id: TaskId): Promise<void> {
  await until(() => (runtime.core.view.liveTask(id) === undefined ? true : undefined));
  await runtime.port("x").reads.whenSafe();
  assert.equal(await stateOf(runtime, id), "done");
}

test("other tasks are acknowledged, assigned and done while a large payload is stored", async () => {
  const { runtime, door, holdBodies, release, seen, sees, submit } = await setUp();
  holdBodies();
  submit(large, 101);
  submit(tiny, 102);
  await sees("accepted 102: 2");
  const worker = door.join("hand/w", "q");
  const { task, attempt } = await door.next("assign");
  assert.equal(task.id, 2);
  door.done({ worker, task, attempt }, tiny);
  await isDone(runtime, 2 as TaskId);
  assert.ok(!seen.some((words) => words.startsWith("accepted 101")));
  release();
  await sees("accepted 101: 1");
  await sees("assign 1");
  runtime.kill();
});

test("a task with a reserved id is not shown to a worker before its commit", async () => {
  const { engine, runtime, door, holdBodies, release, seen, sees, submit } = await setUp();
  holdBodies();
  submit(large, 101);
  submit(tiny, 102);
  await sees("accepted 102: 2");
  let commit = () => {};
  engine.beforeCommit = () =>
    new Promise((resolve) => {
      commit = resolve;
    });
  release();
  await turn();
  await turn();
  door.join("hand/w", "q", 2);
  await until(() => (seen.includes("assign 2") ? true : undefined));
  await turn();
  assert.ok(!seen.includes("assign 1"), seen.join());
  engine.beforeCommit = async () => {};
  commit();
  await sees("assign 1");
  assert.ok(seen.indexOf("accepted 101: 1") < seen.indexOf("assign 1"));
  runtime.kill();
});

test("a task whose payload is being stored is found by its key, once it is accepted", async () => {
  const { runtime, door, holdBodies, release, sees, seen, submit } = await setUp();
  holdBodies();
  submit(large, 101, { key: "k" });
  door.post({ type: "task-sought", request: 102 as never, queue: "q", key: "k" });
  door.post({ type: "task-sought", request: 103 as never, queue: "q", key: "other" });
  await until(() => (seen.some((words) => words.includes(" 103:")) ? true : undefined));
  assert.ok(!seen.some((words) => words.includes(" 102:")), seen.join());
  release();
  await sees("accepted 101: 1");
  await until(() => (seen.some((words) => words.includes(" 102:")) ? true : undefined));
  runtime.kill();
});

test("an event that waits for another door's event is answered at its own door", async () => {
  const { runtime, door, otherDoor, holdBodies, release, seen, sees, submit } = await setUp();
  const held = await assigned(door);
  holdBodies();
  submit(large, 101, { key: "k" });
  door.done(held, large);
  otherDoor.post({ type: "task-sought", request: 7, queue: "q", key: "k" });
  otherDoor.post({ type: "worker-retired", request: 8, worker: held.worker });
  await turn();
  release();
  const answers = [await otherDoor.next("reply"), await otherDoor.next("reply")];
  assert.deepEqual(
    answers.map(({ request, answer }) => [request, answer.type, "code" in answer && answer.code]),
    [
      [7, "granted", false],
      [8, "refused", "bad_request"],
    ],
  );
  await isDone(runtime, held.task.id);
  await sees("assign 2");
  assert.ok(!seen.some((words) => words.startsWith("granted")), seen.join());
  runtime.kill();
});

test("a client that waits for no reply keeps the order of its tasks; other clients do not wait", async () => {
  const { runtime, door, holdBodies, release, sees, seen, submit } = await setUp();
  const [one, other] = ["one", "other"].map((address) => ({
    replyTo: { address, diesWithConnection: true },
  }));
  holdBodies();
  submit(large, undefined, one);
  submit(tiny, undefined, one);
  submit(large, undefined, one);
  submit(tiny, undefined, one);
  submit(tiny, undefined, other);
  door.join("hand/w", "q", 10);
  await sees("assign 2");
  release();
  await until(() => (seen.filter((words) => words.startsWith("assign")).length === 5 ? true : undefined));
  const sizes = await Promise.all(
    seen.flatMap(async (words) => {
      const id = Number(words.split(" ")[1]) as TaskId;
      return (await runtime.port("x").reads.task(id))?.head.payload.size;
    }),
  );
  assert.deepEqual(sizes, [tiny.size, large.size, tiny.size, large.size, tiny.size]);
  runtime.kill();
});

test("a worker that leaves after a large result has done its task", async () => {
  const { runtime, door, holdBodies, release } = await setUp();
  const held = await assigned(door);
  holdBodies();
  door.done(held, large);
  door.post({ type: "worker-left", worker: held.worker, reason: "connection_closed" });
  await turn();
  assert.notEqual(await stateOf(runtime, held.task.id), "done");
  release();
  await isDone(runtime, held.task.id);
  const body = await runtime.port("x").reads.body(held.task.id, "result");
  assert.equal(Buffer.from(body?.bytes ?? []).toString(), Buffer.from(large.bytes ?? []).toString());
  runtime.kill();
});

test("a worker that changes its slots or leaves gets nothing new while its large result is stored", async () => {
  const { runtime, door, holdBodies, release, seen, sees, submit } = await setUp();
  const held = await assigned(door);
  door.join("hand/w", "q", 3);
  holdBodies();
  door.done(held, large);
  door.join("hand/w", "q", 0);
  submit(tiny, 101);
  await sees("accepted 101: 2");
  assert.ok(!seen.includes("assign 2"), "its new number of slots has passed");
  door.join("hand/w", "q", 3);
  await sees("assign 2");
  door.post({ type: "worker-left", worker: held.worker, reason: "connection_closed" });
  submit(tiny, 102);
  await sees("accepted 102: 3");
  assert.ok(!seen.includes("assign 3"), "it is leaving");
  door.join("hand/w", "q", 3);
  await turn();
  assert.ok(!seen.includes("assign 3"), "it comes back only after it has left");
  release();
  await sees("assign 3");
  await isDone(runtime, held.task.id);
  runtime.kill();
});

test("neither lease nor time limit ends an attempt whose large result is being stored", async () => {
  const { runtime, door, holdBodies, release, submit, longerThanALease } = await setUp();
  submit(tiny, 101, { attemptTimeoutMs: 500 });
  const { worker, task, attempt } = await claimed(door);
  holdBodies();
  door.done({ worker, task, attempt }, large);
  await longerThanALease();
  release();
  await isDone(runtime, task.id);
  runtime.kill();
});

test("a heartbeat does not end an attempt whose large result is being stored", async () => {
  const { runtime, door, holdBodies, release, submit, longerThanALease } = await setUp();
  submit(tiny, 101);
  const { worker, task, attempt } = await claimed(door);
  holdBodies();
  door.done({ worker, task, attempt }, large);
  door.post({ type: "attempt-beat", worker, task: task.id, attempt, leaseMs });
  await longerThanALease();
  release();
  await isDone(runtime, task.id);
  runtime.kill();
});

test("a second large result of a worker keeps its attempt while it waits for the first", async () => {
  const { runtime, door, holdBodies, release, submit, longerThanALease } = await setUp();
  for (const request of [101, 102]) submit(tiny, request, { attemptTimeoutMs: 500 });
  const worker = "hand/w" as WorkerId;
  for (let replies = 0; replies < 2; replies += 1) await door.next("reply");
  door.joinPulling(worker);
  door.post({ type: "work-claimed", request: 103, worker, queue: "q", max: 2, forMs: 0, leaseMs: 5_000 });
  const held = [await door.next("assign"), await door.next("assign")];
  holdBodies();
  for (const { task, attempt } of held) door.done({ worker, task, attempt }, large);
  await longerThanALease();
  release();
  for (const { task } of held) await isDone(runtime, task.id);
  runtime.kill();
});

test("a worker that leaves has done its task, though it repeated another one's answer", async () => {
  const { runtime, door, holdBodies, release } = await setUp();
  const first = await assigned(door);
  const task = { id: await door.submit("q", "tiny") };
  const worker = door.join("hand/other", "q");
  const { attempt } = await door.next("assign");
  holdBodies();
  door.done(first, large);
  door.done({ worker, task, attempt }, large);
  door.done({ ...first, worker }, large);
  door.post({ type: "worker-left", worker, reason: "connection_closed" });
  release();
  await isDone(runtime, first.task.id);
  await isDone(runtime, task.id);
  runtime.kill();
});

test("a large answer for a revoked attempt leaves the next attempt its time limit", async () => {
  const { runtime, door, holdBodies, release, sees, submit } = await setUp();
  submit(tiny, 101, { attemptTimeoutMs: 30, attempts: 9 });
  const worker = door.join("hand/w", "q", 2, 2);
  const { task } = await door.next("assign");
  // The attempt runs out of time, and the same worker gets the task again.
  await door.next("assign");
  holdBodies();
  door.post({ type: "attempt-done", request: 102, worker, task: task.id, attempt: undefined, result: large });
  release();
  await sees("refused 102: stale_attempt");
  await door.next("revoke");
  await door.next("revoke");
  runtime.kill();
});

test("a result that is refused once it is stored is dropped, and a second one waits for it", async () => {
  const { engine, runtime, door, holdBodies, release, sees, submit } = await setUp();
  const { worker, task, attempt } = await assigned(door);
  holdBodies();
  door.post({ type: "attempt-done", request: 201, worker, task: task.id, attempt, result: large });
  door.post({ type: "attempt-done", request: 202, worker, task: task.id, attempt, result: large });
  door.post({ type: "cancel-asked", request: 203, task: task.id, by: "test" });
  await sees("granted 203: ");
  release();
  await sees("refused 201: stale_attempt");
  await sees("refused 202: stale_attempt");
  submit(tiny, 204);
  await sees("accepted 204: 2");
  assert.deepEqual([...engine.bodies], []);
  runtime.kill();
});

test("a payload is not stored for a submission that is refused, or that an earlier task answers", async () => {
  const { engine, runtime, holdBodies, release, sees, submit } = await setUp();
  submit(tiny, 101, { key: "k" });
  await sees("accepted 101: 1");
  holdBodies();
  submit(large, 102, { key: "k" });
  await sees("accepted 102: 1");
  runtime.noteMemory(true);
  submit(large, 103);
  await sees("refused 103: queue_full");
  runtime.noteMemory(false);
  // Two with one key at once: the second is stored in vain, and dropped.
  submit(large, 104, { key: "both" });
  submit(large, 105, { key: "both" });
  release();
  await sees("accepted 105: 2");
  submit(tiny, 106);
  await sees("accepted 106: 4");
  assert.deepEqual([...engine.bodies], ["payload 2"]);
  runtime.kill();
});

test("a dispatcher that dies while a payload is stored has not accepted the task", async () => {
  const store = new MemoryStore();
  const { runtime, holdBodies, sees, submit } = await setUp(store);
  holdBodies();
  submit(large, 101);
  submit(tiny, 102);
  await sees("accepted 102: 2");
  runtime.kill();
  const next = await setUp(store);
  assert.equal(await next.runtime.port("x").reads.task(1 as TaskId), undefined);
  next.submit(large, 103);
  await next.sees("accepted 103: 3");
  next.runtime.kill();
});

test("a dispatcher that stops in order first stores what has arrived", async () => {
  const { runtime, door, holdBodies, release } = await setUp();
  const held = await assigned(door);
  holdBodies();
  door.done(held, large);
  const stopped = runtime.stop(5_000);
  release();
  await stopped;
  assert.equal(runtime.core.view.liveTask(held.task.id), undefined);
});
