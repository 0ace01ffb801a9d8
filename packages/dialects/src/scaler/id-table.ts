// What is known by an id: tasks and objects, by any bytes that a peer chose. A lookup is made with the bytes as they lie in
// a read, so nothing is made of an id to look it up; entries are linked through themselves, so nothing is made or kept for
// one but the entry. A `Map` of strings would do, but makes a string for each question, and one through which much goes is
// made anew time and again, each time keeping alive what was in it.

/** So that nobody can choose ids that all fall into one place: 64 bits that no peer knows. */
export interface IdSecret {
  readonly first: number;
  readonly second: number;
}

export interface Identified<Self> {
  /** What `hashOf` makes of its id. */
  readonly idHash: number;
  hasId(bytes: Uint8Array, from: number, to: number): boolean;
  nextOfHash: Self | undefined;
}

const placesMin = 8;

export class IdTable<Entry extends Identified<Entry>> {
  #places: (Entry | undefined)[] = new Array(placesMin).fill(undefined);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The entry whose id is bytes from..to, of which `hash` was made. */
  get(hash: number, bytes: Uint8Array, from: number, to: number): Entry | undefined {
    let entry = this.#places[hash & (this.#places.length - 1)];
    while (entry !== undefined && (entry.idHash !== hash || !entry.hasId(bytes, from, to)))
      entry = entry.nextOfHash;
    return entry;
  }

  /** Adds an entry whose id is not there. */
  add(entry: Entry): void {
    if (this.#size >= this.#places.length) this.#resize(this.#places.length * 4);
    this.#link(entry);
    this.#size += 1;
  }

  /** False when it is not there. */
  delete(entry: Entry): boolean {
    const place = entry.idHash & (this.#places.length - 1);
    let before: Entry | undefined;
    let at = this.#places[place];
    while (at !== undefined && at !== entry) {
      before = at;
      at = at.nextOfHash;
    }
    if (at === undefined) return false;
    if (before === undefined) this.#places[place] = entry.nextOfHash;
    else before.nextOfHash = entry.nextOfHash;
    entry.nextOfHash = undefined;
    this.#size -= 1;
    // What a flood left is given back when it is over.
    if (this.#size === 0 && this.#places.length > placesMin * 512) this.#resize(placesMin);
    return true;
  }

  *values(): Generator<Entry> {
    for (const first of this.#places)
      for (let entry = first; entry !== undefined; entry = entry.nextOfHash) yield entry;
  }

  clear(): void {
    this.#size = 0;
    this.#places = new Array(placesMin).fill(undefined);
  }

  #link(entry: Entry): void {
    const place = entry.idHash & (this.#places.length - 1);
    entry.nextOfHash = this.#places[place];
    this.#places[place] = entry;
  }

  #resize(places: number): void {
    const old = this.#places;
    this.#places = new Array(places).fill(undefined);
    for (const first of old) {
      for (let entry = first; entry !== undefined; ) {
        const next: Entry | undefined = entry.nextOfHash;
        this.#link(entry);
        entry = next;
      }
    }
  }
}

/** HalfSipHash-1-3 of bytes from..to: who does not know the secret cannot tell which ids fall together. */
export function hashOf({ first, second }: IdSecret, bytes: Uint8Array, from: number, to: number): number {
  let v0 = first | 0;
  let v1 = second | 0;
  let v2 = first ^ 0x6c796765;
  let v3 = second ^ 0x74656462;
  const lastWord = from + ((to - from) & ~3);
  // A round for each word, and three to finish.
  for (let at = from; at <= lastWord + 12; at += 4) {
    let word = 0;
    if (at < lastWord) word = wordAt(bytes, at);
    else if (at === lastWord) word = tailAt(bytes, at, to) | ((to - from) << 24);
    else if (at === lastWord + 4) v2 ^= 0xff;
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= word;
  }
  // A small integer in V8, which it need not box: 30 bits are more than any table has places.
  return (v1 ^ v3) & 0x3fff_ffff;
}

function wordAt(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) |
    ((bytes[at + 1] as number) << 8) |
    ((bytes[at + 2] as number) << 16) |
    ((bytes[at + 3] as number) << 24)
  );
}

function tailAt(bytes: Uint8Array, at: number, to: number): number {
  let word = 0;
  for (let i = 0; at + i < to; i++) word |= (bytes[at + i] as number) << (8 * i);
  return word;
}

/** Whether `own`, from `ownAt` on, is the bytes from..to. The lengths are the caller's to compare. */
export function areBytes(
  own: Uint8Array,
  ownAt: number,
  bytes: Uint8Array,
  from: number,
  to: number,
): boolean {
  for (let i = from; i < to; i++) if (own[ownAt + i - from] !== bytes[i]) return false;
  return true;
}
