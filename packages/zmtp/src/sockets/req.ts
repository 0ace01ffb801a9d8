// REQ: one request, then its reply. Adds and removes the empty delimiter [28/REQREP].

import type { IdentityOption, ReceivingHandlers, SocketOptions } from "./options.js";
import type { SendOutcome } from "./send-queue.js";
import { Sharing } from "./sharing.js";
import type { WirePeer } from "./wire-peer.js";
import { ZmtpSocket } from "./zmtp-socket.js";

export interface ReqOptions extends SocketOptions, IdentityOption, ReceivingHandlers {}

const delimiter = Buffer.alloc(0);

export class Req extends ZmtpSocket {
  private readonly sharing: Sharing;
  /** The peer that owes us a reply. */
  private asked: WirePeer | undefined;
  private readonly onReply: NonNullable<ReceivingHandlers["onMessage"]>;

  constructor(options: ReqOptions = {}) {
    const sharing = new Sharing();
    super("REQ", options, {
      admit: (peer) => sharing.add(peer),
      message: (peer, frames) => this.receive(peer, frames),
      room: (peer) => sharing.room(peer),
      gone: (peer) => {
        sharing.remove(peer);
        if (this.asked === peer) this.asked = undefined;
      },
    });
    this.sharing = sharing;
    this.onReply = (peer, frames) => options.onMessage?.(peer, frames);
  }

  get isWaiting(): boolean {
    return this.asked !== undefined;
  }

  /**
   * "busy" while a reply is outstanding. If its peer goes, no reply will come: onPeerGone is
   * called, and the next request may be sent.
   */
  send(frames: readonly Uint8Array[]): SendOutcome | "busy" {
    if (this.asked !== undefined) return "busy";
    const outcome = this.sharing.send([delimiter, ...frames]);
    if (outcome === "sent" || outcome === "queued") this.asked = this.sharing.chosen;
    return outcome;
  }

  /**
   * Stops waiting for the reply. The peer is disconnected, so that a late reply cannot answer the
   * next request.
   */
  abandon(): void {
    const { asked } = this;
    this.asked = undefined;
    asked?.leave("disconnected");
  }

  private receive(peer: WirePeer, frames: Buffer[]): void {
    if (peer !== this.asked) {
      peer.fail("unexpected_message");
      return;
    }
    if (frames.length < 2 || frames[0]?.length !== 0) {
      peer.fail("bad_envelope");
      return;
    }
    this.asked = undefined;
    frames.shift();
    this.onReply(peer, frames);
  }
}
