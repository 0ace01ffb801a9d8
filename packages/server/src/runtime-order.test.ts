// Durable first, visible second: the order in which effects reach a door.

import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultCoreOptions, type Effect, type WorkerId, type YardEvent } from "@yardmaster/core";
import { type Batch, type CommitOutcome, MemoryEngine } from "@yardmaster/engines";
import type { Clock } from "./clock.js";
import type { Door } from "./door-kit/door.js";
import { Runtime } from "./runtime.js";

/** Commits when the test says so. */
class HeldEngine extends MemoryEngine {
  override readonly minBatchIntervalMs = 3;
  readonly waiting: (() => Promise<void>)[] = [];

  override commit(batch: Batch): Promise<CommitOutcome> {
    return new Promise((resolve) => {
      this.waiting.push(async () => resolve(await super.commit(batch)));
    });
  }
}

async function setUp() {
  const engine = new HeldEngine();
  const turns: (() => void)[] = [];
  const time = { now: 0, timers: [] as { at: number; work: () => void }[] };
  const clock: Clock = {
    instant: () => time.now,
    wall: () => 0,
    defer: (work) => turns.push(work),
    setTimer: (ms, work) => {
      const timer = { at: time.now + ms, work };
      time.timers.push(timer);
      return () => {
        time.timers = time.timers.filter((other) => other !== timer);
      };
    },
  };
  const faults: Error[] = [];
  const core = { ...defaultCoreOptions, random: () => 0 };
  const runtime = new Runtime({ engine, clock, core, onFatal: (fault) => faults.push(fault) });
  const effects: Effect[] = [];
  const door: Door = {
    name: "test",
    open: async () => ({}),
    deliver: (mine) => effects.push(...mine),
    handleTimeout: () => {},
    nextDeadline: () => undefined,
    stopAccepting: () => {},
    close: async () => {},
  };
  runtime.attach(door);
  await runtime.start();
  await runtime.openDoors();
  const port = runtime.port("test");
  const endTurn = () => {
    for (const work of turns.splice(0)) work();
  };
  const commit = async () => {
    await engine.waiting.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
    endTurn();
  };
  const passTo = (now: number) => {
    time.now = now;
    const due = time.timers.filter(({ at }) => at <= now);
    time.timers = time.timers.filter(({ at }) => at > now);
    for (const { work } of due) work();
    endTurn();
  };
  endTurn();
  const said = () => effects.splice(0).map((effect) => effect.type);
  return { port, endTurn, commit, passTo, said, effects, engine, faults };
}

const worker = "test/w" as WorkerId;
const profile = {
  dialect: "test",
  address: "",
  queues: ["q"],
  slots: 1,
  runsAtOnce: 1,
  pulls: false,
  givesBack: false,
};
const joined: YardEvent = { type: "worker-joined", worker, profile };
const payload = { mediaType: "text/plain", size: 1, bytes: Buffer.from("x") };
const submitted = (request: number): YardEvent => ({
  type: "task-submitted",
  request,
  submission: { queue: "q", payload },
});

test("a task that is not safe is neither acknowledged nor given out; the next batch gathers meanwhile", async () => {
  const { port, endTurn, commit, said, engine } = await setUp();
  port.post(joined);
  port.post(submitted(1));
  endTurn();
  assert.deepEqual(said(), []);
  port.post(submitted(2));
  endTurn();
  assert.deepEqual(said(), []);
  assert.equal(engine.waiting.length, 1, "one commit is under way");
  await commit();
  assert.deepEqual(said(), ["assign", "reply"]);
  await commit();
  assert.deepEqual(said(), ["reply"]);
});

test("while hundreds come a batch gathers for some milliseconds, or until it has many; then it goes at once", async () => {
  const { port, endTurn, commit, passTo, said, engine } = await setUp();
  const submit = (count: number) => {
    for (let request = 1; request <= count; request++) port.post(submitted(request));
    endTurn();
  };
  submit(500);
  await commit();
  assert.equal(said().length, 500);
  submit(1);
  passTo(2);
  assert.equal(engine.waiting.length, 0, "it could have company yet");
  submit(300);
  passTo(3);
  assert.equal(engine.waiting.length, 1);
  await commit();
  assert.equal(said().length, 301);
  submit(1);
  passTo(4);
  assert.equal(engine.waiting.length, 0, "those were as many a millisecond");
  submit(600);
  assert.equal(engine.waiting.length, 1, "it has company enough");
  await commit();
  passTo(14);
  submit(600);
  await commit();
  submit(1);
  assert.equal(engine.waiting.length, 1, "those were many, but took their time");
});

test("a safe task is given out in the turn in which its worker is freed, before that turn's commit", async () => {
  const { port, endTurn, commit, said, effects } = await setUp();
  port.post(submitted(1));
  port.post(submitted(2));
  endTurn();
  await commit();
  port.post(joined);
  endTurn();
  const [first] = effects.filter((effect) => effect.type === "assign");
  assert.ok(first?.type === "assign");
  said();
  const { task, attempt } = first;
  port.post({ type: "attempt-done", worker, task: task.id, attempt, result: payload, request: 3 });
  endTurn();
  assert.deepEqual(said(), ["assign"]);
  while (said().length === 0) await commit();
});

test("an assignment that was overtaken while it waited does not leave, though its worker is back", async () => {
  const { port, endTurn, commit, said, effects } = await setUp();
  port.post(joined);
  port.post(submitted(1));
  endTurn();
  port.post({ type: "worker-left", worker, reason: "connection_closed" });
  port.post(joined);
  endTurn();
  await commit();
  await commit();
  const assigned = effects.filter((effect) => effect.type === "assign");
  assert.equal(assigned.length, 1, said().join(" "));
});

test("a commit that fails stops everything, and says so once", async () => {
  const { port, endTurn, said, engine, faults } = await setUp();
  engine.commit = () => Promise.resolve({ type: "full", message: "no space left" });
  port.post(submitted(1));
  endTurn();
  await new Promise((resolve) => setImmediate(resolve));
  port.post(submitted(2));
  endTurn();
  assert.deepEqual(said(), []);
  assert.equal(faults.length, 1);
  assert.match(faults[0]?.message ?? "", /no space left/);
});
