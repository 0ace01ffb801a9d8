import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type {
  AttemptNumber,
  Instant,
  Moment,
  SeenAttempt,
  SeenOutcome,
  TaskId,
  WallTime,
  WorkerId,
} from "@yardmaster/core";
import { AttemptFrames } from "./attempt-frames.js";
import { frameJson } from "./frame-json.js";

const wallAtStart = 1_700_000_000_000;
const at = (ms: number): Moment => ({ instant: ms as Instant, wall: (wallAtStart + ms) as WallTime });

function attempt(
  number: number,
  startedMs: number,
  fields: { worker?: string; losses?: number; failures?: number } = {},
) {
  const { worker = "x/w", losses = 0, failures = 0 } = fields;
  return {
    attempt: number as AttemptNumber,
    task: { head: { id: number as TaskId, queue: "q" }, losses, failures },
    workerId: worker as WorkerId,
    startedAt: (wallAtStart + startedMs) as WallTime,
    worker: undefined,
  } as unknown as SeenAttempt;
}

const done: SeenOutcome = { state: "done", error: undefined, result: undefined };
const finish = (frames: AttemptFrames, by: SeenAttempt, ms: number, outcome = done) =>
  frames.finished(by.task, outcome, by, at(ms));

describe("frames of the stream", () => {
  test("one row for an attempt within a frame, two for one that lasts", () => {
    const frames = new AttemptFrames(at(0), []);
    const short = attempt(1, 10);
    const long = attempt(2, 20);
    frames.began(short, at(10));
    frames.began(long, at(20));
    finish(frames, short, 30);
    const first = frames.take(at(250));
    assert.deepEqual(
      first.rows.map(({ task, endedAt, outcome }) => [task, endedAt, outcome]),
      [
        [1, wallAtStart + 30, "done"],
        [2, undefined, "running"],
      ],
    );
    assert.deepEqual([first.began, first.ended], [2, 1]);
    frames.ended(attempt(2, 20, { losses: 1 }), "lost", "silence", at(400));
    const [row] = frames.take(at(500)).rows;
    assert.deepEqual(
      [row?.startedAt, row?.endedAt, row?.outcome, row?.reason, row?.tries],
      [wallAtStart + 20, wallAtStart + 400, "lost", "silence", 1],
    );
  });

  test("how busy workers are is exact, those that ran before included", () => {
    const frames = new AttemptFrames(at(0), [attempt(1, -500), attempt(2, -100)]);
    frames.began(attempt(3, 250), at(250));
    finish(frames, attempt(1, -500), 500);
    assert.deepEqual(frames.takeBusy(1_000 as Instant), [
      { worker: "x/w", queue: "q", running: 2, slotMs: 250 * 2 + 250 * 3 + 500 * 2 },
    ]);
    finish(frames, attempt(2, -100), 1_000);
    finish(frames, attempt(3, 250), 1_000);
    assert.deepEqual(frames.takeBusy(2_000 as Instant), []);
  });

  test("beyond a rate whole attempts are sampled, failed ones last, and a start that was shown is always ended", () => {
    const frames = new AttemptFrames(at(0), []);
    const started = new Set<number>();
    const ended = new Set<number>();
    let bad = 0;
    for (let frame = 0; frame < 8; frame += 1) {
      for (let n = 0; n < 5_000; n += 1) {
        const number = frame * 5_000 + n;
        frames.began(attempt(number, frame * 250), at(frame * 250));
        // Half of them end with the frame, the others in the next.
        const ending = n % 2 === 0 ? number : number - 5_000;
        const outcome: SeenOutcome =
          n % 1_000 === 0 ? { state: "failed", error: { code: "no", message: "" }, result: undefined } : done;
        if (ending >= 0) finish(frames, attempt(ending, 0, { failures: 1 }), frame * 250 + 100, outcome);
      }
      const { rows, began } = frames.take(at((frame + 1) * 250));
      assert.equal(began, 5_000);
      assert.ok(rows.length <= 2_000 && rows.length > 100, String(rows.length));
      for (const row of rows) (row.endedAt === undefined ? started : ended).add(row.attempt);
      bad += rows.filter(({ outcome }) => outcome === "failed").length;
    }
    // What ended in the first seven frames is known to have.
    for (const number of started) if (number < 7 * 5_000) assert.ok(ended.has(number), String(number));
    assert.ok(bad >= 8 * 5 - 5, String(bad));
  });

  test("as JSON a frame names workers and queues once, and only those that are wanted", () => {
    const frames = new AttemptFrames(at(0), []);
    frames.began(attempt(7, 5), at(5));
    const frame = frames.take(at(250));
    const busy = frames.takeBusy(1_000 as Instant);
    const parts = {
      ...frame,
      busy,
      busyFrom: wallAtStart,
      stalls: [{ at: (wallAtStart - 10) as WallTime, ms: 120 }],
    };
    assert.deepEqual(JSON.parse(frameJson(parts, () => true)), {
      from: wallAtStart,
      to: wallAtStart + 250,
      workers: ["x/w"],
      queues: ["q"],
      rows: [[7, 7, 0, 0, 5, null, "running", null, 1]],
      busyFrom: wallAtStart,
      busy: [[0, 0, 1, 995]],
      began: 1,
      ended: 0,
      shown: 1,
      stalls: [[-10, 120]],
    });
    const none = JSON.parse(frameJson({ ...parts, busy: undefined }, () => false));
    assert.deepEqual([none.rows, none.workers, none.busy, none.shown], [[], [], null, 0]);
  });
});
