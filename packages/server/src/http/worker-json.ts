// Workers in the form of the API: connected ones, and those that were lost in the last hour.

import type { WallTime, WorkerView } from "@yardmaster/core";
import type { Silence } from "../watching/alerts.js";
import type { LostWorker } from "../watching/loss-log.js";
import { lossSentence } from "../watching/loss-words.js";
import { timeJson, timeOrNull } from "./task-json.js";

/** A worker without the fields that change with every message. */
export function workerStateJson(worker: WorkerView) {
  const { id, door, dialect, address, queues, slots, running, state, pulls } = worker;
  return {
    id,
    door,
    dialect,
    address,
    queues,
    slots,
    running,
    state,
    pulls,
    joinedAt: timeJson(worker.joinedAt),
    lostReason: worker.lostReason ?? null,
    lostAt: timeOrNull(worker.lostAt),
    info: worker.info ?? null,
  };
}

export function workerJson(worker: WorkerView, silence: Silence | undefined) {
  const { done, failed, donePerMinute, lastSeenAt } = worker;
  return {
    ...workerStateJson(worker),
    lastSeenAt: timeJson(wholeSecond(lastSeenAt)),
    limitMs: silence === undefined ? null : Math.round(silence.limitMs),
    silentAt: timeOrNull(silence === undefined ? undefined : (Math.round(silence.silentAt) as WallTime)),
    done,
    failed,
    donePerMinute: Math.round(donePerMinute),
  };
}

/** One worker in a `beats` event. */
export function beatRow(
  worker: WorkerView,
  silence: Silence | undefined,
): readonly (string | number | null)[] {
  const { id, running, done, failed, donePerMinute, lastSeenAt } = worker;
  const limitMs = silence === undefined ? null : Math.round(silence.limitMs);
  return [id, running, done, failed, Math.round(donePerMinute), wholeSecond(lastSeenAt), limitMs];
}

/** A finer time would change with every message. */
function wholeSecond(time: WallTime): WallTime {
  return (time - (time % 1_000)) as WallTime;
}

/** `backAt`: when a worker of the same name joined again, if it did. */
export function lostJson(lost: LostWorker, backAt: WallTime | undefined) {
  const { id, door, address, queues, at, reason, held, tasks, became } = lost;
  return {
    id,
    door,
    address,
    queues,
    at: timeJson(at),
    reason,
    words: lossSentence(reason),
    held,
    backAt: timeOrNull(backAt),
    tasks: tasks.map(({ id: task, queue, state, worker }) => ({
      id: String(task),
      queue,
      state,
      worker: worker ?? null,
    })),
    became: Object.fromEntries([...became].filter(([, count]) => count > 0)),
  };
}
