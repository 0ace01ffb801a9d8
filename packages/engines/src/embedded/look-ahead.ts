// Groups of batches that the store was sent and has not taken over. They show which tasks of the
// earlier groups are about to settle.

import type { Batch } from "../durable/batches.js";

/** Most tasks that outlive their own group settle within the next two groups. */
const groupsAhead = 2;

export interface ReadyGroups {
  /** The groups to take over now, in order. */
  readonly ready: readonly (readonly Batch[])[];
  /** The later batches that are known. */
  readonly next: readonly Batch[];
}

export class LookAhead {
  #kept: (readonly Batch[])[] = [];

  /** `isAll`: take over everything, including this group. */
  take(group: readonly Batch[] | undefined, isAll: boolean): ReadyGroups {
    if (group !== undefined) this.#kept.push(group);
    const count = isAll ? this.#kept.length : Math.max(0, this.#kept.length - groupsAhead);
    const ready = this.#kept.splice(0, count);
    return { ready, next: this.#kept.flat() };
  }
}
