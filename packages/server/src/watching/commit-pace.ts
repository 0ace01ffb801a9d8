// Measures commits, and notices when they take longer than usual: then every acknowledgement waits
// for the disk.

import type { Moment, WallTime } from "@yardmaster/core";
import type { DiskPace } from "./alerts.js";

const spellMs = 10_000;
/** A commit is slow if it takes at least this long, and this many times the usual duration. */
const slowMsMin = 100;
const slowTimes = 5;
/** A commit that takes longer than this is slow, regardless of the others. */
const underWayMsMax = 1_000;
/** The usual duration is the median of this many spells of ten seconds: an hour. */
const spellsMax = 360;

interface Spell {
  readonly startedAt: number;
  count: number;
  sumMs: number;
}

export class CommitPace {
  readonly #usual: number[] = [];
  #spell: Spell = { startedAt: Number.NEGATIVE_INFINITY, count: 0, sumMs: 0 };
  #last: Spell | undefined;
  #slowSince: WallTime | undefined;

  add(ms: number, now: Moment): void {
    if (now.instant - this.#spell.startedAt >= spellMs) this.#endSpell(now.instant);
    this.#spell.count += 1;
    this.#spell.sumMs += ms;
  }

  /** `underWayMs`: duration of the open commit so far; 0 if there is none. */
  slow(now: Moment, underWayMs: number): DiskPace | undefined {
    if (now.instant - this.#spell.startedAt >= spellMs) this.#endSpell(now.instant);
    const recent = this.#spell.count > 0 ? this.#spell : this.#last;
    const meanMs = recent === undefined || recent.count === 0 ? 0 : recent.sumMs / recent.count;
    const commitMs = underWayMs > underWayMsMax ? Math.max(underWayMs, meanMs) : meanMs;
    const usualMs = this.#median();
    // As long as no usual duration is known, only a hanging commit is slow.
    const isUnusual = usualMs === undefined ? underWayMs > underWayMsMax : commitMs >= slowTimes * usualMs;
    const isSlow = commitMs >= slowMsMin && isUnusual;
    if (!isSlow) this.#slowSince = undefined;
    else this.#slowSince ??= Math.round(now.wall - commitMs) as WallTime;
    return this.#slowSince === undefined ? undefined : { commitMs, usualMs, since: this.#slowSince };
  }

  #endSpell(now: number): void {
    const { count, sumMs } = this.#spell;
    this.#last = now - this.#spell.startedAt < 2 * spellMs ? this.#spell : undefined;
    // A slow spell never changes the usual duration, however long it lasts.
    if (count > 0 && this.#slowSince === undefined) {
      this.#usual.push(sumMs / count);
      if (this.#usual.length > spellsMax) this.#usual.shift();
    }
    this.#spell = { startedAt: now, count: 0, sumMs: 0 };
  }

  #median(): number | undefined {
    const sorted = [...this.#usual].sort((one, other) => one - other);
    return sorted[Math.floor(sorted.length / 2)];
  }
}
