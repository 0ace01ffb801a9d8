// The requests of a door that have not been answered yet: who waits for which number. Each is answered once; an answer
// that nobody waits for is handed back to the caller, who knows whether something has to be undone.

import type { RequestId } from "@yardmaster/core";

export class Requests<Reply> {
  readonly #waiting = new Map<RequestId, (reply: Reply) => void>();
  #last: RequestId = 0;

  get size(): number {
    return this.#waiting.size;
  }

  /** A new number, and who takes its answer. */
  open(take: (reply: Reply) => void): RequestId {
    this.#last += 1;
    this.#waiting.set(this.#last, take);
    return this.#last;
  }

  /** False when nobody waits for it (any more). */
  settle(request: RequestId, reply: Reply): boolean {
    const take = this.#waiting.get(request);
    if (!take) return false;
    this.#waiting.delete(request);
    take(reply);
    return true;
  }

  isOpen(request: RequestId): boolean {
    return this.#waiting.has(request);
  }

  /** Answers everybody who still waits. */
  settleAll(reply: Reply): void {
    for (const request of [...this.#waiting.keys()]) this.settle(request, reply);
  }

  /** Whoever waited is gone. False when it had been answered before. */
  drop(request: RequestId): boolean {
    return this.#waiting.delete(request);
  }
}
