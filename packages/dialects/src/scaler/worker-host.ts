// What a worker's session is given: its settings, and what it may want of the world.

import type { HeartbeatPaceSettings } from "./heartbeat-pace.js";
import type { ScalerWire, WorkerMessage } from "./messages.js";

export interface ScalerWorkerSettings extends HeartbeatPaceSettings {
  readonly wire: ScalerWire;
  /** How many tasks run at a time. */
  readonly concurrency: number;
  /** For so many more at most the objects are asked for before they can begin; for fewer where they are large. */
  readonly fetchAhead: number;
  /** Of objects kept for tasks to come, and about as much again of objects of those that come next. */
  readonly objectBytesMax: number;
  /** How long it waits to be let go. */
  readonly leaveMs: number;
}

export const defaultScalerWorkerSettings: ScalerWorkerSettings = {
  wire: "r",
  // The document wants one a second; the program has one in two.
  heartbeatMs: 1_000,
  schedulerTimeoutMs: 60_000,
  concurrency: 1,
  fetchAhead: 64,
  objectBytesMax: 64 * 1024 * 1024,
  leaveMs: 500,
};

/** Of this process, as heartbeats tell it. */
export interface WorkerResources {
  readonly pid: number;
  /** In thousandths of a core. */
  readonly cpu: number;
  readonly rssBytes: bigint;
  readonly freeRssBytes: bigint;
}

export interface ScalerCall {
  /** What `finish` and `fail` name it by: never the same twice. */
  readonly run: number;
  readonly task: Buffer;
  readonly source: Buffer;
  /** Lower is more urgent. */
  readonly priority: number;
  /** These are kept for other tasks, too: they are not to be written into. */
  readonly function: Buffer;
  readonly arguments: readonly Buffer[];
}

export interface ScalerWorkerHost {
  send(message: WorkerMessage): void;
  /** A task to work on; `finish` or `fail` answers it. */
  run(call: ScalerCall): void;
  /** Nobody wants the answer of this run any more. It still takes its place until `finish` or `fail`. */
  abort(run: number): void;
  /** Close the connection and make a new one; `connected` when it is there. */
  reconnect(): void;
  /** It has left, or was told to and has. */
  ended(): void;
  resources(): WorkerResources;
  /** 16 bytes that were never there before. */
  unique(): Buffer;
}
