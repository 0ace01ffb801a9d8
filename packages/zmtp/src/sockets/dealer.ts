// DEALER: sends to its peers in turn, or to a given one, and receives from all.

import type { IdentityOption, ReceivingHandlers, SocketOptions } from "./options.js";
import { SharingSocket } from "./sharing-socket.js";

export interface DealerOptions extends SocketOptions, IdentityOption, ReceivingHandlers {}

export class Dealer extends SharingSocket {
  constructor(options: DealerOptions = {}) {
    super("DEALER", options, (peer, frames) => options.onMessage?.(peer, frames));
  }
}
