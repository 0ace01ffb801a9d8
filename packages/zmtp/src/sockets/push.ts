// PUSH: sends to its peers in turn, or to the one its user chooses.

import type { IdentityOption, SocketOptions } from "./options.js";
import type { Peer } from "./peer.js";
import type { SendOutcome } from "./send-queue.js";
import { Sharing } from "./sharing.js";
import type { WirePeer } from "./wire-peer.js";
import { ZmtpSocket } from "./zmtp-socket.js";

/** An identity tells the other end which of its connections are of one program; libzmq neither sends nor reads one here. */
export interface PushOptions extends SocketOptions, IdentityOption {}

export class Push extends ZmtpSocket {
  private readonly sharing: Sharing;

  constructor(options: PushOptions = {}) {
    const sharing = new Sharing();
    super("PUSH", options, {
      admit: (peer) => sharing.add(peer),
      message: (peer) => peer.fail("unexpected_message"),
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
