// What was sent to a client and may not have reached it. The dialect has no acknowledgements, but a client sends a heartbeat
// only after the echo of the one before: so when it beats, all that was sent before that echo has arrived [scaler 4.7].

import { Fifo } from "@yardmaster/core";

export class Unconfirmed<Item> {
  readonly #max: number;
  readonly #echoes: number;
  readonly #items = new Fifo<Item>();
  /** How many items there had been at each of the last echoes. */
  readonly #marks: number[] = [];
  #added = 0;
  #removed = 0;

  /** `echoes`: how many have to be sent after an item before a heartbeat confirms it. */
  constructor(max: number, echoes: number) {
    this.#max = max;
    this.#echoes = echoes;
  }

  /** The oldest counts as confirmed where there are too many. */
  add(item: Item): Item | undefined {
    this.#items.push(item);
    this.#added += 1;
    return this.#items.size > this.#max ? this.#shift() : undefined;
  }

  /** A heartbeat has come, and its echo leaves: what that confirms. */
  beaten(): Item[] {
    this.#marks.push(this.#added);
    if (this.#marks.length <= this.#echoes) return [];
    const through = this.#marks.shift() as number;
    const confirmed: Item[] = [];
    while (this.#removed < through) confirmed.push(this.#shift() as Item);
    return confirmed;
  }

  /** All of it, oldest first: the connection that it was sent over is gone. */
  takeAll(): Item[] {
    this.#marks.length = 0;
    const items = [...this.#items];
    while (this.#items.size > 0) this.#shift();
    return items;
  }

  #shift(): Item | undefined {
    this.#removed += 1;
    return this.#items.shift();
  }
}
