import assert from "node:assert/strict";
import { test } from "node:test";
import type { WallTime, WorkerView } from "@yardmaster/core";
import { LossLog } from "./loss-log.js";

const minuteMs = 60_000;
const start = 1_700_000_000_000 as WallTime;
const at = (minutes: number) => (start + minutes * minuteMs) as WallTime;

test("every worker lost within the hour is counted, although only 200 are listed", () => {
  const log = new LossLog();
  const lose = (count: number, minutes: number) => {
    for (let each = 0; each < count; each++)
      log.workerLost({ id: `w${minutes}/${each}`, queues: [], lostAt: at(minutes) } as unknown as WorkerView);
  };
  lose(300, 0);
  lose(150, 30);
  assert.equal(log.since(start).length, 200);
  assert.equal(log.countInHour(at(31)), 450);
  log.tidy(at(61));
  assert.equal(log.countInHour(at(61)), 150);
  log.tidy(at(91));
  assert.equal(log.countInHour(at(91)), 0);
  assert.equal(log.since(start).length, 0);
});
