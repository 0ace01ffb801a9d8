// Opens the engine that the configuration names, and reports its faults as reasons not to start.

import { existsSync, readdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  type BackupReport,
  backupStore,
  EmbeddedEngine,
  type Engine,
  MemoryEngine,
  type MigrationOptions,
  type MigrationReport,
  migrateStore,
  PostgresEngine,
  repairStore,
  restoreStore,
  StoreFault,
  storeBytesIn,
  Unavailable,
} from "@yardmaster/engines";
import type { Logger } from "pino";
import { msOf } from "./config/queue-settings.js";
import type { YardConfig } from "./config.js";
import { StartFault } from "./door-kit/door.js";

/** Receives news from the engine that no call returns. */
export interface EngineListener {
  /** Nothing can be committed any more. */
  readonly onFault: (fault: Error) => void;
  /**
   * The disk is full, with the reason why no new task can be accepted; undefined when there is room
   * again.
   */
  readonly onShortage: (shortage: string | undefined) => void;
  /** The URL of the http door, for those who are told to come here. */
  readonly advertised: () => string | undefined;
}

export function createEngine(config: YardConfig, log: Logger, listener: EngineListener): Engine {
  const { engine, data, durability, reserveBytes, postgres, cluster } = config;
  if (engine === "memory") return new MemoryEngine();
  if (engine === "postgres" && postgres !== undefined) {
    const { url, schema, requireSync } = postgres;
    const commitMs = msOf(postgres.commitSeconds);
    return new PostgresEngine({
      url,
      schema,
      requireSync,
      commitMs,
      onNotice: (what) => log.warn(what),
      onDeposed: listener.onFault,
      cluster: cluster && {
        ...cluster,
        get address() {
          return listener.advertised();
        },
      },
    });
  }
  return new EmbeddedEngine({
    folder: data,
    durability: durability === "memory" ? "memory" : "fsync",
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

/** Bytes on disk that must be opened. */
export function storedBytes({ engine, data }: YardConfig): number {
  return engine === "embedded" ? storeBytesIn(data) : 0;
}

/** Size of the engine's files and the room on their disk; undefined if it keeps nothing there. */
export function diskOf({ engine, data }: YardConfig): { usedBytes: number; freeBytes: number } | undefined {
  if (engine !== "embedded" || !existsSync(data)) return undefined;
  try {
    const usedBytes = readdirSync(data).reduce((sum, name) => sum + sizeOf(join(data, name)), 0);
    const { bavail, bsize } = statfsSync(data);
    return { usedBytes, freeBytes: bavail * bsize };
  } catch {
    // The folder is gone, which the engine reports.
    return undefined;
  }
}

/** Blocks rather than length: a file may have holes. A file that has gone counts as nothing. */
function sizeOf(path: string): number {
  return (statSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * 512;
}

/**
 * Repairs the store and returns what was done, in words. Runs only when an operator asks for it.
 */
export async function repairYard({ engine, data }: YardConfig): Promise<readonly string[]> {
  if (engine !== "embedded") return [`The ${engine} engine has no file that could be repaired.`];
  // The time makes the name unique, so that a file set aside before is never overwritten.
  const stamp = new Date().toISOString().replace(/[:.]/g, "-");
  const { setAside, tasks, lost } = await asStartFault(repairStore(data, stamp));
  if (setAside === undefined) return [`There is no file in ${data} to repair.`];
  return [
    `The old file is ${setAside}; the new one has ${tasks} tasks.`,
    ...(lost.length === 0 ? ["Nothing was lost."] : lost.map((what) => `Lost: ${what}`)),
  ];
}

/** Copies the store of a dispatcher that may be running in another process. */
export function backupYard(from: string, to: string): Promise<BackupReport> {
  return asStartFault(backupStore(from, to));
}

export function restoreYard(from: string, to: string): Promise<BackupReport> {
  return asStartFault(Promise.resolve().then(() => restoreStore(from, to)));
}

/** Moves the store of a dispatcher that does not run to another engine. */
export function migrateYard(options: MigrationOptions): Promise<MigrationReport> {
  return asStartFault(migrateStore(options));
}

/** Reports a fault of the store in one line, like a door that cannot open. */
export async function asStartFault<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (fault) {
    if (fault instanceof Unavailable)
      throw new StartFault(`The database cannot be used at the moment: ${fault.message}`);
    throw fault instanceof StoreFault ? new StartFault(fault.message) : fault;
  }
}
