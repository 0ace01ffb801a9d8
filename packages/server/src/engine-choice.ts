// Which engine a configuration asks for, and what it cannot do said as what cannot start.

import {
  EmbeddedEngine,
  type Engine,
  MemoryEngine,
  repairStore,
  StoreFault,
  storeBytesIn,
} from "@yardmaster/engines";
import type { Logger } from "pino";
import type { YardConfig } from "./config.js";
import { StartFault } from "./door-kit/door.js";

/** What an engine says while nobody asks it anything. */
export interface EngineListener {
  /** Nothing can be committed any more. */
  readonly onFault: (fault: Error) => void;
  /** The disk is full, and why no new tasks can be accepted; undefined when there is room again. */
  readonly onShortage: (shortage: string | undefined) => void;
}

export function createEngine(config: YardConfig, log: Logger, listener: EngineListener): Engine {
  const { engine, data, durability, reserveBytes } = config;
  if (engine === "memory") return new MemoryEngine();
  return new EmbeddedEngine({
    folder: data,
    durability,
    reserveBytes,
    onDamage: (what) => log.error({ what }, "a damaged record is left out"),
    onNotice: (what) => log.warn(what),
    onFault: listener.onFault,
    onShortage: (shortage) => {
      if (shortage === undefined) log.info("there is room on the disk again: tasks are accepted");
      else log.error(shortage);
      listener.onShortage(shortage);
    },
  });
}

/** How much there is to open. */
export function storedBytes({ engine, data }: YardConfig): number {
  return engine === "memory" ? 0 : storeBytesIn(data);
}

/** What was done, in words. Only ever on somebody's order. */
export async function repairYard({ engine, data }: YardConfig): Promise<readonly string[]> {
  if (engine === "memory") return ["The memory engine keeps nothing that could be repaired."];
  // Told apart by the time: a file that was set aside is never written over.
  const stamp = new Date().toISOString().replace(/[:.]/g, "-");
  const { setAside, tasks, lost } = await asStartFault(repairStore(data, stamp));
  if (setAside === undefined) return [`There is no file in ${data} to repair.`];
  return [
    `The old file is ${setAside}; the new one has ${tasks} tasks.`,
    ...(lost.length === 0 ? ["Nothing was lost."] : lost.map((what) => `Lost: ${what}`)),
  ];
}

/** What is wrong with the store is said to whoever starts it in one line, as for a door that cannot open. */
export async function asStartFault<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (fault) {
    throw fault instanceof StoreFault ? new StartFault(fault.message) : fault;
  }
}
