// What a worker's session receives: its settings and the functions that it calls.

import type { HeartbeatPaceSettings } from "./heartbeat-pace.js";
import type { ScalerWire, WorkerMessage } from "./messages.js";

export interface ScalerWorkerSettings extends HeartbeatPaceSettings {
  readonly wire: ScalerWire;
  /** Number of tasks that run at the same time. */
  readonly concurrency: number;
  /**
   * Maximum number of further tasks whose objects are requested before they can begin; fewer if the
   * objects are large.
   */
  readonly fetchAhead: number;
  /**
   * Maximum size of objects cached for later tasks. The objects of the next tasks may use about as
   * much again.
   */
  readonly objectBytesMax: number;
  /** How long it waits for the scheduler to confirm its goodbye. */
  readonly leaveMs: number;
}

export const defaultScalerWorkerSettings: ScalerWorkerSettings = {
  wire: "r",
  // The document asks for one heartbeat per second; the original program sends one every two.
  heartbeatMs: 1_000,
  schedulerTimeoutMs: 60_000,
  concurrency: 1,
  fetchAhead: 64,
  objectBytesMax: 64 * 1024 * 1024,
  leaveMs: 500,
};

/** Resource use of this process, as reported in heartbeats. */
export interface WorkerResources {
  readonly pid: number;
  /** In thousandths of a core. */
  readonly cpu: number;
  readonly rssBytes: bigint;
  readonly freeRssBytes: bigint;
}

export interface ScalerCall {
  /** The number that `finish` and `fail` take. It is never used twice. */
  readonly run: number;
  readonly task: Buffer;
  readonly source: Buffer;
  /** Lower is more urgent. */
  readonly priority: number;
  /** Shared with other tasks, so it must not be modified. */
  readonly function: Buffer;
  readonly arguments: readonly Buffer[];
}

export interface ScalerWorkerHost {
  send(message: WorkerMessage): void;
  /** Starts a task; `finish` or `fail` answers it. */
  run(call: ScalerCall): void;
  /**
   * The answer of this run is no longer wanted. The run keeps its slot until `finish` or `fail`.
   */
  abort(run: number): void;
  /** Closes the connection and opens a new one. The host calls `connected` when it is open. */
  reconnect(): void;
  /** The worker has left. */
  ended(): void;
  resources(): WorkerResources;
  /** Returns 16 bytes that were never returned before. */
  unique(): Buffer;
}
