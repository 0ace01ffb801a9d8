// The requests of a door that have not been answered yet: who waits for which number. Each is answered once; an answer
// that nobody waits for is handed back to the caller, who knows whether something has to be undone.
//
// They lie in places that are used again, and a number tells its place and how often that was used. A map would do, but
// it is made anew whenever many have come and gone, and each old one keeps the next alive, with all that was in it, until
// the old generation is collected: under load that is most of what there is to collect.

import type { RequestId } from "@yardmaster/core";

/**
 * More than can be open at once. Numbers stay exact for as many uses of each place as 2⁵³ leaves, and of such a number
 * the lower bits are its place.
 */
const placesMax = 2 ** 24;
const placeBits = placesMax - 1;

type Take<Reply> = (reply: Reply) => void;

export class Requests<Reply> {
  readonly #takes: (Take<Reply> | undefined)[] = [];
  /** The number that was given last for each place. */
  readonly #numbers: RequestId[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#takes.length - this.#free.length;
  }

  /** A new number, and who takes its answer. */
  open(take: Take<Reply>): RequestId {
    const place = this.#free.pop() ?? this.#takes.length;
    if (place >= placesMax) throw new Error("too many requests are open");
    const number = (this.#numbers[place] ?? place) + placesMax;
    this.#takes[place] = take;
    this.#numbers[place] = number;
    return number;
  }

  /** False when nobody waits for it (any more). */
  settle(request: RequestId, reply: Reply): boolean {
    const take = this.#take(request);
    take?.(reply);
    return take !== undefined;
  }

  isOpen(request: RequestId): boolean {
    const place = request & placeBits;
    return this.#numbers[place] === request && this.#takes[place] !== undefined;
  }

  /** Answers everybody who still waits. */
  settleAll(reply: Reply): void {
    for (const number of [...this.#numbers]) this.settle(number, reply);
  }

  /** Whoever waited is gone. False when it had been answered before. */
  drop(request: RequestId): boolean {
    return this.#take(request) !== undefined;
  }

  #take(request: RequestId): Take<Reply> | undefined {
    if (!this.isOpen(request)) return undefined;
    const place = request & placeBits;
    const take = this.#takes[place];
    this.#takes[place] = undefined;
    this.#free.push(place);
    return take;
  }
}
