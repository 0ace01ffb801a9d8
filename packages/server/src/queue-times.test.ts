import assert from "node:assert/strict";
import { test } from "node:test";
import type { Moment, SeenAttempt, SeenOutcome } from "@yardmaster/core";
import { Registry } from "prom-client";
import { QueueTimes } from "./queue-times.js";

function at(ms: number): Moment {
  return { instant: ms, wall: ms } as unknown as Moment;
}

function attemptOf(queue: string, startedAt: number, losses: number): SeenAttempt {
  const head = { queue, submittedAt: 1_000, notBefore: 0 };
  return { startedAt, task: { head, losses, failures: 0 } } as unknown as SeenAttempt;
}

test("a task that was lost once waits once, runs twice and is tried again once", async () => {
  const times = new QueueTimes();
  const registry = new Registry();
  registry.registerMetric(times.waits as never);
  registry.registerMetric(times.runs as never);
  const first = attemptOf("q", 1_200, 0);
  times.began(first, at(1_200));
  times.ended(first, "lost", "connection closed", at(1_700));
  const second = attemptOf("q", 2_000, 1);
  times.began(second, at(2_000));
  times.finished(second.task, {} as SeenOutcome, second, at(5_000));
  assert.deepEqual(times.retries.get("q"), new Map([["lost", 1]]));
  const lines = (await registry.metrics()).split("\n");
  for (const line of [
    'yardmaster_wait_seconds_bucket{queue="q",le="0.1"} 0',
    'yardmaster_wait_seconds_bucket{queue="q",le="0.5"} 1',
    'yardmaster_wait_seconds_count{queue="q"} 1',
    'yardmaster_wait_seconds_sum{queue="q"} 0.2',
    'yardmaster_run_seconds_bucket{queue="q",le="0.5"} 1',
    'yardmaster_run_seconds_bucket{queue="q",le="+Inf"} 2',
    'yardmaster_run_seconds_sum{queue="q"} 3.5',
  ]) {
    assert.ok(lines.includes(line), `${line}\n${lines.join("\n")}`);
  }
});

test("queues beyond the named ones share a label", () => {
  const times = new QueueTimes();
  for (let number = 0; number < 300; number++) {
    times.ended(attemptOf(`q${number}`, 0, 0), "failed", "", at(1));
  }
  assert.equal(times.retries.size, 201);
  assert.equal(times.retries.get("(other)")?.get("failed"), 100);
});
