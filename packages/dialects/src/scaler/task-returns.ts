// Asks a worker about tasks that it may still hold, and interprets its answers [scaler 3.9]. A TK
// for a task that it may hold is sent only after its answer.

import type { Instant } from "@yardmaster/core";
import { isProgram } from "./codec.js";
import type { HeldAttempt, HeldTasks } from "./held-tasks.js";
import type { Heartbeat, ScalerWire, TaskResult } from "./messages.js";
import { type OwedTask, OwedTasks } from "./owed-tasks.js";
import { idBytes, type PackedTask } from "./packed-messages.js";

/** Maximum number of tasks from before the restart that one heartbeat causes us to ask about. */
const probedAtOnce = 4_096;
/** How long a form-d worker has to answer a TC. */
const answerMsMax = 5_000;

export interface ReturnsHost {
  now(): Instant;
  /**
   * Sends a forced TC. It is always answered, and it ends a wait for objects whose answer was lost.
   */
  cancel(id: Buffer): void;
  /** Sends a TK. Returns false if there is no room. */
  give(task: PackedTask): boolean;
  /** Returns the attempt to the core, because the task was not sent to the worker. */
  giveUp(held: HeldAttempt, reason: "undelivered" | "balance"): void;
  /** Ids of tasks from before the restart that any worker may still hold, from position `from`. */
  pastTasks(from: number, max: number): readonly Buffer[];
}

/**
 * Meaning of an answer about a task that the worker may hold: nothing more to do, the answer of its
 * current attempt, or a late answer.
 */
export type OwedAnswer = "settled" | "attempt" | "late";

export class TaskReturns {
  readonly owed: OwedTasks;
  readonly #host: ReturnsHost;
  /** Number of tasks from before the restart about which this worker was asked. */
  #probed = 0;

  constructor(owed: OwedTasks | undefined, host: ReturnsHost) {
    this.owed = owed ?? new OwedTasks();
    this.#host = host;
  }

  askForAll(): void {
    for (const owed of this.owed.values()) this.#ask(owed);
  }

  /** The attempt is over, but the worker may still hold the task. */
  ask({ id, task, attempt }: HeldAttempt): void {
    this.#ask(this.owed.add(id, task, attempt));
  }

  /** Sends the TK once the worker has confirmed that it does not hold the task. */
  defer(held: HeldAttempt, task: PackedTask): void {
    const owed = this.owed.add(held.id);
    held.isDeferred = true;
    owed.waiting = { held, task };
    this.#ask(owed);
  }

  /** Takes back a task that was not sent yet. */
  withdraw(held: HeldAttempt, reason: "undelivered" | "balance"): void {
    const owed = this.owed.get(idBytes(held.id));
    if (owed !== undefined) owed.waiting = undefined;
    this.#host.giveUp(held, reason);
  }

  /**
   * The worker's connection closed, or it was silent for too long. It may still hold its tasks when
   * it comes back.
   */
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
    // A form-r worker will still answer the TC. Until then, no task with this id is sent.
    if (!isProgram(wire) || owed.askedAt === undefined) this.owed.delete(owed);
    const { waiting } = owed;
    owed.waiting = undefined;
    if (waiting === undefined) return "late";
    waiting.held.isDeferred = false;
    waiting.held.isOfBefore = true;
    return "attempt";
  }

  /**
   * If a worker reports more tasks than are known, it holds some from before the restart. It may
   * wait forever for objects that it requested then. So it is asked about all tasks that it may
   * hold and that nobody expects from it.
   */
  accountFor(
    { queuedTasks, processors, wire }: Heartbeat,
    held: HeldTasks,
    isHeld: (id: Buffer) => boolean,
  ): void {
    if (!isProgram(wire)) this.#stopWaiting();
    const busy = processors.reduce((sum, { hasTask }) => sum + (hasTask ? 1 : 0), 0);
    if (queuedTasks + busy <= held.size + this.owed.size) return;
    const suspects = this.#host.pastTasks(this.#probed, probedAtOnce);
    this.#probed += suspects.length;
    for (const id of suspects) if (!isHeld(id)) this.#ask(this.owed.add(id));
  }

  #ask(owed: OwedTask): void {
    if (owed.askedAt !== undefined) return;
    owed.askedAt = this.#host.now();
    this.#host.cancel(owed.id);
  }

  /** The worker does not hold the task, so a waiting TK can be sent. */
  #letIn(owed: OwedTask): void {
    this.owed.delete(owed);
    if (owed.waiting === undefined) return;
    const { held, task } = owed.waiting;
    held.isDeferred = false;
    if (!this.#host.give(task)) this.#host.giveUp(held, "undelivered");
  }

  /** A form-d worker need not answer a TC for a task that it does not hold. */
  #stopWaiting(): void {
    for (const owed of this.owed.values())
      if (owed.askedAt !== undefined && this.#host.now() - owed.askedAt >= answerMsMax) this.#letIn(owed);
  }
}
