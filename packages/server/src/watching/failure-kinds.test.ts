import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type {
  AttemptNumber,
  Instant,
  Moment,
  SeenAttempt,
  SeenTask,
  TaskId,
  WallTime,
  WorkerId,
} from "@yardmaster/core";
import { FailureKinds } from "./failure-kinds.js";

const at = (ms: number): Moment => ({ instant: ms as Instant, wall: (1_700_000_000_000 + ms) as WallTime });

let lastTask = 0;

interface Seen {
  readonly queue?: string;
  readonly worker?: string;
  readonly size?: number;
  readonly losses?: number;
  readonly failures?: number;
}

function seen({ queue = "render", worker = "pingpong/gpu-01", size = 100, losses = 0, failures = 0 }: Seen) {
  lastTask += 1;
  const payload = { mediaType: "application/json", size };
  const head = { id: lastTask as TaskId, queue, door: "http", payload } as unknown as SeenTask["head"];
  const task: SeenTask = { head, losses, failures };
  const by: SeenAttempt = {
    attempt: 1 as AttemptNumber,
    task,
    workerId: worker as WorkerId,
    startedAt: 0 as WallTime,
    worker: undefined,
  };
  return { task, by };
}

const done = (kinds: FailureKinds, fields: Seen, now = at(0)) => {
  const { task, by } = seen(fields);
  kinds.finished(task, { state: "done", error: undefined, result: undefined }, by, now);
};

const fail = (kinds: FailureKinds, fields: Seen & { code?: string; message?: string }, now = at(0)) => {
  const { task, by } = seen({ failures: 1, ...fields });
  const error = { code: fields.code ?? "exit_137", message: fields.message ?? `killed at ${lastTask} GB` };
  kinds.finished(task, { state: "failed", error, result: undefined }, by, now);
};

describe("failures by kind", () => {
  test("are one kind when code, queue and words are the same but for what changes", () => {
    const kinds = new FailureKinds();
    for (let n = 0; n < 14; n += 1) fail(kinds, {}, at(n * 1_000));
    fail(kinds, { queue: "thumbs" });
    fail(kinds, { message: "no such frame" });
    const { items, tasks, kinds: count } = kinds.list("1h", at(20_000));
    assert.deepEqual(
      items.map(({ queue, words, count: seenOf }) => [queue, words, seenOf]),
      [
        ["render", "killed at … GB", 14],
        ["thumbs", "killed at … GB", 1],
        ["render", "no such frame", 1],
      ],
    );
    assert.deepEqual([tasks, count], [16, 3]);
    assert.deepEqual(kinds.list("1h", at(20_000), "thumbs").items.length, 1);
    assert.equal(items[0]?.trend.length, 60);
    assert.equal(items[0]?.trend.at(-1), 14);
    assert.equal(items[0]?.isNew, true);
    // An hour on the trend of an hour is empty, that of a day is not.
    assert.equal(kinds.list("1h", at(3_700_000)).items.length, 0);
    assert.equal(kinds.list("24h", at(3_700_000)).items[0]?.count, 14);
    assert.equal(kinds.list("24h", at(3_700_000)).items[0]?.isNew, false);
  });

  test("name what failed tasks have in common and done tasks do not", () => {
    const kinds = new FailureKinds();
    for (let n = 0; n < 96; n += 1) done(kinds, { worker: `pingpong/gpu-${n % 12}` });
    for (let n = 0; n < 13; n += 1) fail(kinds, { worker: "pingpong/gpu-4", size: 2_000_000, losses: 1 });
    fail(kinds, { worker: "pingpong/gpu-5", size: 10 });
    const [kind] = kinds.list("1h", at(1_000)).items;
    assert.deepEqual(
      kind?.shares.map(({ of, value, count, total }) => [of, value, count, total]),
      [
        ["payload", "more than 1 MB", 13, 14],
        ["attempt", "2", 13, 14],
        ["worker", "pingpong/gpu-4", 13, 14],
      ],
    );
    assert.deepEqual(kind?.worker, { id: "pingpong/gpu-4", count: 13 });
    assert.equal(kind?.doneSample, 96);
  });

  test("that are recent are shown with the worker that had most of them", () => {
    const kinds = new FailureKinds();
    for (let n = 0; n < 14; n += 1) fail(kinds, { worker: n === 0 ? "pingpong/gpu-01" : "pingpong/gpu-04" });
    const [late] = kinds.recent(at(60_000));
    assert.deepEqual([late?.count, late?.worker], [14, { id: "pingpong/gpu-04", count: 13 }]);
    assert.deepEqual([...kinds.recent(at(700_000))], []);
    assert.equal(kinds.countKinds(at(60_000)), 1);
  });

  test("leave expired tasks apart: no worker failed them", () => {
    const kinds = new FailureKinds();
    const { task } = seen({});
    const error = { code: "expired", message: "No worker began the task before its time was over." };
    kinds.finished(task, { state: "expired", error, result: undefined }, undefined, at(0));
    const { items, tasks, kinds: count } = kinds.list("1h", at(1));
    assert.deepEqual([items[0]?.isExpired, tasks, count], [true, 0, 0]);
    assert.deepEqual([...kinds.recent(at(1))], []);
  });

  test("are bounded in kinds and in tasks read per second, and the rest is counted", () => {
    const kinds = new FailureKinds();
    const letters = (n: number) => [...String(n)].map((digit) => "abcdefghij"[Number(digit)]).join("");
    for (let n = 0; n < 300; n += 1) fail(kinds, { code: `code-${letters(n)}` });
    assert.equal(kinds.list("1h", at(1)).items.length, 200);
    assert.equal(kinds.list("1h", at(1)).rest, 100);
    kinds.tick();
    for (let n = 0; n < 2_000; n += 1) fail(kinds, { code: "code-a" });
    const { rest, tasks } = kinds.list("1h", at(1));
    assert.equal(rest, 100 + 1_500);
    assert.equal(tasks, 2_300);
  });

  test("done tasks beyond a rate are sampled", () => {
    const kinds = new FailureKinds();
    for (let n = 0; n < 5_000; n += 1) done(kinds, {});
    kinds.tick();
    for (let n = 0; n < 5_000; n += 1) done(kinds, {});
    fail(kinds, {});
    assert.equal(kinds.list("1h", at(1)).items[0]?.doneSample, 5_100);
  });
});
