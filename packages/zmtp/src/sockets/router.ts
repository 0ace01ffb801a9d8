// ROUTER: many peers, each addressed by identity or directly. The peer is an argument here instead
// of a first frame.

import type { DroppedFrames } from "../connection.js";
import type { FaultKind } from "../faults.js";
import type { FrameTable } from "../frame-table.js";
import type { OutgoingFrame } from "../streamed-body.js";
import type { IdentityOption, ReceivingHandlers, SocketOptions } from "./options.js";
import type { Peer } from "./peer.js";
import type { SendOutcome } from "./send-queue.js";
import type { WirePeer } from "./wire-peer.js";
import { ZmtpSocket } from "./zmtp-socket.js";

export interface RouterOptions extends SocketOptions, IdentityOption, ReceivingHandlers {
  /**
   * Handling of a second peer with the identity of a connected one. false: it is rejected until the
   * first is gone. true: it takes over the identity, and the first is disconnected; but a peer of
   * another principal is rejected.
   */
  readonly handover?: boolean;
  /**
   * A message of at least 4,096 frames, in memory that may be kept. Without it, it comes through
   * onMessage as a list, which costs an object per frame.
   */
  readonly onTable?: (peer: Peer, frames: FrameTable, dropped?: DroppedFrames) => void;
  /**
   * A whole message of frames of at most 255 bytes, in its wire form: before each frame a byte that
   * is 1, or 0 for the last, and a byte with its length. The bytes belong to the socket and must be
   * read at once. Return false to get it through onMessage. For users with very many messages of
   * small frames, where an object per frame is too expensive.
   */
  readonly onPacked?: (peer: Peer, bytes: Buffer, from: number, to: number) => boolean;
}

export class Router extends ZmtpSocket {
  private readonly byIdentity = new Map<string, WirePeer>();
  private readonly handover: boolean;
  private nextName: number;

  constructor(options: RouterOptions = {}) {
    const { onPacked, onTable } = options;
    super("ROUTER", options, {
      ...(onPacked && { packed: onPacked }),
      ...(onTable && { table: onTable }),
      admit: (peer) => this.admit(peer),
      message: (peer, frames, dropped) => options.onMessage?.(peer, frames, dropped),
      gone: (peer) => this.release(peer),
    });
    this.handover = options.handover ?? false;
    this.nextName = Math.floor(this.hub.settings.clock.random() * 0x1_0000_0000);
  }

  sendTo(peer: Peer, frames: readonly Uint8Array[]): SendOutcome {
    return (peer as WirePeer).send(frames);
  }

  /**
   * A message of which some bodies are fetched while they are written. On "full" and "gone"
   * nothing is pulled or ended.
   */
  sendStreamed(peer: Peer, frames: readonly OutgoingFrame[]): SendOutcome {
    return (peer as WirePeer).sendStreamed(frames);
  }

  /** Sends a message in the form of `onPacked`: the bytes from..to, which are copied. */
  sendPacked(peer: Peer, bytes: Uint8Array, from: number, to: number): SendOutcome {
    return (peer as WirePeer).sendPacked(bytes, from, to);
  }

  /** "gone" if no connected peer has this identity. */
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
    // Another principal must not get the messages that are meant for this one.
    const mayTakeOver = this.handover && holder?.principal === peer.principal;
    if (holder !== undefined && !mayTakeOver) return "identity_taken";
    this.byIdentity.set(key, peer);
    holder?.leave("replaced");
    return undefined;
  }

  /**
   * A zero and four bytes, as libzmq names anonymous peers. A peer cannot choose such an identity
   * itself.
   */
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
