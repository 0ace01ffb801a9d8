// A map from numbers that can be walked in their order. Made for numbers that nearly always rise: a new greatest one is
// an append. Any other place, and taking one out, moves the numbers behind it, so keep what is worth a move under each.

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

  /** Takes out everything up to and with this number. */
  takeThrough(number: number): Value[] {
    return this.#numbers.splice(0, this.#countThrough(number)).map((taken) => {
      const value = this.#values.get(taken) as Value;
      this.#values.delete(taken);
      return value;
    });
  }

  first(): Value | undefined {
    return this.#at(0);
  }

  /** The value of the greatest number up to and with this one. */
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

  /** How many numbers are not above this one. */
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
