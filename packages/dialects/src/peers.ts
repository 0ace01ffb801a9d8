// The peers of a door, by connection or address, and how long each may be silent. A message from a
// peer costs one comparison: its deadline in the heap is corrected only when it comes due.

import { Deadline, Deadlines, type Instant, type Moment, type WallTime, wallOf } from "@yardmaster/core";

/** How long a peer may be silent, and until when. */
export interface PeerSilence {
  readonly limitMs: number;
  readonly silentAt: WallTime;
}

export class Peer<Session> {
  readonly name: string;
  readonly session: Session;
  /** The peer may be silent until then. Undefined if its presence is known by other means. */
  silentAt: Instant | undefined;
  /** How long it may be silent, as of its last message. */
  silenceMs = 0;
  readonly deadline: Deadline<Peer<Session>>;

  constructor(name: string, session: Session) {
    this.name = name;
    this.session = session;
    this.deadline = new Deadline<Peer<Session>>(this);
  }
}

export class Peers<Session> {
  readonly #max: number;
  readonly #peers = new Map<string, Peer<Session>>();
  readonly #deadlines = new Deadlines<Peer<Session>>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#peers.size;
  }

  get(name: string): Peer<Session> | undefined {
    return this.#peers.get(name);
  }

  [Symbol.iterator](): Iterator<Peer<Session>> {
    return this.#peers.values();
  }

  /** Adds a new peer. Returns undefined if there are too many. */
  add(name: string, session: Session): Peer<Session> | undefined {
    if (this.#peers.size >= this.#max) return undefined;
    const peer = new Peer(name, session);
    this.#peers.set(name, peer);
    return peer;
  }

  remove(peer: Peer<Session>): void {
    this.#deadlines.disarm(peer.deadline);
    if (this.#peers.get(peer.name) === peer) this.#peers.delete(peer.name);
  }

  /** The peer gave a sign of life and may now be silent for `silenceMs`. */
  heard(peer: Peer<Session>, now: Moment, silenceMs: number): void {
    const silentAt = (now.instant + silenceMs) as Instant;
    peer.silentAt = silentAt;
    peer.silenceMs = silenceMs;
    if (!peer.deadline.isArmed || silentAt < peer.deadline.at) this.#deadlines.arm(peer.deadline, silentAt);
  }

  /**
   * How long it may be silent, and until when. Undefined while silence does not count against it.
   */
  silenceOf(name: string, now: Moment): PeerSilence | undefined {
    const { silentAt, silenceMs } = this.#peers.get(name) ?? {};
    const at = wallOf(silentAt, now);
    return at === undefined || silenceMs === undefined ? undefined : { limitMs: silenceMs, silentAt: at };
  }

  /**
   * Silence no longer counts against this peer, for example a busy one that sends no heartbeats.
   */
  excuse(peer: Peer<Session>): void {
    peer.silentAt = undefined;
  }

  nextDeadline(): Instant | undefined {
    return this.#deadlines.next();
  }

  /**
   * A peer that was silent for too long; call until it returns undefined. The peer is not removed.
   */
  takeSilent(now: Moment): Peer<Session> | undefined {
    for (;;) {
      const peer = this.#deadlines.takeDue(now.instant)?.subject;
      if (peer === undefined) return undefined;
      if (peer.silentAt === undefined) continue;
      if (peer.silentAt <= now.instant) return peer;
      this.#deadlines.arm(peer.deadline, peer.silentAt);
    }
  }
}
