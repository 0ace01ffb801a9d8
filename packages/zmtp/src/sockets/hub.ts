// What every socket has, whatever its type: its peers, the end of each turn, the tick, the counters. What a message
// or a new peer means is the pattern's to say.

import { encodePing } from "../commands.js";
import { Connection } from "../connection.js";
import { FaultCounter, type FaultKind } from "../faults.js";
import { type Pulse, pulseOf } from "../heartbeat.js";
import type { Limits } from "../limits.js";
import type { SocketType } from "../socket-types.js";
import type { Clock } from "./clock.js";
import type { Line } from "./line.js";
import type { IdentityOption, SocketOptions } from "./options.js";
import { type Settings, type SocketHandlers, settle } from "./options.js";
import type { GoneReason } from "./peer.js";
import { Totals } from "./send-queue.js";
import { type PeerOwner, WirePeer } from "./wire-peer.js";

/**
 * How long the reads of one turn may take before what else arrived waits for the next. Peers that flood share this, so that
 * a thousand of them hold others up for no longer than one does.
 */
const turnMsMax = 10;

/** What makes a ROUTER of a hub, or a PULL. */
export interface Pattern {
  /** A fault turns the peer away. Otherwise it is now one of the socket's peers. */
  admit?(peer: WirePeer): FaultKind | undefined;
  message(peer: WirePeer, frames: Buffer[]): void;
  /** The same, as it came and before anything is made of it; false: it is wanted in frames. */
  packed?(peer: WirePeer, bytes: Buffer, from: number, to: number): boolean;
  /** Only a PUB gets these. */
  subscription?(peer: WirePeer, prefix: Buffer, isWanted: boolean): void;
  room?(peer: WirePeer): void;
  gone?(peer: WirePeer): void;
}

export class Hub implements PeerOwner {
  readonly type: SocketType;
  readonly settings: Settings;
  readonly limits: Limits;
  readonly pulse: Pulse;
  readonly clock: Clock;
  readonly ping: Buffer;
  readonly totals: Totals;
  readonly faults = new FaultCounter();
  /** Connections in handshake and open peers. */
  readonly peers = new Set<WirePeer>();

  private readonly pattern: Pattern;
  private readonly handlers: SocketHandlers;
  /** Whom to tell when a connection that was dialled is over, with how many ticks it lived. */
  private readonly departures = new Map<WirePeer, (reason: GoneReason, livedTicks: number) => void>();
  private isStopped = false;
  private lastId = 0;
  private isPassDue = false;
  private scheduled: WirePeer[] = [];
  private spare: WirePeer[] = [];
  private cancelTick: (() => void) | undefined;
  /** When the reads of this turn began; undefined before the first. */
  private turnBeganAt: number | undefined;

  constructor(type: SocketType, options: SocketOptions & IdentityOption, pattern: Pattern) {
    this.type = type;
    this.pattern = pattern;
    this.handlers = options;
    this.settings = settle(type, options);
    this.totals = options.totals ?? new Totals();
    this.limits = this.settings.limits;
    this.clock = this.settings.clock;
    this.pulse = pulseOf(this.settings.heartbeat, this.limits.handshakeMs);
    this.ping = encodePing(this.settings.heartbeat.ttlMs);
  }

  /** Makes a connection of an open line. */
  adopt(
    line: Line,
    address: string,
    isBound: boolean,
    onGone?: (reason: GoneReason, livedTicks: number) => void,
  ): void {
    if (this.isStopped || this.peers.size >= this.limits.peersMax) {
      line.stream.on("error", () => {});
      line.stream.destroy();
      if (!this.isStopped) this.countFault(undefined, "too_many_peers");
      onGone?.(this.isStopped ? "shutdown" : "too_many_peers", 0);
      return;
    }
    const { identity, security } = this.settings;
    const connection = new Connection({
      socketType: this.type,
      identity,
      security,
      isBound,
      limits: this.limits,
      readsPacked: this.pattern.packed !== undefined,
    });
    const peer = new WirePeer(++this.lastId, address, line, connection, this);
    this.peers.add(peer);
    if (onGone) this.departures.set(peer, onGone);
    this.cancelTick ??= this.nextTick();
  }

  admit(peer: WirePeer): FaultKind | undefined {
    const fault = this.pattern.admit?.(peer);
    if (fault === undefined) this.handlers.onPeer?.(peer);
    return fault;
  }

  handleMessage(peer: WirePeer, frames: Buffer[]): void {
    this.pattern.message(peer, frames);
  }

  handlePacked(peer: WirePeer, bytes: Buffer, from: number, to: number): boolean {
    return this.pattern.packed?.(peer, bytes, from, to) ?? false;
  }

  handleSubscription(peer: WirePeer, prefix: Buffer, isWanted: boolean): void {
    this.pattern.subscription?.(peer, prefix, isWanted);
  }

  handleRoom(peer: WirePeer): void {
    this.pattern.room?.(peer);
    this.handlers.onRoom?.(peer);
  }

  countFault(peer: WirePeer | undefined, kind: FaultKind): void {
    this.faults.count(kind);
    this.handlers.onFault?.(peer, kind);
  }

  forget(peer: WirePeer, reason: GoneReason, wasOpen: boolean): void {
    this.peers.delete(peer);
    const tellDialer = this.departures.get(peer);
    this.departures.delete(peer);
    if (wasOpen) {
      this.pattern.gone?.(peer);
      this.handlers.onPeerGone?.(peer, reason);
    }
    tellDialer?.(reason, wasOpen ? peer.ticks : 0);
  }

  /** One pass at the end of a turn, after its reads: each peer gets one write, however many messages it was sent. */
  schedule(peer: WirePeer): void {
    if (peer.isScheduled) return;
    peer.isScheduled = true;
    this.scheduled.push(peer);
    this.endTurnSoon();
  }

  /** Whether the reads of this turn have taken their time. Asked once a read, not once a message. */
  isTurnSpent(): boolean {
    const now = this.clock.elapsed();
    if (this.turnBeganAt === undefined) {
      this.turnBeganAt = now;
      this.endTurnSoon();
      return false;
    }
    return now - this.turnBeganAt > turnMsMax;
  }

  private endTurnSoon(): void {
    if (this.isPassDue) return;
    this.isPassDue = true;
    setImmediate(this.endTurn);
  }

  private readonly endTurn = (): void => {
    this.isPassDue = false;
    this.turnBeganAt = undefined;
    this.finishTurn();
    // What was read in this pass is no part of the reads to come.
    if (!this.isPassDue) this.turnBeganAt = undefined;
  };

  /** No more peers, no more ticks: the socket is closing. */
  stop(): void {
    this.isStopped = true;
    this.cancelTick?.();
  }

  /** That pass now: for a user who knows that this turn has no more to send. */
  finishTurn(): void {
    const peers = this.scheduled;
    this.scheduled = this.spare;
    for (const peer of peers) {
      peer.isScheduled = false;
      peer.finishTurn();
    }
    peers.length = 0;
    this.spare = peers;
  }

  private nextTick(): () => void {
    return this.clock.after(this.pulse.tickMs, this.tick, false);
  }

  private readonly tick = (): void => {
    for (const peer of this.peers) peer.tick();
    this.cancelTick = this.peers.size > 0 && !this.isStopped ? this.nextTick() : undefined;
  };
}
