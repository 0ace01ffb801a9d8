// Finds the least loaded worker. Entries lie in buckets by load, each in order of arrival, so the
// first of the lowest bucket is the least recently used of the least loaded. Entries move one
// bucket at a time, so both ends are found by stepping.

export class LoadEntry<Subject> {
  readonly subject: Subject;
  load = 0;
  /** Rises with every entry into any bucket, so that entries of two orders can be compared. */
  stamp = 0;
  order: LoadOrder<Subject> | undefined = undefined;
  previous: LoadEntry<Subject> | undefined = undefined;
  next: LoadEntry<Subject> | undefined = undefined;

  constructor(subject: Subject) {
    this.subject = subject;
  }
}

class Bucket<Subject> {
  first: LoadEntry<Subject> | undefined = undefined;
  last: LoadEntry<Subject> | undefined = undefined;
}

export class LoadOrder<Subject> {
  readonly #buckets: (Bucket<Subject> | undefined)[] = [];
  #size = 0;
  /** Bounds: no entry has a load below the first or above the second. */
  #lowest = 0;
  #highest = 0;

  get size(): number {
    return this.#size;
  }

  add(entry: LoadEntry<Subject>, load: number, stamp: number): void {
    let bucket = this.#buckets[load];
    if (bucket === undefined) {
      for (let index = this.#buckets.length; index < load; index += 1) this.#buckets.push(undefined);
      bucket = new Bucket<Subject>();
      this.#buckets[load] = bucket;
    }
    entry.load = load;
    entry.stamp = stamp;
    entry.order = this;
    entry.previous = bucket.last;
    if (bucket.last === undefined) bucket.first = entry;
    else bucket.last.next = entry;
    bucket.last = entry;
    if (this.#size === 0 || load < this.#lowest) this.#lowest = load;
    if (this.#size === 0 || load > this.#highest) this.#highest = load;
    this.#size += 1;
  }

  remove(entry: LoadEntry<Subject>): void {
    const bucket = this.#buckets[entry.load] as Bucket<Subject>;
    if (entry.previous === undefined) bucket.first = entry.next;
    else entry.previous.next = entry.next;
    if (entry.next === undefined) bucket.last = entry.previous;
    else entry.next.previous = entry.previous;
    entry.previous = undefined;
    entry.next = undefined;
    entry.order = undefined;
    this.#size -= 1;
  }

  /** The least recently used of the least loaded. */
  lowest(): LoadEntry<Subject> | undefined {
    if (this.#size === 0) return undefined;
    while (this.#buckets[this.#lowest]?.first === undefined) this.#lowest += 1;
    return this.#buckets[this.#lowest]?.first;
  }

  /** The next entry in order of rising load. */
  after(entry: LoadEntry<Subject>): LoadEntry<Subject> | undefined {
    if (entry.next !== undefined) return entry.next;
    for (let load = entry.load + 1; load <= this.#highest; load += 1) {
      const first = this.#buckets[load]?.first;
      if (first !== undefined) return first;
    }
    return undefined;
  }

  highest(): LoadEntry<Subject> | undefined {
    if (this.#size === 0) return undefined;
    while (this.#buckets[this.#highest]?.last === undefined) this.#highest -= 1;
    return this.#buckets[this.#highest]?.last;
  }

  /** The next entry in order of falling load. */
  before(entry: LoadEntry<Subject>): LoadEntry<Subject> | undefined {
    if (entry.previous !== undefined) return entry.previous;
    for (let load = entry.load - 1; load >= 0; load -= 1) {
      const last = this.#buckets[load]?.last;
      if (last !== undefined) return last;
    }
    return undefined;
  }
}
