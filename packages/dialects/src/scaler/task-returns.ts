// How a worker is asked for tasks that it may still hold, and what its answers mean [scaler 3.9]. A TK that it may hold already
// leaves only after its answer.

import type { Instant } from "@yardmaster/core";
import { isProgram } from "./codec.js";
import type { Held, HeldTasks } from "./held-tasks.js";
import type { Heartbeat, ScalerWire, TaskResult } from "./messages.js";
import { type OwedTask, OwedTasks } from "./owed-tasks.js";

/** Of tasks that went out again, with one heartbeat. */
const probedAtOnce = 4_096;
/** How long one of form d has to answer a TC. */
const answerMsMax = 5_000;

export interface ReturnsHost {
  now(): Instant;
  /** Sends a TC by force: it is answered in every case, and ends a wait for objects whose answer was lost. */
  cancel(id: Buffer): void;
  /** Sends a TK; false when there is no room for it. */
  give(frames: readonly Buffer[]): boolean;
  /** An attempt goes back to the core: the worker was not sent the task. */
  giveUp(held: Held, reason: "undelivered" | "balance"): void;
  /** What went out again since the dispatcher was started, from a place in that list on. */
  outAgain(from: number, max: number): readonly Buffer[];
}

/** What an answer about a task that the worker may hold is: done with, the answer of the attempt it has now, or a late one. */
export type OwedAnswer = "settled" | "attempt" | "late";

export class TaskReturns {
  readonly owed: OwedTasks;
  readonly #host: ReturnsHost;
  /** How many of the tasks that went out again it was asked for. */
  #probed = 0;

  constructor(owed: OwedTasks | undefined, host: ReturnsHost) {
    this.owed = owed ?? new OwedTasks();
    this.#host = host;
  }

  askForAll(): void {
    for (const owed of this.owed.values()) this.#ask(owed);
  }

  /** The attempt is over, but the worker may hold the task. */
  ask({ id, task, attempt }: Held): void {
    this.#ask(this.owed.add(id, task, attempt));
  }

  /** The TK leaves when the worker has said that it does not hold the task. */
  defer(held: Held, frames: readonly Buffer[]): void {
    const owed = this.owed.add(held.id);
    held.isDeferred = true;
    owed.waiting = { held, frames };
    this.#ask(owed);
  }

  /** Takes back a task that has not been sent. */
  withdraw(held: Held, reason: "undelivered" | "balance"): void {
    const owed = this.owed.get(held.id);
    if (owed !== undefined) owed.waiting = undefined;
    this.#host.giveUp(held, reason);
  }

  /** Its connection is gone, or it has been silent for too long: what it holds it may hold still when it comes back. */
  leave(held: HeldTasks): void {
    for (const { id, task, attempt, isDeferred } of held.values())
      if (!isDeferred) this.owed.add(id, task, attempt);
    for (const owed of this.owed.values()) {
      owed.askedAt = undefined;
      owed.waiting = undefined;
    }
  }

  answered(owed: OwedTask, { status }: TaskResult, wire: ScalerWire): OwedAnswer {
    if (status !== "S" && status !== "F") {
      this.#letIn(owed);
      return "settled";
    }
    // One of form r still answers the TC: until then nothing of this id is sent.
    if (!isProgram(wire) || owed.askedAt === undefined) this.owed.delete(owed);
    const { waiting } = owed;
    owed.waiting = undefined;
    if (waiting === undefined) return "late";
    waiting.held.isDeferred = false;
    waiting.held.isOfBefore = true;
    return "attempt";
  }

  /**
   * One that says it holds more than is known of holds something from before our restart, and may wait for ever for objects that
   * it asked for then. What went out again since is what it can be.
   */
  accountFor(
    { queuedTasks, processors, wire }: Heartbeat,
    held: HeldTasks,
    isHeld: (id: Buffer) => boolean,
  ): void {
    if (!isProgram(wire)) this.#stopWaiting();
    const busy = processors.reduce((sum, { hasTask }) => sum + (hasTask ? 1 : 0), 0);
    if (queuedTasks + busy <= held.size + this.owed.size) return;
    const suspects = this.#host.outAgain(this.#probed, probedAtOnce);
    this.#probed += suspects.length;
    for (const id of suspects) if (!isHeld(id)) this.#ask(this.owed.add(id));
  }

  #ask(owed: OwedTask): void {
    if (owed.askedAt !== undefined) return;
    owed.askedAt = this.#host.now();
    this.#host.cancel(owed.id);
  }

  /** It does not hold the task, so it can be given it. */
  #letIn(owed: OwedTask): void {
    this.owed.delete(owed);
    if (owed.waiting === undefined) return;
    const { held, frames } = owed.waiting;
    held.isDeferred = false;
    if (!this.#host.give(frames)) this.#host.giveUp(held, "undelivered");
  }

  /** The document's workers need not answer a TC for what they do not hold. */
  #stopWaiting(): void {
    for (const owed of this.owed.values())
      if (owed.askedAt !== undefined && this.#host.now() - owed.askedAt >= answerMsMax) this.#letIn(owed);
  }
}
