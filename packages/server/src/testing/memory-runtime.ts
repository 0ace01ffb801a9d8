// For tests of doors: a runtime with the real core and the memory engine. Invariants are checked
// after every turn.

import { setTimeout as pause } from "node:timers/promises";
import { defaultCoreOptions, defaultQueueSettings, type QueueSettings } from "@yardmaster/core";
import { type Engine, MemoryEngine, MemoryStore } from "@yardmaster/engines";
import { type Clock, realClock } from "../clock.js";
import { Runtime } from "../runtime.js";

const askAgainMs = 2;

export interface MemoryRuntimeOptions {
  readonly workersMax?: number;
  readonly payloadBytesMax?: number;
  readonly graceMs?: number;
  readonly balanceMs?: number;
  /** The committed state of an earlier process. */
  readonly store?: MemoryStore;
  /** Used instead of the default memory engine. */
  readonly engine?: Engine;
  readonly clock?: Clock;
  readonly queues?: Readonly<Record<string, Partial<QueueSettings>>>;
}

export function memoryRuntime({
  workersMax = 1000,
  payloadBytesMax = defaultCoreOptions.limits.payloadBytes,
  graceMs = defaultCoreOptions.graceMs,
  balanceMs = defaultCoreOptions.balanceMs,
  queues = {},
  store = new MemoryStore(),
  engine = new MemoryEngine(store),
  clock = realClock,
}: MemoryRuntimeOptions = {}): Runtime {
  const core = {
    ...defaultCoreOptions,
    graceMs,
    balanceMs,
    limits: { ...defaultCoreOptions.limits, workers: workersMax, payloadBytes: payloadBytesMax },
    queues: new Map(
      Object.entries(queues).map(([name, settings]) => [name, { ...defaultQueueSettings, ...settings }]),
    ),
    random: () => 0.5,
  };
  const onFatal = (fault: Error) => {
    throw fault;
  };
  return new Runtime({
    engine,
    clock,
    core,
    onFatal,
    checksAlways: true,
  });
}

/**
 * Resolves with the first defined answer. Only the test's own time limit ends the wait. It sleeps
 * between the questions, because a loop without a pause would take a processor from other tests.
 */
export async function until<RequestAnswer>(
  ask: () => RequestAnswer | undefined | Promise<RequestAnswer | undefined>,
): Promise<RequestAnswer> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await pause(askAgainMs);
  }
}
