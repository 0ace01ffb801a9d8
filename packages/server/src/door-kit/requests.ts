// A door's unanswered requests, by number. Each is answered once. An answer without a waiting
// request is reported to the caller, who knows whether something must be undone.

import { NumberedTable, type RequestId } from "@yardmaster/core";

type Take<Reply> = (reply: Reply) => void;

export class Requests<Reply> {
  readonly #takes = new NumberedTable<Take<Reply>>();

  get size(): number {
    return this.#takes.size;
  }

  /** Returns a new request number; `take` receives its answer. */
  open(take: Take<Reply>): RequestId {
    return this.#takes.put(take);
  }

  /** Returns false if the request is not open (any more). */
  settle(request: RequestId, reply: Reply): boolean {
    const take = this.#takes.take(request);
    take?.(reply);
    return take !== undefined;
  }

  isOpen(request: RequestId): boolean {
    return this.#takes.has(request);
  }

  /** Answers all open requests. */
  settleAll(reply: Reply): void {
    for (const number of this.#takes.waiting()) this.settle(number, reply);
  }

  /** The requester is gone. Returns false if the request was already answered. */
  drop(request: RequestId): boolean {
    return this.#takes.take(request) !== undefined;
  }
}
