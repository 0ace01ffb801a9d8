// A first-in-first-out queue over an array with a moving front: push and shift in constant time.

/** With fewer empty slots at the front, compacting costs more than it saves. */
const compactFrom = 1024;

export class Fifo<Item> {
  #items: (Item | undefined)[] = [];
  #front = 0;

  get size(): number {
    return this.#items.length - this.#front;
  }

  first(): Item | undefined {
    return this.#items[this.#front];
  }

  last(): Item | undefined {
    return this.size === 0 ? undefined : this.#items[this.#items.length - 1];
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  shift(): Item | undefined {
    if (this.size === 0) return undefined;
    const item = this.#items[this.#front];
    this.#items[this.#front] = undefined;
    this.#front += 1;
    if (this.#front >= compactFrom && this.#front * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#front);
      this.#front = 0;
    }
    return item;
  }

  sort(compare: (one: Item, other: Item) => number): void {
    this.#items = [...this].sort(compare);
    this.#front = 0;
  }

  *[Symbol.iterator](): Iterator<Item> {
    for (let index = this.#front; index < this.#items.length; index += 1) yield this.#items[index] as Item;
  }
}
