// SUB: receives the messages it subscribed to. The publisher filters; messages it sent before it
// learned of a cancellation are dropped here [29/PUBSUB].

import { encodeCommand } from "../commands.js";
import { PrefixTrie } from "../prefix-trie.js";
import type { IdentityOption, ReceivingHandlers, SocketOptions } from "./options.js";
import type { WirePeer } from "./wire-peer.js";
import { ZmtpSocket } from "./zmtp-socket.js";

/**
 * An identity tells the other end which connections belong to one program. libzmq neither sends nor
 * reads one here.
 */
export interface SubOptions extends SocketOptions, ReceivingHandlers, IdentityOption {}

export class Sub extends ZmtpSocket {
  private readonly counts = new Map<string, number>();
  private readonly trie = new PrefixTrie<Sub>();
  private readonly onMessage: NonNullable<ReceivingHandlers["onMessage"]>;
  private isMatched = false;

  constructor(options: SubOptions = {}) {
    super("SUB", options, {
      admit: (peer) => this.greet(peer),
      message: (peer, frames) => this.receive(peer, frames),
    });
    this.onMessage = (peer, frames) => options.onMessage?.(peer, frames);
  }

  /**
   * Subscribes to messages whose first frame begins with `prefix`; an empty prefix means all.
   * Applies to current and future peers.
   */
  subscribe(prefix: string | Uint8Array): void {
    const bytes = Buffer.from(prefix as Uint8Array);
    const key = bytes.toString("latin1");
    const count = this.counts.get(key) ?? 0;
    this.counts.set(key, count + 1);
    if (count > 0) return;
    this.trie.add(bytes, this);
    for (const peer of this.hub.peers) if (peer.isOpen) tell(peer, bytes, true);
  }

  /** Undoes one subscribe(). */
  unsubscribe(prefix: string | Uint8Array): void {
    const bytes = Buffer.from(prefix as Uint8Array);
    const key = bytes.toString("latin1");
    const count = this.counts.get(key) ?? 0;
    if (count > 1) this.counts.set(key, count - 1);
    if (count !== 1) return;
    this.counts.delete(key);
    this.trie.remove(bytes, this);
    for (const peer of this.hub.peers) if (peer.isOpen) tell(peer, bytes, false);
  }

  private greet(peer: WirePeer): undefined {
    for (const key of this.counts.keys()) tell(peer, Buffer.from(key, "latin1"), true);
    return undefined;
  }

  private receive(peer: WirePeer, frames: Buffer[]): void {
    this.isMatched = false;
    this.trie.match(frames[0] as Buffer, this.noteMatch);
    if (this.isMatched) this.onMessage(peer, frames);
  }

  private readonly noteMatch = (): void => {
    this.isMatched = true;
  };
}

/** 3.1 has commands for this, 3.0 a message that begins with 1 or 0 [37/ZMTP, 23/ZMTP]. */
function tell(peer: WirePeer, prefix: Buffer, isWanted: boolean): void {
  if (peer.version === "3.1") peer.sendCommand(encodeCommand(isWanted ? "SUBSCRIBE" : "CANCEL", prefix));
  else peer.send([Buffer.concat([Buffer.of(isWanted ? 1 : 0), prefix])]);
}
