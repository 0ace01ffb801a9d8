// The peers of a door, by connection or address, and how long each may be silent. Hearing from a peer costs a comparison:
// the deadline in the heap is moved only when it comes due and turns out to be too early.

import { Deadline, Deadlines, type Instant, type Moment } from "@yardmaster/core";

export class Peer<Session> {
  readonly name: string;
  readonly session: Session;
  /** May be silent until then; undefined for one that is known to be there by other means. */
  silentAt: Instant | undefined;
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

  /** Adds a peer that is not there yet; undefined when there are too many. */
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

  /** The peer gave a sign of life, and may now be silent for so long. */
  heard(peer: Peer<Session>, now: Moment, silenceMs: number): void {
    const silentAt = (now.instant + silenceMs) as Instant;
    peer.silentAt = silentAt;
    if (!peer.deadline.isArmed || silentAt < peer.deadline.at) this.#deadlines.arm(peer.deadline, silentAt);
  }

  /** Silence no longer counts against this peer: a busy one that does not beat, say. */
  excuse(peer: Peer<Session>): void {
    peer.silentAt = undefined;
  }

  nextDeadline(): Instant | undefined {
    return this.#deadlines.next();
  }

  /** One that has been silent for too long; call until undefined. It is still among the peers. */
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
