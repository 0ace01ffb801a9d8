// REP: takes requests and returns each answer along the path of its request [28/REQREP]. Unlike
// libzmq's, it accepts several requests at once: each peer has a queue of envelopes, and its
// answers leave in the order of its requests.

import type { ReceivingHandlers, SocketOptions } from "./options.js";
import type { Peer } from "./peer.js";
import type { SendOutcome } from "./send-queue.js";
import type { WirePeer } from "./wire-peer.js";
import { ZmtpSocket } from "./zmtp-socket.js";

export interface RepOptions extends SocketOptions, ReceivingHandlers {}

export class Rep extends ZmtpSocket {
  /** The frames up to and including the delimiter of every unanswered request, oldest first. */
  private readonly open = new Map<WirePeer, Buffer[][]>();
  /** Peers that are not read because they have too many unanswered requests. */
  private readonly held = new Set<WirePeer>();
  private readonly onRequest: NonNullable<ReceivingHandlers["onMessage"]>;

  constructor(options: RepOptions = {}) {
    super("REP", options, {
      message: (peer, frames) => this.receive(peer, frames),
      gone: (peer) => {
        this.open.delete(peer);
        this.held.delete(peer);
      },
    });
    this.onRequest = (peer, frames) => options.onMessage?.(peer, frames);
  }

  /** Answers the oldest open request of this peer; "unasked" if there is none. */
  sendTo(peer: Peer, frames: readonly Uint8Array[]): SendOutcome | "unasked" {
    const asker = peer as WirePeer;
    const envelopes = this.open.get(asker);
    if (envelopes?.[0] === undefined) return asker.isOpen ? "unasked" : "gone";
    const outcome = asker.send([...envelopes[0], ...frames]);
    if (outcome === "full") return outcome;
    envelopes.shift();
    if (envelopes.length === 0) this.open.delete(asker);
    if (envelopes.length * 2 <= this.hub.limits.openRequestsMax && this.held.delete(asker)) asker.resume();
    return outcome;
  }

  private receive(peer: WirePeer, frames: Buffer[]): void {
    const end = frames.findIndex((frame) => frame.length === 0);
    if (end < 0 || end === frames.length - 1) {
      peer.fail("bad_envelope");
      return;
    }
    const envelopes = this.open.get(peer) ?? [];
    if (envelopes.length === 0) this.open.set(peer, envelopes);
    envelopes.push(frames.slice(0, end + 1));
    if (envelopes.length >= this.hub.limits.openRequestsMax) {
      this.held.add(peer);
      peer.pause();
    }
    this.onRequest(peer, frames.slice(end + 1));
  }
}
