// Counts a few properties of tasks, so that failed ones can be compared with done ones. Bounded:
// rare values share one count, and old counts fade.

import type { SeenAttempt, SeenTask } from "@yardmaster/core";

/** Maximum number of values of one property. */
const valuesMax = 64;
const others = "(others)";
/** At this many tasks all counts are halved, so that old ones weigh less. */
const tasksMax = 20_000;

export const properties = ["worker", "door", "payload", "attempt", "contentType"] as const;
export type Property = (typeof properties)[number];

export class Profile {
  count = 0;
  readonly #values: ReadonlyMap<Property, Map<string, number>> = new Map(
    properties.map((property) => [property, new Map<string, number>()]),
  );

  /** `isDone`: a failure or loss that ended it is counted in the task already. */
  add(task: SeenTask, by: SeenAttempt | undefined, isDone: boolean): void {
    if (this.count >= tasksMax) this.#fade();
    this.count += 1;
    const { head } = task;
    if (by !== undefined) this.#count("worker", by.workerId);
    this.#count("door", head.door);
    this.#count("payload", sizeClass(head.payload.size));
    this.#count("attempt", tryClass(task.losses + task.failures + (isDone ? 1 : 0)));
    this.#count("contentType", head.payload.mediaType);
  }

  values(property: Property): ReadonlyMap<string, number> {
    return this.#values.get(property) as ReadonlyMap<string, number>;
  }

  /** The share of tasks that have this value. */
  share(property: Property, value: string): number {
    return this.count === 0 ? 0 : (this.values(property).get(value) ?? 0) / this.count;
  }

  /** The most frequent value and its count. */
  most(property: Property): { readonly value: string; readonly count: number } | undefined {
    let most: { value: string; count: number } | undefined;
    for (const [value, count] of this.values(property)) {
      if (value !== others && (most === undefined || count > most.count)) most = { value, count };
    }
    return most;
  }

  #count(property: Property, value: string): void {
    const values = this.#values.get(property) as Map<string, number>;
    const name = values.has(value) || values.size < valuesMax ? value : others;
    values.set(name, (values.get(name) ?? 0) + 1);
  }

  #fade(): void {
    this.count = Math.floor(this.count / 2);
    for (const values of this.#values.values()) {
      for (const [value, count] of values) {
        if (count < 2) values.delete(value);
        else values.set(value, Math.floor(count / 2));
      }
    }
  }
}

function sizeClass(bytes: number): string {
  if (bytes < 1_000) return "under 1 KB";
  if (bytes < 10_000) return "1 KB to 10 KB";
  if (bytes < 100_000) return "10 KB to 100 KB";
  return bytes < 1_000_000 ? "100 KB to 1 MB" : "more than 1 MB";
}

function tryClass(tries: number): string {
  const attempt = Math.max(1, tries);
  return attempt < 4 ? String(attempt) : "4 or more";
}

export interface Share {
  readonly of: Property;
  readonly value: string;
  readonly count: number;
  readonly total: number;
  /** The share of done tasks with the same value. */
  readonly doneShare: number;
}

/** A property is telling if most of these tasks have its value and few done tasks do. */
const shareMin = 0.5;
const differenceMin = 0.25;
const sharesMax = 3;
/** With fewer done tasks there is nothing to compare with. */
const comparedMin = 10;

/** The properties in which these tasks differ most from done ones. */
export function differences(these: Profile, done: Profile | undefined): readonly Share[] {
  if (done === undefined || done.count < comparedMin || these.count < 2) return [];
  const found: (Share & { readonly by: number })[] = [];
  for (const of of properties) {
    const most = these.most(of);
    if (most === undefined) continue;
    const doneShare = done.share(of, most.value);
    const by = these.share(of, most.value) - doneShare;
    if (these.share(of, most.value) < shareMin || by < differenceMin) continue;
    found.push({ of, value: most.value, count: most.count, total: these.count, doneShare, by });
  }
  found.sort((one, other) => other.by - one.by);
  return found.slice(0, sharesMax).map(({ by: _, ...share }) => share);
}
