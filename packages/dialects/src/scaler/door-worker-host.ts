// What a worker's session at the door receives: its settings and the scheduler functions that it
// calls.

import type { TaskId } from "@yardmaster/core";
import type { WireFrames } from "../wire-frames.js";
import type { HeldAttempt } from "./held-tasks.js";
import type { IdSecret } from "./id-table.js";
import type { ScalerHost } from "./line.js";

export interface WorkerSettings {
  /** The door's name. It distinguishes tasks of this door from tasks of others. */
  readonly door: string;
  readonly queue: string;
  readonly slots: number;
  /** [scaler 7.2] Name of the function that a task of another dialect calls. */
  readonly functionName: string;
  readonly idSecret: IdSecret;
}

export interface WorkerHost extends ScalerHost {
  /**
   * The core's id of a task that was sent to a worker before the restart. Defined only while
   * workers may come back for it.
   */
  recover(task: Buffer): TaskId | undefined;
  /**
   * Returns true if the task was accepted before the restart, so that another worker may hold it.
   * Also records that the task is sent again.
   */
  goesOutAgain(held: HeldAttempt): boolean;
  /** Ids of tasks from before the restart that any worker may still hold, from position `from`. */
  pastTasks(from: number, max: number): readonly Buffer[];
  /** True while a client waits for this task. */
  isOpen(task: Buffer): boolean;
  /** The owner of objects that frame `at` names: a client that exists, or the door itself. */
  ownerIn(frames: WireFrames, at: number): string | undefined;
}
