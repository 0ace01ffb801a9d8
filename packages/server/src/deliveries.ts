// Takes effects to their doors: in order, with their bodies, and none that was overtaken by what has happened since.

import type { Dispatcher, Effect, YardEvent } from "@yardmaster/core";
import type { Engine } from "@yardmaster/engines";
import { ApartBodies, type ApartEffect, withBody } from "./apart-bodies.js";
import type { Door } from "./door-kit/door.js";
import { unreadablePayload } from "./door-kit/unreadable-payload.js";

export interface Attached {
  readonly door: Door;
  /** What it is handed at the end of a delivery. */
  effects: Effect[];
}

export interface DeliveriesOptions {
  readonly core: () => Dispatcher;
  readonly read: Engine["body"];
  readonly post: (door: string, event: YardEvent) => void;
  /** Once it is, nothing leaves any more. */
  readonly isOver: () => boolean;
  readonly onDelivered: () => void;
}

export class Deliveries {
  readonly #doors: ReadonlyMap<string, Attached>;
  readonly #options: DeliveriesOptions;
  readonly #apart: ApartBodies;

  constructor(doors: ReadonlyMap<string, Attached>, options: DeliveriesOptions) {
    this.#doors = doors;
    this.#options = options;
    this.#apart = new ApartBodies({
      read: options.read,
      readsHere: (effect) => !this.#isReadByDoor(effect),
      isWanted: (effect) => !options.isOver() && !this.#isOvertaken(effect),
      release: (effects) => this.#release(effects),
      onUnreadable: (effect, message) => this.#endUnreadable(effect, message),
    });
  }

  deliver(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (this.#isOvertaken(effect)) this.#giveBack(effect);
      else if (!this.#apart.take(effect)) this.#hand(effect);
    }
    this.#flush();
  }

  /** Effects that have waited for a body, their own or one before them. */
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
      attached.door.deliver(mine);
    }
    this.#options.onDelivered();
  }

  /**
   * An assignment whose attempt has been lost before it could leave. The worker may be back under the same name: where a
   * dialect's answers name no task, an old assignment would have its answer taken for that of a new one.
   */
  #isOvertaken(effect: Effect): boolean {
    return effect.type === "assign" && !this.#options.core().isHeld(effect.task.id, effect.attempt);
  }

  /** The worker never saw it, so it will not answer for the slot that a lifted attempt keeps taken. */
  #giveBack(effect: Effect): void {
    if (effect.type !== "assign" || !this.#options.core().isLifted(effect.attempt)) return;
    const { door, worker, task, attempt } = effect;
    const reason = "undelivered";
    this.#options.post(door, { type: "attempt-returned", reason, worker, task: task.id, attempt });
  }

  /** To its door; a task that leaves for a worker of another dialect as the door it came in by wants it to leave. */
  #hand(effect: Effect): void {
    const attached = this.#doors.get(effect.door);
    const from = effect.type === "assign" ? this.#translatorOf(effect) : undefined;
    if (effect.type !== "assign" || from?.payloadFor === undefined) {
      attached?.effects.push(effect);
      return;
    }
    const payload = from.payloadFor(effect.task);
    if (payload === undefined) this.#endUnreadable(effect, "what the task is about is not there any more");
    else attached?.effects.push(payload === effect.task.payload ? effect : withBody(effect, payload));
  }

  /** The door that makes the payload what workers of another dialect are given, where there is one. */
  #translatorOf({ task, door }: Extract<Effect, { type: "assign" }>): Door | undefined {
    return task.door === door ? undefined : this.#doors.get(task.door)?.door;
  }

  /** A payload that has to be translated is read here, whatever door it leaves by. */
  #isReadByDoor(effect: ApartEffect): boolean {
    if (effect.type !== "assign" || this.#doors.get(effect.door)?.door.readsPayloads !== true) return false;
    return this.#translatorOf(effect)?.payloadFor === undefined;
  }

  /** What cannot be read is not handed out: the attempt fails with the reason, an outcome stays untold. */
  #endUnreadable(effect: ApartEffect, message: string): void {
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
