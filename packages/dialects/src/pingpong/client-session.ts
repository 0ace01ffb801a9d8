// A client's end of the dialect: many requests at once over one DEALER, each matched to its answer
// by a correlation frame of its own.

import { bodyOfParts } from "../parts.js";
import type { ClientAnswer, ClientRequest } from "./messages.js";

export class PingpongClientSession<Waiter> {
  readonly #life: string;
  readonly #waiting = new Map<string, Waiter>();
  #last = 0;

  /**
   * `life`: prefix of every correlation. A client with an identity may receive answers to requests
   * it made before it restarted.
   */
  constructor(life = "") {
    this.#life = life;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  ask(parts: Buffer[], waiter: Waiter): ClientRequest {
    this.#last += 1;
    const name = this.#life + this.#last.toString(36);
    this.#waiting.set(name, waiter);
    return { correlation: [Buffer.from(name)], payload: bodyOfParts(parts) };
  }

  /** The waiter for this answer; undefined if there is none any more. */
  take(answer: ClientAnswer): Waiter | undefined {
    const name = answer.correlation[0]?.toString() ?? "";
    const waiter = this.#waiting.get(name);
    this.#waiting.delete(name);
    return waiter;
  }

  /** Removes and returns all waiters: the connection is gone, and their answers with it. */
  takeAll(): Waiter[] {
    const waiters = [...this.#waiting.values()];
    this.#waiting.clear();
    return waiters;
  }
}
