// What peers do wrong: every fault is counted by kind, and logged at most once per kind, peer and minute, so that one bad
// peer fills neither the log nor the memory.

import type { Instant, Moment } from "@yardmaster/core";

const quietMs = 60_000;
/** Beyond this many peers at fault within a minute only the kind counts for the log. */
const loggedMax = 10_000;

export type LogFault = (kind: string, peer: string, detail: string) => void;

export class Faults {
  readonly #log: LogFault;
  readonly #counts = new Map<string, number>();
  readonly #logged = new Set<string>();
  #quietUntil = 0 as Instant;

  constructor(log: LogFault) {
    this.#log = log;
  }

  /** Counts a fault. `kind` is one of a fixed few: it becomes a label of a metric. */
  add(kind: string, peer: string, now: Moment, detail = ""): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
    if (now.instant >= this.#quietUntil) {
      this.#logged.clear();
      this.#quietUntil = (now.instant + quietMs) as Instant;
    }
    const key = this.#logged.size < loggedMax ? `${kind} ${peer}` : kind;
    if (this.#logged.has(key)) return;
    this.#logged.add(key);
    this.#log(kind, peer, detail);
  }

  count(kind: string): number {
    return this.#counts.get(kind) ?? 0;
  }

  entries(): IterableIterator<[kind: string, count: number]> {
    return this.#counts.entries();
  }
}
