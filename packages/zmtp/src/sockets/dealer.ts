// DEALER: sends to its peers in turn, or to one of them, and receives from all.

import type { IdentityOption, ReceivingHandlers, SocketOptions } from "./options.js";
import type { Peer } from "./peer.js";
import type { SendOutcome } from "./send-queue.js";
import { Sharing } from "./sharing.js";
import type { WirePeer } from "./wire-peer.js";
import { ZmtpSocket } from "./zmtp-socket.js";

export interface DealerOptions extends SocketOptions, IdentityOption, ReceivingHandlers {}

export class Dealer extends ZmtpSocket {
  private readonly sharing: Sharing;

  constructor(options: DealerOptions = {}) {
    const sharing = new Sharing();
    super("DEALER", options, {
      admit: (peer) => sharing.add(peer),
      message: (peer, frames) => options.onMessage?.(peer, frames),
      room: (peer) => sharing.room(peer),
      gone: (peer) => sharing.remove(peer),
    });
    this.sharing = sharing;
  }

  /** To the next peer that has room. */
  send(frames: readonly Uint8Array[]): SendOutcome {
    return this.sharing.send(frames);
  }

  sendTo(peer: Peer, frames: readonly Uint8Array[]): SendOutcome {
    return (peer as WirePeer).send(frames);
  }
}
