// One of the door's two channels: a PULL to which components push everything, and a PUB that they all hear.

import type { Instant, Moment } from "@yardmaster/core";
import type { monique } from "@yardmaster/dialects";
import type { Limits, Peer, Totals } from "@yardmaster/zmtp";
import { PausedPeers } from "../door-kit/paused-peers.js";
import { bindSocket } from "../door-kit/zmq.js";
import type { ListenAddress } from "../listen-address.js";
import { askerOf, nameOf } from "./askers.js";
import type { DoorPub, DoorPull, MoniqueSockets } from "./sockets.js";

export interface ChannelOptions {
  readonly sockets: MoniqueSockets;
  readonly limits: Partial<Limits>;
  /** Shared with the door's other sockets. */
  readonly totals: Totals;
  /** [monique 2.8] A new connection is not read for this time, unless its client is known to have subscribed. */
  readonly settleMs: number;
  readonly now: () => Moment;
  readonly onMessage: (sender: monique.Sender<Peer>, frames: Buffer[]) => void;
  readonly onFault: (peer: Peer | undefined, kind: string) => void;
}

/** A named subscriber sends its subscriptions with its greeting, if it has any. */
const namedSettleMs = 50;

export class Channel {
  readonly #options: ChannelOptions;
  readonly #in: DoorPull;
  readonly #out: DoorPub;
  readonly #senders = new Map<Peer, monique.Sender<Peer>>();
  readonly #paused: PausedPeers<Peer>;
  /** The connected subscribers, with the name of the client that each belongs to. */
  readonly #askers = new Map<Peer, string>();
  /** How many subscriptions those have that give themselves a name; 0 for one that has none yet. */
  readonly #subscriptions = new Map<string, number>();
  /** The connection that is not read until the subscriber of the same name is there. */
  readonly #waiting = new Map<string, Peer>();

  constructor(options: ChannelOptions) {
    this.#options = options;
    const { sockets, limits, totals, onMessage, onFault } = options;
    this.#in = sockets.pull({
      limits,
      totals,
      onFault,
      onMessage: (peer, frames) => {
        const sender = this.#senders.get(peer);
        if (sender !== undefined) onMessage(sender, frames);
      },
      onPeer: (peer) => this.#came(peer),
      onPeerGone: (peer) => {
        this.#senders.delete(peer);
        this.#paused.drop(peer);
        const name = nameOf(peer);
        if (name !== undefined && this.#waiting.get(name) === peer) this.#waiting.delete(name);
      },
    });
    this.#out = sockets.pub({
      limits,
      totals,
      onFault,
      onPeer: (peer) => this.#subscriberCame(peer),
      onPeerGone: (peer) => this.#subscriberGone(peer),
      onSubscription: (peer, _prefix, isWanted) => this.#subscribed(peer, isWanted),
    });
    this.#paused = new PausedPeers((peer) => this.#in.resume(peer));
  }

  /** Whoever hears that `in` is open finds `out` open, too. */
  async bind(door: string, input: ListenAddress, output: ListenAddress): Promise<readonly [string, string]> {
    const out = await bindSocket(door, this.#out, output);
    return [await bindSocket(door, this.#in, input), out];
  }

  /** To how many it went. One that is behind misses it, and the others do not wait for that one. */
  publish(frames: readonly Buffer[], audience?: monique.Audience): number {
    if (audience === undefined) return this.#out.send(frames);
    const { asker, isOwn } = audience;
    return this.#out.send(frames, (peer) => (this.#askers.get(peer) === asker) === isOwn);
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

  /**
   * [monique 2.8] ZeroMQ connects by itself, and sends what it kept as soon as it has: where a client's PUSH is back before
   * its SUB, it would not hear the answer.
   */
  #came(peer: Peer): void {
    const { address } = peer;
    this.#senders.set(peer, { peer, address, asker: askerOf(peer) });
    const { settleMs, now } = this.#options;
    const name = nameOf(peer);
    const subscriptions = name === undefined ? undefined : this.#subscriptions.get(name);
    if (settleMs === 0 || (subscriptions ?? 0) > 0) return;
    if (name !== undefined) this.#waiting.set(name, peer);
    this.#in.pause(peer);
    this.#paused.add(peer, now(), subscriptions === undefined ? settleMs : namedSettleMs);
  }

  #subscriberCame(peer: Peer): void {
    this.#askers.set(peer, askerOf(peer));
    const name = nameOf(peer);
    if (name === undefined) return;
    this.#subscriptions.set(name, 0);
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined) this.#paused.add(waiting, this.#options.now(), namedSettleMs);
  }

  #subscribed(peer: Peer, isWanted: boolean): void {
    const name = nameOf(peer);
    if (name === undefined) return;
    this.#subscriptions.set(name, Math.max(0, (this.#subscriptions.get(name) ?? 0) + (isWanted ? 1 : -1)));
    const waiting = isWanted ? this.#waiting.get(name) : undefined;
    if (waiting === undefined) return;
    this.#waiting.delete(name);
    this.#paused.resume(waiting);
  }

  #subscriberGone(peer: Peer): void {
    this.#askers.delete(peer);
    const name = nameOf(peer);
    if (name !== undefined) this.#subscriptions.delete(name);
  }
}
