// A client's end of the dialect: many requests at once over one DEALER, each with a correlation frame of its own by which
// its answer is known.

import type { ClientAnswer, ClientRequest } from "./messages.js";

export class PingpongClientSession<Waiter> {
  readonly #life: string;
  readonly #waiting = new Map<string, Waiter>();
  #last = 0;

  /** `life`: begins every name. A client with an identity may be sent answers to what it asked before it started anew. */
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
    return { correlation: [Buffer.from(name)], parts };
  }

  /** Who waits for this answer; undefined for one that nobody does, or does any more. */
  take(answer: ClientAnswer): Waiter | undefined {
    const name = answer.correlation[0]?.toString() ?? "";
    const waiter = this.#waiting.get(name);
    this.#waiting.delete(name);
    return waiter;
  }

  /** Everybody who waits: the connection is gone, and with it the answers. */
  takeAll(): Waiter[] {
    const waiters = [...this.#waiting.values()];
    this.#waiting.clear();
    return waiters;
  }
}
