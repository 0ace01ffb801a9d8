// Delivers effects to their doors, in order and with their bodies. Effects that later events made
// obsolete are dropped.

import type { Dispatcher, Effect, TaskId, YardEvent } from "@yardmaster/core";
import type { Engine } from "@yardmaster/engines";
import type { Door, PayloadReader } from "./door-kit/door.js";
import type { Tap } from "./door-kit/tap.js";
import { unreadablePayload } from "./door-kit/unreadable-payload.js";
import { OutOfLineBodies, type OutOfLineEffect, withBody } from "./out-of-line-bodies.js";

export interface Attached {
  readonly door: Door;
  /** Effects that the door receives at the end of a delivery. */
  effects: Effect[];
}

export interface DeliveriesOptions {
  readonly core: () => Dispatcher;
  readonly read: Engine["body"];
  readonly post: (door: string, event: YardEvent) => void;
  /** Once this is true, nothing is delivered any more. */
  readonly isOver: () => boolean;
  readonly onDelivered: () => void;
  /** Told the task of each effect while the wire is being watched. */
  readonly tap?: Tap | undefined;
}

export class Deliveries {
  readonly #doors: ReadonlyMap<string, Attached>;
  readonly #options: DeliveriesOptions;
  readonly #outOfLine: OutOfLineBodies;

  constructor(doors: ReadonlyMap<string, Attached>, options: DeliveriesOptions) {
    this.#doors = doors;
    this.#options = options;
    this.#outOfLine = new OutOfLineBodies({
      read: options.read,
      readsHere: (effect) => !this.#isReadByDoor(effect),
      reader: (effect) => this.#readerOf(effect),
      isWanted: (effect) => !options.isOver() && !this.#isOvertaken(effect),
      release: (effects) => this.#release(effects),
      onUnreadable: (effect, message) => this.#endUnreadable(effect, message),
    });
  }

  deliver(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (this.#isOvertaken(effect)) this.#giveBack(effect);
      else if (!this.#outOfLine.take(effect)) this.#hand(effect);
    }
    this.#flush();
  }

  /** Effects that waited for a body, their own or that of an earlier effect. */
  #release(effects: readonly Effect[]): void {
    if (this.#options.isOver()) return;
    for (const effect of effects) {
      if (this.#isOvertaken(effect)) this.#giveBack(effect);
      else this.#hand(effect);
    }
    this.#flush();
  }

  #flush(): void {
    for (const attached of this.#doors.values()) {
      if (attached.effects.length === 0) continue;
      const mine = attached.effects;
      attached.effects = [];
      if (this.#options.tap?.isOpen === true) deliverOneByOne(attached.door, mine, this.#options.tap);
      else attached.door.deliver(mine);
    }
    this.#options.onDelivered();
  }

  /**
   * True for an assignment whose attempt was lost before it left. The worker may be back under the
   * same name. If its dialect's answers name no task, it would answer the old assignment, and the
   * answer would count for a new one.
   */
  #isOvertaken(effect: Effect): boolean {
    return effect.type === "assign" && !this.#options.core().isHeld(effect.task.id, effect.attempt);
  }

  /**
   * The worker never received it, so it will not answer, and the slot of a revoked attempt would
   * stay taken.
   */
  #giveBack(effect: Effect): void {
    if (effect.type !== "assign" || !this.#options.core().isRevoked(effect.attempt)) return;
    const { door, worker, task, attempt } = effect;
    const reason = "undelivered";
    this.#options.post(door, { type: "attempt-returned", reason, worker, task: task.id, attempt });
  }

  /**
   * Delivers an effect to its door. A task for a worker of another dialect is first translated by
   * the door that accepted it.
   */
  #hand(effect: Effect): void {
    const attached = this.#doors.get(effect.door);
    const from = effect.type === "assign" ? this.#translatorOf(effect) : undefined;
    if (effect.type !== "assign" || from?.payloadFor === undefined) {
      attached?.effects.push(effect);
      return;
    }
    const payload = from.payloadFor(effect.task);
    if (payload === undefined) this.#endUnreadable(effect, "the objects that the task names no longer exist");
    else attached?.effects.push(payload === effect.task.payload ? effect : withBody(effect, payload));
  }

  /** The door that translates the payload for workers of other dialects, if there is one. */
  #translatorOf({ task, door }: Extract<Effect, { type: "assign" }>): Door | undefined {
    return task.door === door ? undefined : this.#doors.get(task.door)?.door;
  }

  #readerOf(effect: OutOfLineEffect): PayloadReader | undefined {
    return effect.type === "assign" ? this.#translatorOf(effect)?.payloadReader?.(effect.task) : undefined;
  }

  /** A payload that must be translated is read here, whichever door it leaves by. */
  #isReadByDoor(effect: OutOfLineEffect): boolean {
    if (effect.type !== "assign" || this.#doors.get(effect.door)?.door.readsPayloads !== true) return false;
    return this.#translatorOf(effect)?.payloadFor === undefined;
  }

  /**
   * A body that cannot be read is not delivered: the attempt fails with the reason, and an outcome
   * stays undelivered.
   */
  #endUnreadable(effect: OutOfLineEffect, message: string): void {
    if (this.#options.isOver()) return;
    const task = effect.task.id;
    if (effect.type === "tell") {
      this.#options.post(effect.door, { type: "outcome-undelivered", task, again: false });
      return;
    }
    const { worker, attempt } = effect;
    const error = unreadablePayload(message);
    this.#options.post(effect.door, { type: "attempt-failed", worker, task, attempt, error });
  }
}

function deliverOneByOne(door: Door, effects: readonly Effect[], tap: Tap): void {
  for (const effect of effects) {
    tap.delivering(taskOf(effect));
    door.deliver([effect]);
  }
  tap.delivering(undefined);
}

function taskOf(effect: Effect): TaskId | undefined {
  if (effect.type === "assign" || effect.type === "tell") return effect.task.id;
  if (effect.type === "revoke") return effect.task;
  return effect.type === "reply" && "task" in effect.answer ? effect.answer.task : undefined;
}
