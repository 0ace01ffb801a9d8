// A hash table of tasks or objects by id, where the id is any bytes that a peer chose. Lookups use
// the bytes in the read buffer, so they allocate nothing. Entries are linked through their own
// fields, so an entry costs nothing extra. A `Map` with string keys would allocate a string per
// lookup. Under heavy turnover V8 also rebuilds it often, which keeps deleted entries alive.

/** 64 secret bits. Without them a peer could choose ids that all fall into one slot. */
export interface IdSecret {
  readonly first: number;
  readonly second: number;
}

export interface Identified<Self> {
  /** The hash of its id, from `hashOf`. */
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

  /** The entry whose id equals the bytes from..to, which must hash to `hash`. */
  get(hash: number, bytes: Uint8Array, from: number, to: number): Entry | undefined {
    let entry = this.#places[hash & (this.#places.length - 1)];
    while (entry !== undefined && (entry.idHash !== hash || !entry.hasId(bytes, from, to)))
      entry = entry.nextOfHash;
    return entry;
  }

  /** Adds an entry whose id is not in the table. */
  add(entry: Entry): void {
    if (this.#size >= this.#places.length) this.#resize(this.#places.length * 4);
    this.#link(entry);
    this.#size += 1;
  }

  /** Returns false if the entry is not in the table. */
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
    // Frees the memory of a large table when it becomes empty.
    if (this.#size === 0 && this.#places.length > placesMin * 512) this.#resize(placesMin);
    return true;
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

/** HalfSipHash-1-3 of the bytes from..to. Without the secret, collisions cannot be predicted. */
export function hashOf({ first, second }: IdSecret, bytes: Uint8Array, from: number, to: number): number {
  let v0 = first | 0;
  let v1 = second | 0;
  let v2 = first ^ 0x6c796765;
  let v3 = second ^ 0x74656462;
  const lastWord = from + ((to - from) & ~3);
  // One round per word, then three final rounds.
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
  // 30 bits fit V8's small integers, so the value is not boxed. No table has more slots than that.
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

/** True if `own`, from `ownAt` on, equals the bytes from..to. The caller compares the lengths. */
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
