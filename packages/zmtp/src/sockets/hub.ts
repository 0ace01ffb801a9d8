// What sockets of every type share: peers, the end of each turn, the tick, the counters. The
// pattern decides what a message or a new peer means.

import type { Socket as Stream } from "node:net";
import { encodePing } from "../commands.js";
import { Connection, type DroppedFrames } from "../connection.js";
import { FaultCounter, type FaultKind } from "../faults.js";
import type { FrameTable } from "../frame-table.js";
import { type Pulse, pulseOf } from "../heartbeat.js";
import type { Limits } from "../limits.js";
import type { Security } from "../mechanisms/mechanism.js";
import type { SocketType } from "../socket-types.js";
import { Assembly } from "./assembly.js";
import type { Clock } from "./clock.js";
import type { Line } from "./line.js";
import type { IdentityOption, PeerMeter, SocketOptions } from "./options.js";
import { type Settings, type SocketHandlers, settle } from "./options.js";
import type { GoneReason } from "./peer.js";
import type { PeerOwner } from "./peer-owner.js";
import { Totals } from "./send-queue.js";
import { WirePeer } from "./wire-peer.js";

/**
 * Time for the reads of one turn. Reads beyond it wait for the next turn. All flooding peers share
 * this time, so that a thousand of them delay others no longer than one does.
 */
const turnMsMax = 10;
/**
 * Peers with at most this much unread data are read first. Most requests and answers are smaller.
 */
const lightBytesMax = 4 * 1024;

/** The behaviour that makes a hub a ROUTER, a PULL or another type. */
export interface Pattern {
  /** A fault rejects the peer. Otherwise it becomes one of the socket's peers. */
  admit?(peer: WirePeer): FaultKind | undefined;
  message(peer: WirePeer, frames: Buffer[], dropped?: DroppedFrames): void;
  /** A message of very many frames. Without it, they come as a list. */
  table?(peer: WirePeer, frames: FrameTable, dropped?: DroppedFrames): void;
  /** Offers a message in its wire form, before it is split. False: deliver it as frames. */
  packed?(peer: WirePeer, bytes: Buffer, from: number, to: number): boolean;
  /** Called for PUB only. */
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
  readonly assembly: Assembly;
  readonly faults = new FaultCounter();
  /** Connections in their handshake, and open peers. */
  readonly peers = new Set<WirePeer>();

  private readonly pattern: Pattern;
  private readonly handlers: SocketHandlers;
  private readonly meter: PeerMeter | undefined;
  /** Callbacks for the end of dialled connections, with the number of ticks each lived. */
  private readonly departures = new Map<WirePeer, (reason: GoneReason, livedTicks: number) => void>();
  private isStopped = false;
  private lastId = 0;
  private isPassDue = false;
  private scheduled: WirePeer[] = [];
  private spare: WirePeer[] = [];
  private heavy: WirePeer[] = [];
  private cancelTick: (() => void) | undefined;
  /** When the reads of this turn began; undefined before the first. */
  private turnBeganAt: number | undefined;

  constructor(type: SocketType, options: SocketOptions & IdentityOption, pattern: Pattern) {
    this.type = type;
    this.pattern = pattern;
    this.handlers = options;
    this.meter = options.meter;
    this.settings = settle(type, options);
    this.totals = options.totals ?? new Totals();
    this.assembly = options.assembly ?? new Assembly();
    this.limits = this.settings.limits;
    this.clock = this.settings.clock;
    this.pulse = pulseOf(this.settings.heartbeat, this.limits.handshakeMs);
    this.ping = encodePing(this.settings.heartbeat.ttlMs);
  }

  /** False if the peer's address may not connect. The connection is closed then. */
  admitsAddress(stream: Stream): boolean {
    const { admits } = this.settings;
    const host = stream.remoteAddress;
    if (admits === undefined || (host !== undefined && admits(host))) return true;
    stream.on("error", () => {});
    stream.destroy();
    this.countFault(undefined, "address_refused");
    return false;
  }

  /** Turns an open line into a connection. */
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
      security: isBound ? security.listen : (security.connect as Security),
      isBound,
      address,
      limits: this.limits,
      readsPacked: this.pattern.packed !== undefined,
      readsTables: this.pattern.table !== undefined,
      dropsOversized: this.settings.dropsOversized,
    });
    const peer = new WirePeer(++this.lastId, address, line, connection, this);
    this.peers.add(peer);
    if (onGone) this.departures.set(peer, onGone);
    this.cancelTick ??= this.nextTick();
  }

  admit(peer: WirePeer): FaultKind | undefined {
    const fault = this.pattern.admit?.(peer);
    if (fault !== undefined) return fault;
    if (this.meter?.joins(peer) === false) {
      this.pattern.gone?.(peer);
      return "over_quota";
    }
    this.handlers.onPeer?.(peer);
    return undefined;
  }

  mayHold(peer: WirePeer, bytes: number): boolean {
    return this.meter?.holds(peer, bytes) !== false;
  }

  handleMessage(peer: WirePeer, frames: Buffer[], dropped?: DroppedFrames): void {
    this.pattern.message(peer, frames, dropped);
  }

  handleTable(peer: WirePeer, frames: FrameTable, dropped?: DroppedFrames): number {
    this.pattern.table?.(peer, frames, dropped);
    return peer.isPaused ? frames.bytes : 0;
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
      this.meter?.left(peer);
      this.pattern.gone?.(peer);
      this.handlers.onPeerGone?.(peer, reason);
    }
    tellDialer?.(reason, wasOpen ? peer.ticks : 0);
  }

  /**
   * Schedules one pass after the reads of a turn. It gives each peer one write, however many
   * messages it was sent.
   */
  schedule(peer: WirePeer): void {
    if (peer.isScheduled) return;
    peer.isScheduled = true;
    this.scheduled.push(peer);
    this.endTurnSoon();
  }

  /**
   * True if the reads of this turn have used up their time. Checked once per read, not per message.
   */
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
    // Reads made during this pass do not count for the next turn.
    if (!this.isPassDue) this.turnBeganAt = undefined;
  };

  /** Stops peers and ticks because the socket is closing. */
  stop(): void {
    this.isStopped = true;
    this.cancelTick?.();
  }

  /**
   * Ends the connections of revoked principals at once, unsent data included. Peers in a handshake
   * are disconnected too, because they may have been authenticated before. Returns the number of
   * open peers it ended.
   */
  revoke(isRevoked: (principal: unknown) => boolean): number {
    let count = 0;
    for (const peer of [...this.peers]) {
      if (peer.isOpen && !isRevoked(peer.principal)) continue;
      if (peer.isOpen) count++;
      peer.leave("revoked");
    }
    return count;
  }

  /** Runs the pass now, for a user that has nothing more to send in this turn. */
  finishTurn(): void {
    const peers = this.scheduled;
    this.scheduled = this.spare;
    for (const peer of peers) {
      if (peer.waitsInLine || peer.unreadBytes > lightBytesMax) this.heavy.push(peer);
      else finishTurnOf(peer);
    }
    peers.length = 0;
    this.spare = peers;
    if (this.heavy.length > 0) this.finishHeavy();
  }

  /** Peers that sent much get a separate turn; otherwise many small senders could starve them. */
  private finishHeavy(): void {
    const peers = this.heavy;
    this.heavy = [];
    this.turnBeganAt = undefined;
    for (const peer of peers) finishTurnOf(peer);
  }

  private nextTick(): () => void {
    return this.clock.after(this.pulse.tickMs, this.tick, false);
  }

  private readonly tick = (): void => {
    for (const peer of this.peers) peer.tick();
    this.cancelTick = this.peers.size > 0 && !this.isStopped ? this.nextTick() : undefined;
  };
}

function finishTurnOf(peer: WirePeer): void {
  peer.isScheduled = false;
  peer.finishTurn();
}
