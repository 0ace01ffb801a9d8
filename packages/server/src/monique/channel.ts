// One of the door's two channels: a PULL to which components push everything, and a PUB that they all hear.

import type { Instant, Moment } from "@yardmaster/core";
import type { Limits, Peer } from "@yardmaster/zmtp";
import { PausedPeers } from "../door-kit/paused-peers.js";
import { bindSocket } from "../door-kit/zmq.js";
import type { ListenAddress } from "../listen-address.js";
import type { DoorPub, DoorPull, MoniqueSockets } from "./sockets.js";

export interface ChannelOptions {
  readonly sockets: MoniqueSockets;
  readonly limits: Partial<Limits>;
  readonly onMessage: (peer: Peer, frames: Buffer[]) => void;
  readonly onFault: (peer: Peer | undefined, kind: string) => void;
}

export class Channel {
  readonly #in: DoorPull;
  readonly #out: DoorPub;
  readonly #senders = new Set<Peer>();
  readonly #paused: PausedPeers<Peer>;

  constructor({ sockets, limits, onMessage, onFault }: ChannelOptions) {
    this.#in = sockets.pull({
      limits,
      onFault,
      onMessage,
      onPeer: (peer) => this.#senders.add(peer),
      onPeerGone: (peer) => this.#gone(peer),
    });
    this.#out = sockets.pub({ limits, onFault });
    this.#paused = new PausedPeers((peer) => this.#in.resume(peer));
  }

  /** Whoever hears that `in` is open finds `out` open, too. */
  async bind(door: string, input: ListenAddress, output: ListenAddress): Promise<readonly [string, string]> {
    const out = await bindSocket(door, this.#out, output);
    return [await bindSocket(door, this.#in, input), out];
  }

  /** To how many it went. One that is behind misses it, and the others do not wait for that one. */
  publish(frames: readonly Buffer[]): number {
    return this.#out.send(frames);
  }

  flush(): void {
    this.#out.flush();
  }

  /** Does not read this peer for a moment, if it is one of this channel. */
  holdBack(peer: Peer, now: Moment): void {
    if (!this.#senders.has(peer)) return;
    this.#in.pause(peer);
    this.#paused.add(peer, now);
  }

  nextDeadline(): Instant | undefined {
    return this.#paused.nextDeadline();
  }

  handleTimeout(now: Moment): void {
    this.#paused.handleTimeout(now);
  }

  async close(): Promise<void> {
    await Promise.all([this.#in.close(), this.#out.close()]);
  }

  #gone(peer: Peer): void {
    this.#senders.delete(peer);
    this.#paused.drop(peer);
  }
}
