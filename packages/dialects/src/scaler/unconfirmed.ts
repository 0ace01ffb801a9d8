// Messages that were sent to a client and may not have arrived. The dialect has no
// acknowledgements, but a client sends a heartbeat only after the echo of the previous one. So a
// heartbeat confirms everything that was sent before that echo [scaler 4.7].

import { Fifo } from "@yardmaster/core";

export class Unconfirmed<Item> {
  readonly #max: number;
  readonly #echoes: number;
  readonly #items = new Fifo<Item>();
  readonly #sizeOf: (item: Item) => number;
  #size = 0;
  /** Number of items that had been sent at each of the last echoes. */
  readonly #marks: number[] = [];
  #added = 0;
  #removed = 0;

  /**
   * `max`: limit for the sum of `sizeOf`, which is the number of items without it. `echoes`: number
   * of echoes that must follow an item before a heartbeat confirms it.
   */
  constructor(max: number, echoes: number, sizeOf: (item: Item) => number = () => 1) {
    this.#max = max;
    this.#echoes = echoes;
    this.#sizeOf = sizeOf;
  }

  /** If there are too many items, the oldest count as confirmed; the last of them is returned. */
  add(item: Item): Item | undefined {
    this.#items.push(item);
    this.#size += this.#sizeOf(item);
    this.#added += 1;
    let oldest: Item | undefined;
    while (this.#size > this.#max && this.#items.size > 1) oldest = this.#shift();
    return oldest;
  }

  /** A heartbeat arrived and is about to be echoed. Returns the items that it confirms. */
  beaten(): Item[] {
    this.#marks.push(this.#added);
    if (this.#marks.length <= this.#echoes) return [];
    const through = this.#marks.shift() as number;
    const confirmed: Item[] = [];
    while (this.#removed < through) confirmed.push(this.#shift() as Item);
    return confirmed;
  }

  /** Removes and returns all items, oldest first, because their connection is gone. */
  takeAll(): Item[] {
    this.#marks.length = 0;
    const items = [...this.#items];
    while (this.#items.size > 0) this.#shift();
    return items;
  }

  #shift(): Item | undefined {
    this.#removed += 1;
    const item = this.#items.shift();
    if (item !== undefined) this.#size -= this.#sizeOf(item);
    return item;
  }
}
