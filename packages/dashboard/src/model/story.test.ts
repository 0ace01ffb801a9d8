import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoryEntry, Task } from "../live/api-shapes.js";
import { ladderOf } from "./ladder.js";
import { attemptsOf, entrySentence, submitterOf, taskSentence, timesOf } from "./story.js";
import { trainGraph } from "./train-graph.js";

const at = (seconds: number) => new Date(seconds * 1_000).toISOString();

function task(story: StoryEntry[], given: Partial<Task> = {}): Task {
  return {
    id: "7",
    queue: "render",
    state: "done",
    priority: 0,
    key: null,
    door: "http",
    replyTo: null,
    submittedAt: at(0),
    startedAt: null,
    finishedAt: at(14.2),
    attempt: null,
    worker: null,
    contentType: "text/plain",
    payloadBytes: 10,
    resultBytes: 4,
    error: null,
    why: null,
    told: true,
    story,
    ...given,
  };
}

const storied: StoryEntry[] = [
  { at: at(0), to: "waiting", cause: "submitted" },
  { at: at(0.02), to: "running", cause: "assigned", attempt: 1, worker: "pingpong/gpu-04" },
  { at: at(4.1), to: "waiting", cause: "lost: connection_closed", attempt: 1, worker: "pingpong/gpu-04" },
  { at: at(4.13), to: "running", cause: "assigned", attempt: 2, worker: "pingpong/gpu-02" },
  { at: at(9.13), to: "waiting", cause: "lost: time_limit", attempt: 2, worker: "pingpong/gpu-02" },
  { at: at(10.28), to: "running", cause: "assigned", attempt: 3, worker: "http/ann" },
  { at: at(10.92), to: "running", cause: "late: done refused", attempt: 2, worker: "pingpong/gpu-02" },
  { at: at(14.2), to: "done", cause: "done", attempt: 3, worker: "http/ann" },
];

test("a story becomes attempts, a sentence and a ladder", () => {
  const told = task(storied);
  const attempts = attemptsOf(told);
  assert.deepEqual(
    attempts.map(({ number, ending }) => [number, ending]),
    [
      [1, "lost"],
      [2, "lost"],
      [3, "done"],
    ],
  );
  assert.equal(attempts[1]?.lateAt, 10_920);
  const sentence = taskSentence(told, 0)
    .map(({ text }) => text)
    .join("");
  assert.equal(
    sentence,
    "Done in 14.2 s, at the third attempt. The connection of gpu-04 closed; gpu-02 overran its time limit, and its late answer was refused; ann finished it in 3.9 s.",
  );
  const { workedMs, lostMs } = timesOf(told, 0);
  assert.deepEqual([Math.round(workedMs), Math.round(lostMs)], [13_000, 9_080]);
  const { peers, rungs } = ladderOf(told);
  assert.deepEqual(
    peers.map(({ name }) => name),
    ["client", "Yardmaster", "gpu-04", "gpu-02", "ann"],
  );
  assert.equal(rungs.filter(({ kind }) => kind === "refused").length, 1);
  assert.equal(rungs.at(-1)?.to, 0, "the outcome is delivered to the client");
});

test("waiting, running, failed and cancelled tasks have sentences of their own", () => {
  const words = (given: Task, now: number) =>
    taskSentence(given, now)
      .map(({ text }) => text)
      .join("");
  const [submitted, assigned] = storied as [StoryEntry, StoryEntry];
  const none = { finishedAt: null, resultBytes: null, told: false } as const;
  const waiting = task([submitted], {
    ...none,
    state: "waiting",
    ahead: 0,
    why: { code: "no_worker", message: "No worker serves queue render." },
  });
  assert.equal(words(waiting, 0), "No worker serves queue render. It is the first of its queue.");
  const running = task([submitted, assigned], { ...none, state: "running", worker: "pingpong/gpu-04" });
  assert.equal(words(running, 3_020), "Attempt 1 has been running for 3 s on gpu-04.");
  const failed = task(
    [
      submitted,
      assigned,
      { at: at(2), to: "failed", cause: "failed", attempt: 1, worker: "pingpong/gpu-04" },
    ],
    { state: "failed", error: { code: "EIO", message: "no" } },
  );
  assert.equal(words(failed, 0), "Failed after 2 s on gpu-04: EIO, no");
  const cancelled = task([submitted, { at: at(2), to: "cancelled", cause: "cancelled by 10.0.0.1" }], {
    state: "cancelled",
  });
  assert.equal(words(cancelled, 0), "Cancelled by 10.0.0.1.");
});

test("in the train graph a lost attempt goes back up, and a failed task is red", () => {
  const scale = { from: 0, to: 20_000, width: 200, submittedY: 0, startedY: 50, finishedY: 100 };
  const graph = trainGraph([task(storied), task(storied.slice(0, 2), { state: "failed" })], scale);
  assert.equal(graph.drawn, 2);
  assert.match(graph.lost, /M41 75L41\.3 50/);
  assert.notEqual(graph.failed, "");
  assert.equal(graph.crosses.length, 2);
});

test("the story says who submitted a task, where it is known", () => {
  const [entry] = [{ at: at(0), to: "waiting", cause: "submitted by ci" } as const];
  assert.equal(submitterOf(task([entry])), "ci");
  assert.equal(entrySentence(entry, "fsync"), "Submitted by ci, and safe on disk.");
  assert.equal(entrySentence(entry, "memory"), "Submitted by ci, and kept in memory only.");
  assert.equal(submitterOf(task([{ ...entry, cause: "submitted" }])), "");
});
