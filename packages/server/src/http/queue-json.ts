// A queue in the form of the API. Rates are separate, because they change all the time and alone
// cause no event.

import type { QueueView } from "@yardmaster/core";
import { timeOrNull } from "./task-json.js";

export function queueJson(queue: QueueView) {
  return { ...queueStateJson(queue), ...queueRatesJson(queue) };
}

/** A queue that was forgotten because it holds nothing. */
export function emptyQueueJson(name: string) {
  const none = [0, 0];
  return {
    name,
    waiting: 0,
    running: 0,
    paused: false,
    draining: false,
    limited: false,
    waitingBy: {},
    waitingBytes: 0,
    oldestAt: null,
    oldestTask: null,
    workers: 0,
    workersBy: {},
    pausedAt: null,
    pausedBy: null,
    refusedAt: null,
    maxWaiting: 0,
    inPerSecond: none,
    donePerSecond: none,
    failedPerSecond: none,
    inBy: {},
    doneBy: {},
  } satisfies ReturnType<typeof queueJson>;
}

export function queueStateJson(queue: QueueView) {
  const { name, waiting, running, paused, draining, waitingBy, waitingBytes, workers, workersBy } = queue;
  return {
    name,
    waiting,
    running,
    paused,
    draining,
    limited: (waitingBy.limited ?? 0) > 0,
    waitingBy,
    waitingBytes,
    oldestAt: timeOrNull(queue.oldestAt),
    oldestTask: queue.oldestTask === undefined ? null : String(queue.oldestTask),
    workers,
    workersBy,
    pausedAt: timeOrNull(queue.pausedAt),
    pausedBy: queue.pausedBy ?? null,
    refusedAt: timeOrNull(queue.refusedAt),
    maxWaiting: queue.maxWaiting,
  };
}

export function queueRatesJson({ inPerSecond, donePerSecond, failedPerSecond, inBy, doneBy }: QueueView) {
  return {
    inPerSecond: inPerSecond.map(rounded),
    donePerSecond: donePerSecond.map(rounded),
    failedPerSecond: failedPerSecond.map(rounded),
    inBy: roundedAll(inBy),
    doneBy: roundedAll(doneBy),
  };
}

/** A rate has at most three significant digits. */
export function rounded(value: number): number {
  return Number(value.toPrecision(3));
}

function roundedAll(rates: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(rates).map(([door, rate]) => [door, rounded(rate)]));
}
