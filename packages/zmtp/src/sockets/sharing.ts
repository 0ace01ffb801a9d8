// Sending to the next peer in turn: what DEALER, PUSH and REQ have in common.

import { RoundRobin } from "./round-robin.js";
import type { SendOutcome } from "./send-queue.js";
import type { WirePeer } from "./wire-peer.js";

export class Sharing {
  private readonly turns = new RoundRobin<WirePeer>();
  /** The receiver of the last message. */
  chosen: WirePeer | undefined;

  /**
   * "full" if every peer is at its high-water mark, "gone" if there is none. Nothing is queued for
   * future peers.
   */
  send(frames: readonly Uint8Array[]): SendOutcome {
    for (let peer = this.turns.next(); peer !== undefined; peer = this.turns.next()) {
      const outcome = peer.send(frames);
      if (outcome === "sent" || outcome === "queued") {
        this.chosen = peer;
        return outcome;
      }
      this.turns.markFull(peer);
    }
    return this.turns.size > 0 ? "full" : "gone";
  }

  add(peer: WirePeer): undefined {
    this.turns.add(peer);
    return undefined;
  }

  room(peer: WirePeer): void {
    if (peer.slot >= 0) this.turns.markReady(peer);
  }

  remove(peer: WirePeer): void {
    this.turns.remove(peer);
  }
}
