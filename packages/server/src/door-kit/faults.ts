// Counts peers' mistakes by kind, and logs each kind at most once per peer and minute. So one bad
// peer fills neither the log nor the memory, even if it keeps coming back under new ports.

import { type Instant, type Moment, SlidingCount, type WallTime } from "@yardmaster/core";

const quietMs = 60_000;
/**
 * If more peers than this make mistakes within a minute, each kind is logged once for all of them.
 */
const loggedMax = 1_000;
/**
 * Maximum number of peers of one host that are logged for each kind in a minute. A ZeroMQ peer that
 * is disconnected for its mistake connects again under a new port, several times a second.
 */
const loggedOfHostMax = 10;

/**
 * Number of peers whose recent mistakes are counted separately. Those of other peers are counted
 * only by kind.
 */
const peersMax = 1_000;
const recentMs = 600_000;
const hourMs = 3_600_000;

interface PeerFaults {
  readonly kind: string;
  readonly peer: string;
  since: WallTime;
  lastAt: Instant;
  readonly count: SlidingCount;
}

export type LogFault = (kind: string, peer: string, detail: string) => void;

export class Faults {
  readonly #log: LogFault;
  readonly #now: () => Moment;
  readonly #counts = new Map<string, number>();
  readonly #hours = new Map<string, SlidingCount>();
  readonly #peers = new Map<string, PeerFaults>();
  readonly #logged = new Set<string>();
  /** Number of lines of this minute by kind and host. */
  readonly #lines = new Map<string, number>();
  #quietUntil = 0 as Instant;
  #forgotAt = Number.NEGATIVE_INFINITY;

  constructor(log: LogFault, now: () => Moment) {
    this.#log = log;
    this.#now = now;
  }

  /** Counts a fault. `kind` must be from a small fixed set, because it becomes a metric label. */
  add(kind: string, peer: string, detail = ""): void {
    const now = this.#now();
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
    this.#countHour(kind, now.instant);
    const host = hostOf(peer);
    this.#countPeer(kind, host, now);
    if (now.instant >= this.#quietUntil) {
      this.#logged.clear();
      this.#lines.clear();
      this.#quietUntil = (now.instant + quietMs) as Instant;
    }
    if (this.#isLogged(kind, peer, host)) this.#log(kind, peer, detail);
  }

  /** Decides whether to log this fault, and remembers it. */
  #isLogged(kind: string, peer: string, host: string): boolean {
    const key = this.#logged.size < loggedMax ? `${kind} ${peer}` : kind;
    if (this.#logged.has(key)) return false;
    const ofHost = `${kind} ${host}`;
    const lines = this.#lines.get(ofHost) ?? 0;
    if (lines >= loggedOfHostMax) return false;
    this.#lines.set(ofHost, lines + 1);
    this.#logged.add(key);
    return true;
  }

  count(kind: string): number {
    return this.#counts.get(kind) ?? 0;
  }

  /** Faults of this kind in the last hour. */
  lastHour(kind: string, now: Instant): number {
    return this.#hours.get(kind)?.count(now) ?? 0;
  }

  /** Peers' mistakes in the last ten minutes, by kind and host. */
  *recent(now: Instant): Generator<{ kind: string; peer: string; count: number; since: WallTime }> {
    for (const { kind, peer, count, since, lastAt } of this.#peers.values()) {
      if (now - lastAt <= recentMs) yield { kind, peer, count: Math.round(count.count(now)), since };
    }
  }

  #countHour(kind: string, now: Instant): void {
    let count = this.#hours.get(kind);
    if (count === undefined) {
      count = new SlidingCount(hourMs);
      this.#hours.set(kind, count);
    }
    count.add(now);
  }

  #countPeer(kind: string, peer: string, { instant, wall }: Moment): void {
    const key = `${kind} ${peer}`;
    let faults = this.#peers.get(key);
    if (faults === undefined) {
      if (this.#peers.size >= peersMax) this.#forgetQuiet(instant);
      if (this.#peers.size >= peersMax) return;
      faults = { kind, peer, since: wall, lastAt: instant, count: new SlidingCount(recentMs) };
      this.#peers.set(key, faults);
    }
    if (instant - faults.lastAt > recentMs) faults.since = wall;
    faults.lastAt = instant;
    faults.count.add(instant);
  }

  #forgetQuiet(now: Instant): void {
    if (this.#forgotAt + quietMs > now) return;
    this.#forgotAt = now;
    for (const [key, { lastAt }] of this.#peers) if (now - lastAt > recentMs) this.#peers.delete(key);
  }

  entries(): IterableIterator<[kind: string, count: number]> {
    return this.#counts.entries();
  }
}

/**
 * One host may use many ports within a minute. A peer name that is not an address is returned
 * unchanged.
 */
function hostOf(peer: string): string {
  return peer.replace(/^\[?([^\]]+?)\]?:\d{1,5}$/, "$1");
}
