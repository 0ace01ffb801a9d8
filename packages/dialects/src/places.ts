// Things that wait for an answer, by a number that is given to each. They lie in places that are used again, and a number
// tells its place and how often that was used: a map through which much goes keeps alive what was in it.

/** More than can wait at once. Numbers stay exact for as many uses of each place as 2⁵³ leaves. */
const placesMax = 2 ** 24;

export class Places<Value> {
  readonly #values: (Value | undefined)[] = [];
  /** The number that was given last for each place. */
  readonly #numbers: number[] = [];
  readonly #free: number[] = [];

  put(value: Value): number {
    const place = this.#free.pop() ?? this.#values.length;
    if (place >= placesMax) throw new Error("too many wait for an answer");
    const number = (this.#numbers[place] ?? place) + placesMax;
    this.#values[place] = value;
    this.#numbers[place] = number;
    return number;
  }

  /** What got this number, once. */
  take(number: number): Value | undefined {
    const place = number % placesMax;
    const value = this.#values[place];
    if (value === undefined || this.#numbers[place] !== number) return undefined;
    this.#values[place] = undefined;
    this.#free.push(place);
    return value;
  }
}
