// For tests of doors: a runtime of the real core and the memory engine, whose sums are checked after every turn.

import { defaultCoreOptions, defaultQueueSettings, type QueueSettings } from "@yardmaster/core";
import { type Engine, MemoryEngine, MemoryStore } from "@yardmaster/engines";
import { realClock } from "../clock.js";
import { Runtime } from "../runtime.js";

export interface MemoryRuntimeOptions {
  readonly workersMax?: number;
  readonly payloadBytesMax?: number;
  readonly graceMs?: number;
  /** What an earlier life committed. */
  readonly store?: MemoryStore;
  /** In place of one that keeps everything in memory. */
  readonly engine?: Engine;
  readonly queues?: Readonly<Record<string, Partial<QueueSettings>>>;
}

export function memoryRuntime({
  workersMax = 1000,
  payloadBytesMax = defaultCoreOptions.limits.payloadBytes,
  graceMs = defaultCoreOptions.graceMs,
  queues = {},
  store = new MemoryStore(),
  engine = new MemoryEngine(store),
}: MemoryRuntimeOptions = {}): Runtime {
  const core = {
    ...defaultCoreOptions,
    graceMs,
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
    clock: realClock,
    core,
    onFatal,
    checksAlways: true,
  });
}

/** Resolves with the first answer that is there; the test's own time limit is the end of patience. */
export async function until<Answer>(
  ask: () => Answer | undefined | Promise<Answer | undefined>,
): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
