// Peers that are not read for a moment because there is no room for their requests. TCP slows them
// down, and they are tried again.

import { after, Deadline, Deadlines, type Instant, type Moment } from "@yardmaster/core";

/**
 * Short enough not to annoy a person, long compared with the cost of finding the queue still full.
 */
const pauseMs = 100;

export class PausedPeers<Peer> {
  readonly #resume: (peer: Peer) => void;
  readonly #paused = new Map<Peer, Deadline<Peer>>();
  readonly #deadlines = new Deadlines<Peer>();

  constructor(resume: (peer: Peer) => void) {
    this.#resume = resume;
  }

  /** Pauses the peer until `resume` is called or this time has passed. */
  add(peer: Peer, now: Moment, ms = pauseMs): void {
    const deadline = this.#paused.get(peer) ?? new Deadline(peer);
    this.#paused.set(peer, deadline);
    this.#deadlines.arm(deadline, after(now.instant, ms));
  }

  /** Removes a peer that is gone. Returns false if it was not paused. */
  drop(peer: Peer): boolean {
    const deadline = this.#paused.get(peer);
    if (deadline === undefined) return false;
    this.#paused.delete(peer);
    this.#deadlines.disarm(deadline);
    return true;
  }

  /** Ends the pause early. */
  resume(peer: Peer): void {
    if (this.drop(peer)) this.#resume(peer);
  }

  nextDeadline(): Instant | undefined {
    return this.#deadlines.next();
  }

  handleTimeout(now: Moment): void {
    for (;;) {
      const peer = this.#deadlines.takeDue(now.instant)?.subject;
      if (peer === undefined) return;
      this.#paused.delete(peer);
      this.#resume(peer);
    }
  }
}
