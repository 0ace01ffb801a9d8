// The requests of a door that have not been answered yet: who waits for which number. Each is answered once; an answer
// that nobody waits for is handed back to the caller, who knows whether something has to be undone.

import { Places, type RequestId } from "@yardmaster/core";

type Take<Reply> = (reply: Reply) => void;

export class Requests<Reply> {
  readonly #takes = new Places<Take<Reply>>();

  get size(): number {
    return this.#takes.size;
  }

  /** A new number, and who takes its answer. */
  open(take: Take<Reply>): RequestId {
    return this.#takes.put(take);
  }

  /** False when nobody waits for it (any more). */
  settle(request: RequestId, reply: Reply): boolean {
    const take = this.#takes.take(request);
    take?.(reply);
    return take !== undefined;
  }

  isOpen(request: RequestId): boolean {
    return this.#takes.has(request);
  }

  /** Answers everybody who still waits. */
  settleAll(reply: Reply): void {
    for (const number of this.#takes.waiting()) this.settle(number, reply);
  }

  /** Whoever waited is gone. False when it had been answered before. */
  drop(request: RequestId): boolean {
    return this.#takes.take(request) !== undefined;
  }
}
