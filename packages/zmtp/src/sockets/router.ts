// ROUTER: many peers, each addressed by name or by itself. The peer is an argument here, not a first frame.

import type { FaultKind } from "../faults.js";
import type { IdentityOption, ReceivingHandlers, SocketOptions } from "./options.js";
import type { Peer } from "./peer.js";
import type { SendOutcome } from "./send-queue.js";
import type { WirePeer } from "./wire-peer.js";
import { ZmtpSocket } from "./zmtp-socket.js";

export interface RouterOptions extends SocketOptions, IdentityOption, ReceivingHandlers {
  /**
   * What happens to a second peer with the identity of a live one. false: it is turned away, and gets in when the first
   * is gone. true: it takes the identity over and the first is disconnected.
   */
  readonly handover?: boolean;
  /**
   * A whole message of frames of at most 255 bytes, as it came: before each frame a byte that is 1, or 0 before the last,
   * and a byte with its length. The bytes are the socket's, and are to be read at once. False: it comes to onMessage.
   * For who has a great many messages of many small frames, each of which costs an object otherwise.
   */
  readonly onPacked?: (peer: Peer, bytes: Buffer, from: number, to: number) => boolean;
}

export class Router extends ZmtpSocket {
  private readonly byIdentity = new Map<string, WirePeer>();
  private readonly handover: boolean;
  private nextName: number;

  constructor(options: RouterOptions = {}) {
    const { onPacked } = options;
    super("ROUTER", options, {
      ...(onPacked && { packed: onPacked }),
      admit: (peer) => this.admit(peer),
      message: (peer, frames) => options.onMessage?.(peer, frames),
      gone: (peer) => this.release(peer),
    });
    this.handover = options.handover ?? false;
    this.nextName = Math.floor(this.hub.settings.clock.random() * 0x1_0000_0000);
  }

  sendTo(peer: Peer, frames: readonly Uint8Array[]): SendOutcome {
    return (peer as WirePeer).send(frames);
  }

  /** A message as `onPacked` has it: the bytes from..to, which are copied. */
  sendPacked(peer: Peer, bytes: Uint8Array, from: number, to: number): SendOutcome {
    return (peer as WirePeer).sendPacked(bytes, from, to);
  }

  /** "gone" where nobody has this identity now. */
  sendToIdentity(identity: string | Uint8Array, frames: readonly Uint8Array[]): SendOutcome {
    return this.byIdentity.get(keyOf(identity))?.send(frames) ?? "gone";
  }

  find(identity: string | Uint8Array): Peer | undefined {
    return this.byIdentity.get(keyOf(identity));
  }

  private admit(peer: WirePeer): FaultKind | undefined {
    if (peer.identity.length === 0) peer.identity = this.makeName();
    else if (peer.identity[0] === 0) return "bad_identity";
    const key = keyOf(peer.identity);
    const holder = this.byIdentity.get(key);
    if (holder !== undefined && !this.handover) return "identity_taken";
    this.byIdentity.set(key, peer);
    holder?.leave("replaced");
    return undefined;
  }

  /** Zero and four bytes, as libzmq names the nameless: no peer may choose such a name itself. */
  private makeName(): Buffer {
    const name = Buffer.allocUnsafeSlow(5);
    do {
      name[0] = 0;
      name.writeUInt32BE(this.nextName, 1);
      this.nextName = (this.nextName + 1) >>> 0;
    } while (this.byIdentity.has(keyOf(name)));
    return name;
  }

  private release(peer: WirePeer): void {
    const key = keyOf(peer.identity);
    if (this.byIdentity.get(key) === peer) this.byIdentity.delete(key);
  }
}

function keyOf(identity: string | Uint8Array): string {
  const bytes = Buffer.isBuffer(identity) ? identity : Buffer.from(identity as Uint8Array);
  return bytes.toString("latin1");
}
