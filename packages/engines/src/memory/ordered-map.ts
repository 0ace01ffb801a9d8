// A map with numeric keys that can be walked in order, for keys that nearly always rise: a new
// highest key is an append. Any other insertion or removal moves all later keys, so each value
// should be worth that.

export class OrderedMap<Value> {
  readonly #values = new Map<number, Value>();
  /** Rising. */
  readonly #numbers: number[] = [];

  get(number: number): Value | undefined {
    return this.#values.get(number);
  }

  set(number: number, value: Value): void {
    if (!this.#values.has(number)) this.#numbers.splice(this.#countThrough(number), 0, number);
    this.#values.set(number, value);
  }

  delete(number: number): void {
    if (this.#values.delete(number)) this.#numbers.splice(this.#countThrough(number) - 1, 1);
  }

  /** Removes and returns everything from one number up to and including another. */
  takeRange(from: number, through: number): Value[] {
    const first = this.#countThrough(from - 1);
    const count = this.#countThrough(through) - first;
    return this.#numbers.splice(first, Math.max(0, count)).map((taken) => {
      const value = this.#values.get(taken) as Value;
      this.#values.delete(taken);
      return value;
    });
  }

  first(): Value | undefined {
    return this.#at(0);
  }

  /** The value of the highest number up to and including this one. */
  atOrBelow(number: number): Value | undefined {
    return this.#at(this.#countThrough(number) - 1);
  }

  /** By rising number. */
  *entries(): Generator<[number, Value]> {
    for (const number of this.#numbers) yield [number, this.#values.get(number) as Value];
  }

  #at(place: number): Value | undefined {
    const number = this.#numbers[place];
    return number === undefined ? undefined : this.#values.get(number);
  }

  /** Number of keys that are not above this one. */
  #countThrough(number: number): number {
    let low = 0;
    let high = this.#numbers.length;
    if (high === 0 || (this.#numbers[high - 1] as number) <= number) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#numbers[middle] as number) <= number) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
