// One of the door's two channels: a PULL to which components push everything, and a PUB to which
// they all subscribe.

import type { Instant, Moment } from "@yardmaster/core";
import { monique, PausedPeers } from "@yardmaster/dialects";
import type { Peer, SocketOptions } from "@yardmaster/zmtp";
import { bindSocket } from "../door-kit/zmq.js";
import type { ZmqGuard } from "../door-kit/zmq-guard.js";
import type { ListenAddress } from "../listen-address.js";
import { clientOf, nameOf } from "./clients.js";
import type { DoorPub, DoorPull, MoniqueSockets } from "./sockets.js";

export interface ChannelOptions {
  readonly sockets: MoniqueSockets;
  readonly guard: ZmqGuard;
  /** The options that all sockets of the door share. */
  readonly common: SocketOptions;
  /** [monique 2.8] How long a new connection is not read, unless its client has subscribed. */
  readonly settleMs: number;
  /** The channel on which its messages are answered, if it is another one. */
  readonly answeredOn?: Channel;
  readonly now: () => Moment;
  readonly onMessage: (sender: monique.Sender<Peer>, frames: Buffer[]) => void;
}

/** The specs of errors without a known spec, and of components' reports about themselves. */
const ownSpecs: ReadonlySet<string> = new Set(Object.values(monique.ownSpecs));
const hearing = ["read", "submit", "work"] as const;
/** A named subscriber sends its subscriptions, if any, with its greeting. */
const namedSettleMs = 50;

export class Channel {
  readonly #options: ChannelOptions;
  readonly #in: DoorPull;
  readonly #out: DoorPub;
  readonly #senders = new Map<Peer, monique.Sender<Peer>>();
  readonly #paused: PausedPeers<Peer>;
  /** The connected subscribers, each with the name of its client. */
  readonly #clients = new Map<Peer, string>();
  /** Number of subscriptions of each subscriber that has a name; 0 for one that has none yet. */
  readonly #subscriptions = new Map<string, number>();
  /**
   * Connections that are not read until the subscriber with the same name is there, each with what
   * resumes it.
   */
  readonly #waiting = new Map<string, Map<Peer, PausedPeers<Peer>>>();

  constructor(options: ChannelOptions) {
    this.#options = options;
    const { sockets, common, guard, onMessage } = options;
    this.#in = sockets.pull({
      ...common,
      onMessage: (peer, frames) => {
        const sender = this.#senders.get(peer);
        if (sender !== undefined) onMessage(sender, frames);
      },
      onPeer: (peer) => this.#came(peer),
      onPeerGone: (peer) => {
        this.#senders.delete(peer);
        this.#paused.drop(peer);
        this.#answers.#stopWaiting(peer);
      },
    });
    this.#out = sockets.pub({
      ...common,
      onPeer: (peer) => this.#subscriberCame(peer),
      onPeerGone: (peer) => this.#subscriberGone(peer),
      onSubscription: (peer, _prefix, isWanted) => this.#subscribed(peer, isWanted),
    });
    guard.watch(this.#in);
    guard.watch(this.#out);
    this.#paused = new PausedPeers((peer) => this.#in.resume(peer));
  }

  /** Opens `out` first, so that a peer that finds `in` open also finds `out` open. */
  async bind(door: string, input: ListenAddress, output: ListenAddress): Promise<readonly [string, string]> {
    const out = await bindSocket(door, this.#out, output);
    return [await bindSocket(door, this.#in, input), out];
  }

  /**
   * Returns the number of receivers. A subscriber that is behind misses the message, and the others
   * do not wait for it.
   */
  publish(frames: readonly Buffer[], audience?: monique.Audience): number {
    const { guard } = this.#options;
    const { spec, client, isOwn } = audience ?? {};
    if (client === undefined && !guard.isActive) return this.#out.send(frames);
    const mayHear = guard.isActive ? this.#hearersOf(frames, spec) : () => true;
    if (client === undefined) return this.#out.send(frames, mayHear);
    return this.#out.send(frames, (peer) => (this.#clients.get(peer) === client) === isOwn && mayHear(peer));
  }

  /**
   * [monique 4.13] A message is heard by principals that may read, submit or work for its spec, or
   * for the spec of the question that it answers.
   */
  #hearersOf(frames: readonly Buffer[], answered?: string): (peer: Peer) => boolean {
    const reading = monique.readMessage(frames);
    const spec = answered ?? (reading.ok ? reading.header.spec : "");
    if (ownSpecs.has(spec)) return () => true;
    const { guard } = this.#options;
    return (peer) => {
      const principal = guard.principalOf(peer);
      return principal === undefined || hearing.some((right) => principal.may(right, spec));
    };
  }

  flush(): void {
    this.#out.flush();
  }

  /** Pauses this peer for this time or for a moment, if it belongs to this channel. */
  holdBack(peer: Peer, now: Moment, ms?: number): void {
    if (!this.#senders.has(peer)) return;
    this.#in.pause(peer);
    this.#paused.add(peer, now, ms);
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
   * [monique 2.8] ZeroMQ reconnects by itself and sends its queued messages at once. If a client's
   * PUSH reconnects before its SUB, the client would miss the answer.
   */
  #came(peer: Peer): void {
    const { address } = peer;
    this.#senders.set(peer, { peer, address, client: clientOf(peer) });
    const { settleMs, now } = this.#options;
    const name = nameOf(peer);
    const subscriptions = name === undefined ? undefined : this.#answers.#subscriptions.get(name);
    if (settleMs === 0 || (subscriptions ?? 0) > 0) return;
    if (name !== undefined) this.#answers.#waitFor(name, peer, this.#paused);
    this.#in.pause(peer);
    this.#paused.add(peer, now(), subscriptions === undefined ? settleMs : namedSettleMs);
  }

  get #answers(): Channel {
    return this.#options.answeredOn ?? this;
  }

  #waitFor(name: string, peer: Peer, paused: PausedPeers<Peer>): void {
    this.#waiting.set(name, (this.#waiting.get(name) ?? new Map()).set(peer, paused));
  }

  #stopWaiting(peer: Peer): void {
    const name = nameOf(peer) ?? "";
    const waiting = this.#waiting.get(name);
    if (waiting?.delete(peer) && waiting.size === 0) this.#waiting.delete(name);
  }

  #subscriberCame(peer: Peer): void {
    this.#clients.set(peer, clientOf(peer));
    const name = nameOf(peer);
    if (name === undefined) return;
    this.#subscriptions.set(name, 0);
    const now = this.#options.now();
    for (const [waiting, paused] of this.#waiting.get(name) ?? []) paused.add(waiting, now, namedSettleMs);
  }

  #subscribed(peer: Peer, isWanted: boolean): void {
    const name = nameOf(peer);
    if (name === undefined) return;
    this.#subscriptions.set(name, Math.max(0, (this.#subscriptions.get(name) ?? 0) + (isWanted ? 1 : -1)));
    if (!isWanted) return;
    for (const [waiting, paused] of this.#waiting.get(name) ?? []) paused.resume(waiting);
    this.#waiting.delete(name);
  }

  #subscriberGone(peer: Peer): void {
    this.#clients.delete(peer);
    const name = nameOf(peer);
    if (name !== undefined) this.#subscriptions.delete(name);
  }
}
