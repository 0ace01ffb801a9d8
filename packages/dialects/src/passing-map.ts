// A map of what comes and goes: much goes through it, and little is in it at a time. It is two maps, of which the younger
// takes what comes; after a while it becomes the older one, and what is still in that moves over. A single one would be
// made anew time and again, and each old table keeps the next alive, with all that was in it, until the old generation is
// collected.

/** How many come before the maps change places, at least: fewer cost more than they save. */
const turnMin = 1_024;

export class PassingMap<Key, Value> {
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();
  #turnAt = turnMin;
  #came = 0;

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  get(key: Key): Value | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  /** Only of one that is not here. */
  add(key: Key, value: Value): void {
    if (this.#came >= this.#turnAt) this.#turn();
    this.#came += 1;
    this.#young.set(key, value);
  }

  delete(key: Key): boolean {
    return this.#young.delete(key) || this.#old.delete(key);
  }

  #turn(): void {
    for (const [key, value] of this.#old) this.#young.set(key, value);
    this.#old = this.#young;
    this.#young = new Map();
    this.#came = 0;
    // However much stays, moving it costs no more than what came.
    this.#turnAt = Math.max(turnMin, this.#old.size);
  }
}
