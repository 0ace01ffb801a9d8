// What a worker at the door is given: its settings, and what it may want of the scheduler.

import type { TaskId } from "@yardmaster/core";
import type { IdSecret } from "./id-table.js";
import type { ScalerHost } from "./line.js";
import type { PackedFrames } from "./packed-frames.js";

export interface WorkerSettings {
  /** The door's name: tasks that came in by it are told from others. */
  readonly door: string;
  readonly queue: string;
  readonly slots: number;
  /** [scaler 7.2] What a task of another dialect calls. */
  readonly functionName: string;
  readonly idSecret: IdSecret;
}

export interface WorkerHost extends ScalerHost {
  /** The core's name of a task that was given out before we were started, while workers may come back for it. */
  recover(task: Buffer): TaskId | undefined;
  /** Whether it was accepted before we were started: then any worker of before may hold it. Notes that it goes out again. */
  goesOutAgain(task: TaskId, id: Buffer): boolean;
  /** What went out again since we were started, from a place in that list on. */
  outAgain(from: number, max: number): readonly Buffer[];
  /** Whether a client waits for this task. */
  isOpen(task: Buffer): boolean;
  /** Whether there is a client of this id. */
  isClient(source: Buffer): boolean;
  /** The client that frame `at` names, if there is one. */
  clientIn(frames: PackedFrames, at: number): { readonly key: string } | undefined;
}
