// A map with much traffic and few entries at a time. It consists of two maps: the younger takes new
// entries, and after a while it becomes the older one, whose remaining entries move over. A single
// map would be rebuilt again and again, and each old table would keep the next one alive until the
// old generation is collected.

/**
 * Minimum number of additions before the maps swap. Swapping more often costs more than it saves.
 */
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

  /** The key must not be present. */
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
    // Moving the remaining entries never costs more than the additions since the last swap.
    this.#turnAt = Math.max(turnMin, this.#old.size);
  }
}
