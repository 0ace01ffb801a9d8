// Things that wait for an answer, by a number that is given to each. They lie in places that are used again, and a number
// tells its place and how often that was used. A map would do, but it is made anew whenever many have come and gone, and
// each old one keeps the next alive, with all that was in it, until the old generation is collected: under load that is most
// of what there is to collect.

/**
 * More than can wait at once. Numbers stay exact for as many uses of each place as 2⁵³ leaves, and of such a number the
 * lower bits are its place.
 */
const placesMax = 2 ** 24;
const placeBits = placesMax - 1;

export class Places<Value> {
  readonly #values: (Value | undefined)[] = [];
  /** The number that was given last for each place. */
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

  /** What got this number, once. */
  take(number: number): Value | undefined {
    if (!this.has(number)) return undefined;
    const place = number & placeBits;
    const value = this.#values[place];
    this.#values[place] = undefined;
    this.#free.push(place);
    return value;
  }

  /** The numbers of all that wait. */
  waiting(): number[] {
    return this.#numbers.filter((_, place) => this.#values[place] !== undefined);
  }
}
