// PULL: receives from all its peers and sends nothing.

import type { ReceivingHandlers, SocketOptions } from "./options.js";
import { ZmtpSocket } from "./zmtp-socket.js";

export interface PullOptions extends SocketOptions, ReceivingHandlers {}

export class Pull extends ZmtpSocket {
  constructor(options: PullOptions = {}) {
    super("PULL", options, { message: (peer, frames) => options.onMessage?.(peer, frames) });
  }
}
