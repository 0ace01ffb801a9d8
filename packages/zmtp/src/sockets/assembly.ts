// Room for messages that have not arrived as a whole, over all peers of one or several sockets. A
// peer that stops in the middle of a message would keep its part of the room for good, and others
// could not send. So where the room is short, peers that have nearly stopped are disconnected, and
// then peers of the host that holds the most, if it is another one than that of the sender.

import type { FaultKind } from "../faults.js";
import type { Limits } from "../limits.js";
import type { Totals } from "./send-queue.js";

/** A peer with a message that has not arrived as a whole. */
export interface Holder {
  readonly heldBytes: number;
  /** Received in the last seconds: the number halves every second. */
  readonly recentBytes: number;
  /** False while we do not read from it. It cannot stall then. */
  readonly isRead: boolean;
  readonly host: string;
  readonly owner: { readonly totals: Totals; readonly limits: Limits };
  fail(kind: FaultKind): void;
}

// A peer that holds no more of unfinished messages than one read brings is not disconnected because
// others hold much: the last eighth of the limit is reserved for such peers.
const smallHeldBytes = 64 * 1024;
const largeShare = 7 / 8;
/** Others may hold this share of the room beside one message that is larger than the room. */
const besideLargeShare = 1 - largeShare;
/**
 * A message has stalled if it holds more than this multiple of its recent bytes: at that pace it
 * would have taken five minutes, or it has paused for eight seconds.
 */
const stalledFactor = 200;
/**
 * How many holders are looked at when the room is short. Those that stay go to the end of the line,
 * so the next look is at others.
 */
const searchedMax = 256;

/** The peers of one host that hold more than little. */
interface HostShare {
  bytes: number;
  readonly holders: Set<Holder>;
}

export class Assembly {
  /** Limit over all sockets that share this object, besides the limit of each socket. */
  readonly bytesMax: number;
  heldBytes = 0;
  /** The limit of messages that are not small while the process is short of memory. */
  #memoryMax = Number.POSITIVE_INFINITY;
  /** The part of `heldBytes` that is held by peers that hold little. */
  #smallBytes = 0;
  /** Those that were looked at last are at the end. */
  readonly #holders = new Set<Holder>();
  readonly #hosts = new Map<string, HostShare>();

  constructor(bytesMax = Number.POSITIVE_INFINITY) {
    this.bytesMax = bytesMax;
  }

  /** Messages that are not small may hold this many bytes more than now, until the next call. */
  limitGrowth(bytes: number): void {
    this.#memoryMax = this.heldBytes + bytes;
  }

  /** The holder has another number of bytes than before. False if it has to go. */
  change(holder: Holder, before: number): boolean {
    const { heldBytes, owner } = holder;
    this.heldBytes += heldBytes - before;
    owner.totals.heldBytes += heldBytes - before;
    this.#smallBytes += ifSmall(heldBytes) - ifSmall(before);
    this.#share(holder, before, heldBytes);
    if (heldBytes === 0) this.#holders.delete(holder);
    else if (before === 0) this.#holders.add(holder);
    return this.#hasRoomFor(holder) || this.#makeRoomFor(holder);
  }

  /** The holder is gone. */
  forget(holder: Holder): void {
    if (!this.#holders.delete(holder)) return;
    this.heldBytes -= holder.heldBytes;
    this.#share(holder, holder.heldBytes, 0);
    holder.owner.totals.heldBytes -= holder.heldBytes;
    this.#smallBytes -= ifSmall(holder.heldBytes);
  }

  #hasRoomFor({ heldBytes, owner: { totals, limits } }: Holder): boolean {
    if (heldBytes === 0) return true;
    const share = heldBytes > smallHeldBytes ? largeShare : 1;
    if (share === largeShare && this.heldBytes > this.#memoryMax) return false;
    if (totals.heldBytes > limits.assemblyBytesMax * share) return false;
    // Their eighth is theirs even while one message takes more than the whole room.
    if (share === 1 && this.#smallBytes <= this.bytesMax * besideLargeShare) return true;
    // One message may be larger than the room, or the largest ones could never arrive.
    const isAlone = this.heldBytes - heldBytes <= this.bytesMax * besideLargeShare;
    return isAlone || this.heldBytes <= this.bytesMax * share;
  }

  /** Counts what the holder has of its host's share; small amounts do not count. */
  #share(holder: Holder, before: number, now: number): void {
    const change = now - ifSmall(now) - (before - ifSmall(before));
    if (change === 0) return;
    const share = this.#hosts.get(holder.host) ?? { bytes: 0, holders: new Set() };
    share.bytes += change;
    if (now > smallHeldBytes) share.holders.add(holder);
    else share.holders.delete(holder);
    if (share.holders.size > 0) this.#hosts.set(holder.host, share);
    else this.#hosts.delete(holder.host);
  }

  /** Disconnects peers that others have to make room for. False if that was not enough. */
  #makeRoomFor(holder: Holder): boolean {
    if (this.#endStalled(holder)) return true;
    while (!this.#hasRoomFor(holder)) {
      const largest = this.#largestOfGreediest(holder);
      if (largest === undefined) return false;
      largest.fail("assembly_full");
    }
    return true;
  }

  /**
   * The largest message of the host that holds the most; undefined if that is the host of this
   * holder. Without this, messages that are sent just fast enough would keep all others out.
   */
  #largestOfGreediest(holder: Holder): Holder | undefined {
    const own = this.#hosts.get(holder.host);
    let greediest = own;
    for (const share of this.#hosts.values())
      if (share.bytes > Math.max(greediest?.bytes ?? 0, holder.heldBytes)) greediest = share;
    if (greediest === own) return undefined;
    let largest: Holder | undefined;
    for (const other of greediest?.holders ?? [])
      if (other.isRead && other.heldBytes > (largest?.heldBytes ?? 0)) largest = other;
    return largest;
  }

  /** Disconnects peers that have stalled. False if that was not enough. */
  #endStalled(holder: Holder): boolean {
    let left = Math.min(searchedMax, this.#holders.size);
    for (const other of this.#holders) {
      if (left-- === 0 || this.#hasRoomFor(holder)) break;
      this.#holders.delete(other);
      this.#holders.add(other);
      if (hasStalled(other)) other.fail("assembly_full");
    }
    return this.#hasRoomFor(holder);
  }
}

function ifSmall(bytes: number): number {
  return bytes > smallHeldBytes ? 0 : bytes;
}

function hasStalled({ heldBytes, recentBytes, isRead }: Holder): boolean {
  return isRead && heldBytes > recentBytes * stalledFactor;
}
