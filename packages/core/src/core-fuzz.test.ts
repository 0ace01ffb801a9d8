// Any events in any order keep the invariants: nothing throws, no task is in two places, and every
// accepted task ends once.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  type AttemptNumber,
  Dispatcher,
  defaultCoreOptions,
  defaultLimits,
  type Effect,
  type Instant,
  type Moment,
  type TaskId,
  type WallTime,
  type WorkerId,
  type YardEvent,
} from "./index.js";

const queues = ["a", "b"];
const doors = ["x", "y"];
const body = (size: number) => ({ mediaType: "text/plain", size, bytes: new Uint8Array(size) });

const anyTask = fc.integer({ min: 1, max: 30 }).map((id) => id as TaskId);
const anyWorker = fc.integer({ min: 0, max: 5 }).map((number) => `w${number}` as WorkerId);
const anyQueue = fc.constantFrom(...queues);

const anyEvent: fc.Arbitrary<YardEvent> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("task-submitted" as const),
      request: fc.nat(1000),
      submission: fc.record(
        {
          queue: anyQueue,
          payload: fc.nat(20).map(body),
          priority: fc.integer({ min: -1, max: 1 }),
          delayMs: fc.constantFrom(0, 0, 500),
          waitingMsMax: fc.constantFrom(0, 0, 2000),
          attemptTimeoutMs: fc.constantFrom(0, 0, 3000),
          attempts: fc.integer({ min: 1, max: 3 }),
          failures: fc.integer({ min: 1, max: 2 }),
          key: fc.constantFrom("k1", "k2"),
          after: fc.uniqueArray(anyTask, { maxLength: 3 }),
          ifFailed: fc.constantFrom("cancel" as const, "run" as const),
          group: fc.constantFrom("g1", "g2", "g3"),
          replyTo: fc.record({ address: fc.constant("me"), diesWithConnection: fc.boolean() }),
        },
        { requiredKeys: ["queue", "payload"] },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("graph-submitted" as const),
      request: fc.nat(1000),
      items: fc.array(
        fc.record({
          submission: fc.record({ queue: anyQueue, payload: fc.nat(20).map(body) }),
          afterItems: fc.uniqueArray(fc.nat(4), { maxLength: 2 }),
        }),
        { maxLength: 5 },
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("worker-joined" as const),
      worker: anyWorker,
      profile: fc.record({
        dialect: fc.constant("test"),
        address: fc.constant("here"),
        queues: fc.subarray(queues, { minLength: 1 }),
        slots: fc.integer({ min: 1, max: 3 }),
        runsAtOnce: fc.integer({ min: 1, max: 2 }),
        pulls: fc.boolean(),
        givesBack: fc.boolean(),
        acceptsUrgentOverflow: fc.boolean(),
      }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("worker-left" as const),
      worker: anyWorker,
      reason: fc.constantFrom("silence" as const, "goodbye" as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("worker-retired" as const), worker: anyWorker }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("worker-beat" as const), worker: anyWorker, queued: fc.nat(3) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("work-claimed" as const),
      request: fc.nat(1000),
      worker: anyWorker,
      queue: anyQueue,
      max: fc.integer({ min: 1, max: 3 }),
      forMs: fc.constantFrom(0, 1000),
      leaseMs: fc.constantFrom(1000, 5000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("cancel-asked" as const),
      request: fc.nat(1000),
      task: anyTask,
      by: fc.constant("test"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("action-stepped" as const),
      request: fc.nat(1000),
      action: fc.record({
        id: fc.constant("1"),
        kind: fc.constant("cancel" as const),
        by: fc.constant("test"),
        startedAt: fc.constant(0 as WallTime),
        state: fc.constant("running" as const),
        filter: fc.constant({}),
        upTo: fc.integer({ min: 1, max: 30 }),
        walk: fc.constant(0),
        matched: fc.nat(3),
        done: fc.nat(3),
        refused: fc.nat(3),
      }),
      work: fc.oneof(
        fc.record({ type: fc.constant("cancel" as const), tasks: fc.array(anyTask, { maxLength: 4 }) }),
        fc.record({ type: fc.constant("purge" as const), queue: anyQueue, max: fc.nat(3) }),
        fc.record({
          type: fc.constant("submit" as const),
          submissions: fc.array(fc.record({ queue: anyQueue, payload: fc.constant(body(1)) }), {
            maxLength: 2,
          }),
        }),
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("task-sought" as const),
      request: fc.nat(1000),
      queue: anyQueue,
      key: fc.constantFrom("k1", "k2"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("task-answered" as const),
      request: fc.nat(1000),
      task: anyTask,
      by: fc.constant("another"),
      result: fc.constant(body(2)),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("task-answered" as const),
      task: anyTask,
      by: fc.constant("another"),
      error: fc.constant({ code: "no", message: "did not work" }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("task-watched" as const),
      request: fc.nat(1000),
      task: anyTask,
      forMs: fc.constantFrom(0, 1000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("request-dropped" as const), request: fc.nat(1000) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("outcomes-told" as const),
      tasks: fc.array(anyTask, { maxLength: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("outcome-undelivered" as const),
      task: anyTask,
      again: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("queue-order-given" as const),
      queue: anyQueue,
      order: fc.constantFrom("pause" as const, "resume" as const, "drain" as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("queue-settings-given" as const),
      queue: anyQueue,
      settings: fc.record(
        {
          maxRunning: fc.constantFrom(null, 1, 2, 3),
          maxRunningPerGroup: fc.constantFrom(null, 1, 2),
          rate: fc.constantFrom(null, { tasks: 1, perMs: 100 }, { tasks: 3, perMs: 1000 }),
          backoff: fc.constantFrom(null, { atOnce: 0, firstMs: 50, factor: 3, maxMs: 300, jitter: 0.5 }),
        },
        { requiredKeys: [] },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("worker-drain-asked" as const), worker: anyWorker }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("door-opened" as const), incarnation: fc.nat(3) }),
  },
);

/** What a worker does with an attempt: drawn here, applied to the attempts that really run. */
type DrawnAnswer = {
  readonly answer: "done" | "failed" | "loss" | "busy" | "balance" | "does_not_fit" | "beat";
  readonly which: number;
  /** True if the dialect names attempts. */
  readonly isNumbered: boolean;
};
const anyAnswer: fc.Arbitrary<DrawnAnswer> = fc.record({
  answer: fc.constantFrom("done", "done", "failed", "loss", "busy", "balance", "does_not_fit", "beat"),
  which: fc.nat(1000),
  isNumbered: fc.boolean(),
});
type Action = {
  readonly waitMs: number;
  readonly door: string;
  readonly skips: number;
  readonly event: YardEvent | DrawnAnswer;
};
const anyAction: fc.Arbitrary<Action> = fc.record({
  waitMs: fc.constantFrom(0, 0, 0, 100, 1500, 20_000),
  door: fc.constantFrom(...doors),
  // Posts that were lost on the way, rarely; or one that comes twice.
  skips: fc.oneof(
    { weight: 30, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.constantFrom(-1, 1) },
  ),
  event: fc.oneof({ weight: 2, arbitrary: anyEvent }, { weight: 2, arbitrary: anyAnswer }),
});

type Assign = Extract<Effect, { type: "assign" }>;

class Run {
  readonly core: Dispatcher;
  readonly marks = new Map<string, number>();
  readonly given: Assign[] = [];
  readonly outcomes = new Map<TaskId, number>();
  now: Moment = { instant: 0 as Instant, wall: 1_700_000_000_000 as WallTime };

  constructor() {
    const options = {
      ...defaultCoreOptions,
      limits: {
        ...defaultLimits,
        finishedKeys: 5,
        untold: 4,
        lingering: 3,
        dependedOn: 2,
        lostWorkers: 2,
        workers: 5,
        storyLength: 6,
      },
      retention: { bytes: 20_000, ageMs: 50_000, count: 10 },
      replyTtlMs: 30_000,
      keyTtlMs: 40_000,
      random: () => 0.5,
    };
    this.core = new Dispatcher(options, 1, this.now);
    this.take(this.core.begin({ lastTask: 0, lastSettled: 0 }, this.now).effects);
  }

  act({ waitMs, door, skips, event }: Action): void {
    this.now = {
      instant: (this.now.instant + waitMs) as Instant,
      wall: (this.now.wall + waitMs) as WallTime,
    };
    this.take(this.core.handleTimeout(this.now).effects);
    this.core.checkInvariants();
    const real = "answer" in event ? this.answerOf(event) : { door, event };
    if (real === undefined) return;
    const number = (this.marks.get(real.door) ?? 0) + 1 + skips;
    this.marks.set(real.door, number);
    const step = this.core.handle({ door: real.door, number, event: real.event }, this.now);
    for (const change of step.takeChanges()) {
      if (change.kind === "progress" && change.progress.settled > 0)
        this.outcomes.set(change.progress.id, change.progress.settled);
    }
    this.take(step.effects);
    this.core.checkInvariants();
  }

  take(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.type !== "assign") continue;
      const twice = this.given.some((other) => other.attempt === effect.attempt);
      assert.equal(twice, false, `attempt ${effect.attempt} was given out twice`);
      this.given.push(effect);
    }
  }

  answerOf({ answer, which, isNumbered }: DrawnAnswer): { door: string; event: YardEvent } | undefined {
    const given = this.given[which % Math.max(1, this.given.length)];
    if (given === undefined) return undefined;
    const claim = {
      worker: given.worker,
      task: given.task.id,
      attempt: isNumbered ? (given.attempt as AttemptNumber) : undefined,
      request: which,
    };
    const error = { code: "no", message: "did not work" };
    switch (answer) {
      case "done":
        return { door: given.door, event: { type: "attempt-done", result: body(3), ...claim } };
      case "failed":
        return { door: given.door, event: { type: "attempt-failed", error, ...claim } };
      case "loss":
        return { door: given.door, event: { type: "attempt-failed", error, asLoss: true, ...claim } };
      case "beat":
        return { door: given.door, event: { type: "attempt-beat", leaseMs: 1000, ...claim } };
      default:
        return {
          door: given.door,
          event: { type: "attempt-returned", reason: answer, holdMs: answer === "busy" ? 1000 : 0, ...claim },
        };
    }
  }
}

describe("any events in any order", () => {
  test("keep every invariant", () => {
    fc.assert(
      fc.property(fc.array(anyAction, { maxLength: 120, size: "max" }), (actions) => {
        const run = new Run();
        for (const action of actions) run.act(action);
      }),
      { numRuns: Number(process.env.YARD_FUZZ_RUNS ?? 300) },
    );
  });
});
