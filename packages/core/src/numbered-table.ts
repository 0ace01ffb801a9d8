// A table of pending requests, each under a number of its own. Slots are reused, and a number
// encodes its slot and how often the slot was used. A `Map` with this traffic is rebuilt again and
// again, and each old table keeps the next one alive until the old generation is collected.

/**
 * More than can be pending at once. The low bits of a number are its slot; the high bits leave 2²⁹
 * uses of each.
 */
const placesMax = 2 ** 24;
const placeBits = placesMax - 1;

export class NumberedTable<Value> {
  readonly #values: (Value | undefined)[] = [];
  /** The last number issued for each slot. */
  readonly #numbers: number[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#values.length - this.#free.length;
  }

  put(value: Value): number {
    const place = this.#free.pop() ?? this.#values.length;
    if (place >= placesMax) throw new Error("too many wait for an answer");
    const number = (this.#numbers[place] ?? place) + placesMax;
    this.#values[place] = value;
    this.#numbers[place] = number;
    return number;
  }

  has(number: number): boolean {
    const place = number & placeBits;
    return this.#numbers[place] === number && this.#values[place] !== undefined;
  }

  /** Removes and returns the value of this number. */
  take(number: number): Value | undefined {
    if (!this.has(number)) return undefined;
    const place = number & placeBits;
    const value = this.#values[place];
    this.#values[place] = undefined;
    this.#free.push(place);
    return value;
  }

  /** The numbers of all pending values. */
  waiting(): number[] {
    return this.#numbers.filter((_, place) => this.#values[place] !== undefined);
  }
}
