// PUSH: sends to its peers in turn, or to a given one.

import type { IdentityOption, SocketOptions } from "./options.js";
import { SharingSocket } from "./sharing-socket.js";

/**
 * An identity tells the other end which connections belong to one program. libzmq neither sends nor
 * reads one here.
 */
export interface PushOptions extends SocketOptions, IdentityOption {}

export class Push extends SharingSocket {
  constructor(options: PushOptions = {}) {
    super("PUSH", options, (peer) => peer.fail("unexpected_message"));
  }
}
