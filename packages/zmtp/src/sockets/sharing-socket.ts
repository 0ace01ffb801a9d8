// What DEALER and PUSH share: they send to their peers in turn, or to a given one.

import type { SocketOptions } from "./options.js";
import type { Peer } from "./peer.js";
import type { SendOutcome } from "./send-queue.js";
import { Sharing } from "./sharing.js";
import type { WirePeer } from "./wire-peer.js";
import { ZmtpSocket } from "./zmtp-socket.js";

export abstract class SharingSocket extends ZmtpSocket {
  private readonly sharing: Sharing;

  constructor(
    type: "DEALER" | "PUSH",
    options: SocketOptions,
    message: (peer: WirePeer, frames: Buffer[]) => void,
  ) {
    const sharing = new Sharing();
    super(type, options, {
      admit: (peer) => sharing.add(peer),
      message,
      room: (peer) => sharing.room(peer),
      gone: (peer) => sharing.remove(peer),
    });
    this.sharing = sharing;
  }

  /** Sends to the next peer that has room. */
  send(frames: readonly Uint8Array[]): SendOutcome {
    return this.sharing.send(frames);
  }

  sendTo(peer: Peer, frames: readonly Uint8Array[]): SendOutcome {
    return (peer as WirePeer).send(frames);
  }
}
