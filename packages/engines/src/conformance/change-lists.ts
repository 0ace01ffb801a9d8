// Random changes, batches and queries for the property test of the conformance suite. Few ids,
// names and times are used, so that changes refer to the same records. Ids and positions in history
// lie on both sides of likely boundaries.

import {
  type Change,
  historyLaneSegments,
  historySegmentSize,
  type IfFailed,
  type TaskId,
  type TaskStateName,
  type WallTime,
  type WorkerId,
} from "@yardmaster/core";
import fc from "fast-check";
import type { TaskQuery } from "../engine.js";
import { bodyOf, headOf, progressOf } from "./samples.js";

export const idsInUse = [1, 2, 3, 4, 63, 64, 65, 127, 128, 255, 256, 257, 1000].map((id) => id as TaskId);

const id = fc.constantFrom(...idsInUse);
const queue = fc.constantFrom("render", "mail");
const door = fc.constantFrom("http", "udp");
const key = fc.constantFrom("k1", "k2", "64");
const time = fc.integer({ min: 0, max: 9 }).map((second) => (second * 1000) as WallTime);
const state = fc.constantFrom<TaskStateName>("waiting", "running", "done", "failed", "cancelled", "expired");
const worker = fc.constantFrom("udp/a" as WorkerId, "http/b" as WorkerId);
const error = fc.record({
  code: fc.constantFrom("boom", "k1"),
  message: fc.constantFrom("boom", "bo went wrong"),
});
/** The longer ones do not fit into a bundle of the embedded engine, alone or with another. */
const body = fc.constantFrom("", "x", "xyz", "y".repeat(900), "z".repeat(4096)).map(bodyOf);
/** The first two of lane 0, and the first of two others. */
const segment = fc.constantFrom(0, 1, 2, historyLaneSegments, 2 * historyLaneSegments);

/** Dependencies, groups, schedules and retries, each with or without the others. */
const relations = fc.record({
  after: fc.uniqueArray(id, { maxLength: 3 }),
  ifFailed: fc.constantFrom<IfFailed>("cancel", "run"),
  group: fc.constantFrom(undefined, "customer 1", "customer 2"),
  schedule: fc.constantFrom(undefined, "nightly"),
  retryOf: fc.option(id, { nil: undefined }),
});
const report = fc.record({
  value: fc.constantFrom(undefined, '{"step":3}'),
  message: fc.constantFrom(undefined, "halfway"),
  at: time,
});

const head = fc
  .record({
    id,
    queue,
    door,
    submittedAt: time,
    payload: body,
    key: fc.option(key, { nil: undefined }),
    envelope: fc.option(fc.constant(Uint8Array.of(1, 2)), { nil: undefined }),
    notBefore: time,
    expiresAt: time,
    relations: fc.option(relations, { nil: undefined }),
  })
  .map((given): Change => ({ kind: "head", head: headOf(given.id, given) }));

const progress = fc
  .record({
    id,
    state,
    worker: fc.option(worker, { nil: undefined }),
    error: fc.option(error, { nil: undefined }),
    result: fc.option(body, { nil: undefined }),
    report: fc.option(report, { nil: undefined }),
    notBefore: time,
    losses: fc.nat(2),
    told: fc.boolean(),
    finishedAt: time,
    segment: fc.option(segment, { nil: undefined }),
  })
  .map(({ segment, finishedAt, ...given }): Change => {
    const finished = given.state !== "waiting" && given.state !== "running";
    const settled = finished && segment !== undefined ? placeIn(segment, given.id) : 0;
    return {
      kind: "progress",
      progress: progressOf(given.id, { ...given, settled, finishedAt: finished ? finishedAt : undefined }),
    };
  });

/** No two tasks have the same position. */
function placeIn(segment: number, task: TaskId): number {
  return segment * historySegmentSize + 1 + idsInUse.indexOf(task);
}

const operators: fc.Arbitrary<Change> = fc.oneof(
  fc
    .record({ queue, key, task: id, fingerprint: fc.constant(undefined), finishedAt: time })
    .map((record): Change => ({ kind: "key", key: record })),
  fc.record({ kind: fc.constant("key-gone" as const), queue, key, task: id }),
  fc
    .record({ name: queue, paused: fc.boolean(), draining: fc.boolean() })
    .map((record): Change => ({ kind: "queue", queue: record })),
  fc.record({ kind: fc.constant("queue-gone" as const), name: queue }),
  fc
    .record({ name: door, incarnation: fc.nat(3), mark: fc.nat(9) })
    .map((record): Change => ({ kind: "door", door: record })),
  fc
    .record({ door, name: key, bytes: fc.constantFrom(Uint8Array.of(), Uint8Array.of(7, 8)) })
    .map((record): Change => ({ kind: "memo", memo: record })),
  fc.record({ kind: fc.constant("memo-gone" as const), door, name: key }),
  fc.record({ kind: fc.constant("history-trimmed" as const), through: segment }),
);

export interface Step {
  readonly change: Change;
  /**
   * What follows: more of the same batch, its commit, its commit repeated, or a new owner after it.
   */
  readonly next: "more" | "commit" | "commit-twice" | "new-owner";
}

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    change: fc.oneof(
      { weight: 4, arbitrary: head },
      { weight: 5, arbitrary: progress },
      { weight: 2, arbitrary: operators },
    ),
    next: fc.constantFrom("more", "more", "more", "commit", "commit-twice", "new-owner"),
  }),
  // Without "max" lists have about ten steps, too few for a task to settle, be evicted and occur
  // again.
  { maxLength: 60, size: "max" },
);

export const queries: fc.Arbitrary<TaskQuery[]> = fc.array(
  fc.record(
    {
      limit: fc.integer({ min: 1, max: 5 }),
      queue,
      state,
      door,
      worker,
      since: time,
      until: time,
      text: fc.constantFrom("64", "k1", "boom", "bo", "went", "wrong", "WR", "g w"),
    },
    { requiredKeys: ["limit"] },
  ),
  { minLength: 1, maxLength: 8 },
);
