// Bodies that lie in the engine and not in memory: an effect that hands one out waits here until it has been read.

import type { Body, Effect } from "@yardmaster/core";
import type { BodyPart, Engine } from "@yardmaster/engines";

/** How many are read at once: enough to keep a disk busy, few enough that large ones do not fill memory. */
const readsMax = 8;

export interface ApartBodiesOptions {
  readonly read: Engine["body"];
  /** Whether it is still wanted, asked before and after reading. */
  readonly isWanted: (effect: Effect) => boolean;
  /** With its bytes. */
  readonly deliver: (effect: Effect) => void;
  /** The bytes are not to be had. */
  readonly onUnreadable: (effect: ApartEffect, message: string) => void;
}

/** The effects that hand a body out. */
export type ApartEffect = Extract<Effect, { type: "assign" | "tell" }>;

export class ApartBodies {
  readonly #options: ApartBodiesOptions;
  readonly #waiting: ApartEffect[] = [];
  #reading = 0;

  constructor(options: ApartBodiesOptions) {
    this.#options = options;
  }

  /** Whether the effect has to wait, and is taken. */
  take(effect: Effect): boolean {
    if (!isApart(effect)) return false;
    this.#waiting.push(effect);
    this.#readNext();
    return true;
  }

  #readNext(): void {
    while (this.#reading < readsMax) {
      const effect = this.#waiting.shift();
      if (effect === undefined) return;
      this.#reading += 1;
      void this.#read(effect).finally(() => {
        this.#reading -= 1;
        this.#readNext();
      });
    }
  }

  async #read(effect: ApartEffect): Promise<void> {
    const { read, isWanted, deliver, onUnreadable } = this.#options;
    if (!isWanted(effect)) return deliver(effect);
    const part: BodyPart = effect.type === "assign" ? "payload" : "result";
    let body: Body | undefined;
    try {
      body = await read(effect.task.id, part);
    } catch (error) {
      onUnreadable(effect, error instanceof Error ? error.message : String(error));
      return;
    }
    if (body?.bytes === undefined) onUnreadable(effect, `the ${part} of task ${effect.task.id} is not there`);
    else deliver(withBody(effect, body));
  }
}

function isApart(effect: Effect): effect is ApartEffect {
  if (effect.type === "assign") return isOutside(effect.task.payload);
  return effect.type === "tell" && isOutside(effect.outcome.result);
}

function isOutside(body: Body | undefined): boolean {
  return body !== undefined && body.bytes === undefined && body.size > 0;
}

/** The same, with these bytes in place of what it says of them. */
export function withBody(effect: ApartEffect, body: Body): Effect {
  return effect.type === "assign"
    ? { ...effect, task: { ...effect.task, payload: body } }
    : { ...effect, outcome: { ...effect.outcome, result: body } };
}
