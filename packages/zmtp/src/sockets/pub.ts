// PUB: sends each message to the peers that subscribed to a prefix of its first frame. A peer at
// its high-water mark misses messages, which are counted; the others do not wait for it
// [29/PUBSUB].

import { PrefixTrie } from "../prefix-trie.js";
import type { SocketOptions } from "./options.js";
import type { Peer } from "./peer.js";
import type { SendOutcome } from "./send-queue.js";
import type { WirePeer } from "./wire-peer.js";
import { ZmtpSocket } from "./zmtp-socket.js";

export interface PubOptions extends SocketOptions {
  /** A peer subscribed to a prefix for the first time, or cancelled its last subscription to it. */
  onSubscription?: (peer: Peer, prefix: Buffer, isWanted: boolean) => void;
}

interface Subscriber {
  readonly peer: WirePeer;
  /** Number of subscriptions to each prefix. The peer must cancel as often. */
  readonly counts: Map<string, number>;
  prefixBytes: number;
  /** The last message that was sent to it, so that two matching prefixes send it once. */
  lastMessage: number;
}

export class Pub extends ZmtpSocket {
  /** Messages that peers missed at their high-water mark. */
  droppedMessages = 0;
  private readonly trie = new PrefixTrie<Subscriber>();
  private readonly subscribers = new Map<WirePeer, Subscriber>();
  private readonly onSubscription: NonNullable<PubOptions["onSubscription"]>;
  private messageNumber = 0;
  private current: readonly Uint8Array[] = [];
  private sentCount = 0;
  private chosen: ((peer: Peer) => boolean) | undefined;

  constructor(options: PubOptions = {}) {
    super("PUB", options, {
      message: (peer, frames) => this.receive(peer, frames),
      subscription: (peer, prefix, isWanted) => this.change(peer, prefix, isWanted),
      gone: (peer) => this.release(peer),
    });
    this.onSubscription = (peer, prefix, isWanted) => options.onSubscription?.(peer, prefix, isWanted);
  }

  /** Sends to all subscribers, or to the chosen ones. Returns how many peers got it. */
  send(frames: readonly Uint8Array[], chosen?: (peer: Peer) => boolean): number {
    if (frames.length === 0) throw new RangeError("a message has at least one frame");
    this.messageNumber++;
    this.current = frames;
    this.sentCount = 0;
    this.chosen = chosen;
    this.trie.match(frames[0] as Uint8Array, this.deliver);
    return this.sentCount;
  }

  /** Sends to one peer, regardless of its subscriptions. */
  sendTo(peer: Peer, frames: readonly Uint8Array[]): SendOutcome {
    return (peer as WirePeer).send(frames);
  }

  private readonly deliver = (subscribers: ReadonlySet<Subscriber>): void => {
    for (const subscriber of subscribers) {
      if (subscriber.lastMessage === this.messageNumber) continue;
      subscriber.lastMessage = this.messageNumber;
      if (this.chosen !== undefined && !this.chosen(subscriber.peer)) continue;
      const outcome = subscriber.peer.send(this.current);
      if (outcome === "sent" || outcome === "queued") this.sentCount++;
      else if (outcome === "full") {
        subscriber.peer.droppedMessages++;
        this.droppedMessages++;
      }
    }
  };

  /**
   * ZMTP 3.0 peers subscribe with messages: 1 or 0, then the prefix. libzmq accepts these from
   * every peer.
   */
  private receive(peer: WirePeer, frames: Buffer[]): void {
    const [first] = frames;
    if (frames.length > 1 || first === undefined || first.length === 0 || (first[0] as number) > 1) {
      peer.fail("unexpected_message");
      return;
    }
    this.change(peer, first.subarray(1), first[0] === 1);
  }

  private change(peer: WirePeer, prefix: Buffer, isWanted: boolean): void {
    let subscriber = this.subscribers.get(peer);
    if (subscriber === undefined) {
      subscriber = { peer, counts: new Map(), prefixBytes: 0, lastMessage: 0 };
      this.subscribers.set(peer, subscriber);
    }
    const key = prefix.toString("latin1");
    const count = subscriber.counts.get(key) ?? 0;
    if (isWanted) this.subscribe(subscriber, prefix, key, count);
    else if (count > 0) this.cancel(subscriber, prefix, key, count);
  }

  private subscribe(subscriber: Subscriber, prefix: Buffer, key: string, count: number): void {
    if (count > 0) {
      subscriber.counts.set(key, count + 1);
      return;
    }
    const { subscriptionsMax, subscriptionBytesMax } = this.hub.limits;
    subscriber.prefixBytes += prefix.length;
    if (subscriber.counts.size >= subscriptionsMax || subscriber.prefixBytes > subscriptionBytesMax) {
      subscriber.peer.fail("too_many_subscriptions");
      return;
    }
    subscriber.counts.set(key, 1);
    this.trie.add(prefix, subscriber);
    this.onSubscription(subscriber.peer, prefix, true);
  }

  private cancel(subscriber: Subscriber, prefix: Buffer, key: string, count: number): void {
    if (count > 1) {
      subscriber.counts.set(key, count - 1);
      return;
    }
    subscriber.counts.delete(key);
    subscriber.prefixBytes -= prefix.length;
    this.trie.remove(prefix, subscriber);
    this.onSubscription(subscriber.peer, prefix, false);
  }

  private release(peer: WirePeer): void {
    const subscriber = this.subscribers.get(peer);
    if (subscriber === undefined) return;
    this.subscribers.delete(peer);
    for (const key of subscriber.counts.keys()) this.trie.remove(Buffer.from(key, "latin1"), subscriber);
  }
}
