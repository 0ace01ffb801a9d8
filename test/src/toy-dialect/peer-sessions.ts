// The peers' own ends. The SDK runs them on real sockets, the simulator on simulated ones.

import type { ToyMessage, ToyVerb } from "./codec.js";

type Send = (message: ToyMessage) => void;
type Told = (verb: ToyVerb, body: Buffer) => void;

export class ToyClientSession {
  readonly #send: Send;
  readonly #waiting = new Map<string, Told>();
  #last = 0;

  constructor(send: Send) {
    this.#send = send;
  }

  /** `told` is called with `accepted`, and then with the outcome. */
  submit(body: Buffer, told: Told): void {
    const id = String(++this.#last);
    this.#waiting.set(id, told);
    this.#send({ verb: "submit", id, body });
  }

  receive({ verb, id, body }: ToyMessage): void {
    const told = this.#waiting.get(id);
    if (verb !== "accepted") this.#waiting.delete(id);
    told?.(verb, body);
  }

  /** Outcomes go to the connection of the request, so they can no longer come. */
  disconnected(): void {
    for (const told of this.#waiting.values()) told("failed", Buffer.from("the connection was lost"));
    this.#waiting.clear();
  }
}

export type ToyWork = (payload: Buffer, finish: (verb: "done" | "failed", body: Buffer) => void) => void;

export class ToyWorkerSession {
  readonly #send: Send;
  readonly #work: ToyWork;

  constructor(send: Send, work: ToyWork) {
    this.#send = send;
    this.#work = work;
  }

  connected(): void {
    this.#send({ verb: "ready", id: "", body: Buffer.alloc(0) });
  }

  receive({ verb, id, body }: ToyMessage): void {
    if (verb === "run") this.#work(body, (verb, result) => this.#send({ verb, id, body: result }));
  }
}
