// The other end of one connection, as its socket runs it: bytes from a stream into the pure connection, messages out
// to the socket, a pause that holds both back, and the life of the peer from handshake to departure.

import type { Socket as Stream } from "node:net";
import { encodeCommand } from "../commands.js";
import type { Connection } from "../connection.js";
import { type FaultKind, survivable } from "../faults.js";
import { judgeSilence, type Pulse } from "../heartbeat.js";
import type { Limits } from "../limits.js";
import type { Metadata } from "../metadata.js";
import type { PeerSocketType } from "../socket-types.js";
import type { Clock } from "./clock.js";
import type { Line, Sink } from "./line.js";
import type { GoneReason, Peer } from "./peer.js";
import { type SendOutcome, SendQueue, type Totals } from "./send-queue.js";

/** What a peer needs of the socket it belongs to. */
export interface PeerOwner {
  readonly limits: Limits;
  readonly totals: Totals;
  readonly pulse: Pulse;
  readonly clock: Clock;
  /** The command that asks for a sign of life. */
  readonly ping: Buffer;
  /** The peer is ready; a fault turns it away before anybody saw it. */
  admit(peer: WirePeer): FaultKind | undefined;
  handleMessage(peer: WirePeer, frames: Buffer[]): void;
  /** False when the message is wanted in frames. */
  handlePacked(peer: WirePeer, bytes: Buffer, from: number, to: number): boolean;
  handleSubscription(peer: WirePeer, prefix: Buffer, isWanted: boolean): void;
  handleRoom(peer: WirePeer): void;
  countFault(peer: WirePeer, kind: FaultKind): void;
  forget(peer: WirePeer, reason: GoneReason, wasOpen: boolean): void;
  /** Whether what is read now should wait for the next turn. */
  isTurnSpent(): boolean;
  /** Asks for finishTurn() when this turn of the event loop has handled its reads. */
  schedule(peer: WirePeer): void;
}

// A peer that floods gives the others a turn after so much. Of the smallest messages that is 20 ms of work.
const readBytesPerTurn = 256 * 1024;
// A peer that holds no more of unfinished messages than a read brings is not turned away because others hold much: the
// last eighth of the limit is for such peers alone.
const smallHeldBytes = 64 * 1024;
const largeShare = 7 / 8;
// What a peer has not taken when we hang up on it gets so long to be written out.
const lingerMsDefault = 1_000;

export class WirePeer implements Peer, Sink {
  readonly id: number;
  readonly address: string;
  readonly connection: Connection;
  readonly queue: SendQueue;
  identity: Buffer;
  droppedMessages = 0;
  isPaused = false;
  isScheduled = false;
  /** How long it has been here: since the connection, then since the handshake. */
  ticks = 0;
  /** Its place among the peers a socket chooses from; -1 outside. */
  slot = -1;

  private readonly owner: PeerOwner;
  private readonly stream: Stream;
  private state: "handshaking" | "open" | "gone" = "handshaking";
  private silentTicks = 0;
  /** What its last PING asked of us. */
  private ttlTicks = Number.POSITIVE_INFINITY;
  private isReading = false;
  private isResuming = false;
  /** The stream is over, but a pause holds messages of it back. */
  private ended: GoneReason | undefined;
  private heldBytes = 0;
  private readBytes = 0;

  constructor(id: number, address: string, line: Line, connection: Connection, owner: PeerOwner) {
    this.id = id;
    this.address = address;
    const { stream } = line;
    this.stream = stream;
    this.connection = connection;
    this.owner = owner;
    this.identity = connection.peerIdentity;
    this.queue = new SendQueue(stream, owner.limits, owner.totals, () => owner.handleRoom(this));
    line.open(this);
    stream.on("end", () => this.end("closed"));
    stream.on("error", () => this.end("reset"));
    stream.on("close", () => this.end("closed"));
    this.writeHandshake();
  }

  get isOpen(): boolean {
    return this.state === "open";
  }

  get socketType(): PeerSocketType {
    return this.connection.peerType as PeerSocketType;
  }

  get version(): "3.0" | "3.1" {
    return this.connection.minor === 0 ? "3.0" : "3.1";
  }

  get metadata(): Metadata {
    return this.connection.metadata;
  }

  get pendingBytes(): number {
    return this.queue.pendingBytes;
  }

  get pendingMessages(): number {
    return this.queue.pendingMessages;
  }

  send(frames: readonly Uint8Array[]): SendOutcome {
    if (this.state !== "open" || this.ended !== undefined) return "gone";
    const outcome = this.queue.putMessage(frames);
    if (!this.isScheduled) this.owner.schedule(this);
    return outcome;
  }

  sendPacked(bytes: Uint8Array, from: number, to: number): SendOutcome {
    if (this.state !== "open" || this.ended !== undefined) return "gone";
    const outcome = this.queue.putPacked(bytes, from, to);
    if (!this.isScheduled) this.owner.schedule(this);
    return outcome;
  }

  sendCommand(body: Buffer): void {
    if (this.state !== "open" || this.ended !== undefined) return;
    this.queue.putCommand(body);
    this.owner.schedule(this);
  }

  pause(): void {
    if (this.state !== "open" || this.isPaused) return;
    this.isPaused = true;
    this.stream.pause();
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.isResuming = true;
    this.silentTicks = 0;
    this.owner.schedule(this);
  }

  finishTurn(): void {
    if (this.isResuming && !this.isPaused) {
      if (this.owner.isTurnSpent()) this.owner.schedule(this);
      else this.continueReading();
    }
    if (this.state === "open") this.queue.flush();
  }

  tick(): void {
    const { pulse } = this.owner;
    this.ticks++;
    if (this.state === "handshaking") {
      if (this.ticks >= pulse.handshakeTicks) this.fail("handshake_timeout");
      return;
    }
    // A paused peer cannot be heard; one that speaks 3.0 knows no PING, and TCP's keep-alive watches over it.
    if (this.isPaused || this.connection.minor === 0) return;
    this.silentTicks++;
    const verdict = judgeSilence(pulse, {
      ticks: this.silentTicks,
      ttlTicks: this.ttlTicks,
      isBehind: this.queue.isWriting,
      phase: this.id + this.ticks,
    });
    if (verdict === "dead") this.leave("silent");
    else if (verdict === "ping") this.sendCommand(this.owner.ping);
  }

  /** Ends the connection. What the peer has not taken is dropped, at once or if it is not taken within lingerMs. */
  leave(reason: GoneReason, lingerMs = 0): void {
    if (this.state === "gone") return;
    const wasOpen = this.state === "open";
    this.state = "gone";
    this.owner.totals.heldBytes -= this.heldBytes;
    this.queue.finish(lingerMs > 0);
    if (lingerMs > 0) this.linger(lingerMs);
    else this.stream.destroy();
    this.owner.forget(this, reason, wasOpen);
  }

  /** Hangs up when what it was sent is written. */
  dismiss(reason: GoneReason): void {
    this.leave(reason, lingerMsDefault);
  }

  /** After leave(): when nothing of it is left. */
  whenClosed(run: () => void): void {
    if (this.stream.closed) run();
    else this.stream.once("close", run);
  }

  /** Counts what the peer did; unless it is survivable, the connection is over. */
  fail(kind: FaultKind): void {
    if (this.state === "gone") return;
    this.owner.countFault(this, kind);
    if (survivable.has(kind)) return;
    // The mechanism may have a last word, such as ERROR: it fits the empty buffers of a handshake, or it is not said.
    const hasLastWord = this.state === "handshaking" && this.writeHandshake();
    if (hasLastWord && this.stream.writableLength === 0) this.dismiss(kind);
    else this.leave(kind);
  }

  borrow(bytes: Buffer, length: number): number {
    let used = 0;
    if (this.isResuming || this.owner.isTurnSpent()) return 0;
    this.isReading = true;
    try {
      while (used < length && this.state === "open" && !this.isPaused) {
        const end = this.connection.endOfPacked(bytes, used, length);
        if (end < 0 || !this.owner.handlePacked(this, bytes, used, end)) break;
        used = end;
      }
    } finally {
      this.isReading = false;
    }
    if (used > 0) this.noteRead(used);
    return used;
  }

  receive(chunk: Buffer): void {
    if (this.state === "gone") return;
    this.connection.feed(chunk);
    if (this.state === "open" && !this.isPaused && this.owner.isTurnSpent()) {
      this.silentTicks = 0;
      this.accountHeld();
      if (this.isOpen) this.yieldTurn();
      return;
    }
    this.read();
    this.noteRead(chunk.length);
  }

  target(): Buffer | undefined {
    return this.connection.target();
  }

  filled(bytes: number): void {
    if (this.state === "gone") return;
    this.silentTicks = 0;
    this.connection.filled(bytes);
    this.read();
  }

  private read(): void {
    if (this.isReading) return;
    this.isReading = true;
    try {
      while (!this.isPaused && this.state !== "gone" && this.readNext());
    } finally {
      this.isReading = false;
    }
    if (this.state === "handshaking") this.writeHandshake();
    if (this.connection.heldBytes !== this.heldBytes && this.state !== "gone") this.accountHeld();
  }

  private noteRead(bytes: number): void {
    this.silentTicks = 0;
    this.readBytes += bytes;
    if (this.readBytes >= readBytesPerTurn && this.state === "open" && !this.isPaused) this.yieldTurn();
  }

  private yieldTurn(): void {
    this.stream.pause();
    this.isResuming = true;
    this.owner.schedule(this);
  }

  private continueReading(): void {
    this.isResuming = false;
    this.readBytes = 0;
    this.read();
    if (this.isPaused) return;
    if (this.ended !== undefined) this.leave(this.ended);
    else if (this.state === "open") this.stream.resume();
  }

  /** False when the connection needs more bytes. */
  private readNext(): boolean {
    const { connection } = this;
    switch (connection.next()) {
      case "message":
        this.owner.handleMessage(this, connection.frames);
        return true;
      case "packed": {
        const { packed, packedFrom, packedTo } = connection.decoder;
        if (!this.owner.handlePacked(this, packed, packedFrom, packedTo))
          this.owner.handleMessage(this, connection.decoder.unpack());
        return true;
      }
      case "need-more":
        return false;
      case "ready":
        this.becomeOpen();
        return true;
      case "ping":
        this.answerPing(connection.body, connection.ttlMs);
        return true;
      case "pong":
        return true;
      case "subscribe":
        this.owner.handleSubscription(this, connection.body, true);
        return true;
      case "cancel":
        this.owner.handleSubscription(this, connection.body, false);
        return true;
      case "mistake":
      case "fault":
        this.fail(connection.fault as FaultKind);
        return true;
    }
  }

  private becomeOpen(): void {
    this.writeHandshake();
    this.identity = this.connection.peerIdentity;
    this.queue.sealWith(this.connection.seal);
    this.ticks = 0;
    this.state = "open";
    const fault = this.owner.admit(this);
    if (fault === undefined) return;
    this.state = "handshaking";
    this.fail(fault);
  }

  private answerPing(context: Buffer, ttlMs: number): void {
    this.ttlTicks = ttlMs === 0 ? Number.POSITIVE_INFINITY : Math.ceil(ttlMs / this.owner.pulse.tickMs);
    // Answers to somebody who does not read them would be a queue without a limit.
    if (this.queue.isWriting) this.fail("pong_dropped");
    else this.sendCommand(encodeCommand("PONG", context));
  }

  /** True if there was anything to write. */
  private writeHandshake(): boolean {
    const output = this.connection.takeOutput();
    for (const bytes of output) this.stream.write(bytes);
    return output.length > 0;
  }

  private linger(lingerMs: number): void {
    this.stream.destroySoon();
    if (this.stream.destroyed) return;
    const cancel = this.owner.clock.after(lingerMs, () => this.stream.destroy(), true);
    this.stream.once("close", cancel);
  }

  private accountHeld(): void {
    const { totals, limits } = this.owner;
    totals.heldBytes += this.connection.heldBytes - this.heldBytes;
    this.heldBytes = this.connection.heldBytes;
    const share = this.heldBytes > smallHeldBytes ? largeShare : 1;
    if (totals.heldBytes > limits.assemblyBytesMax * share && this.heldBytes > 0) this.fail("assembly_full");
  }

  private end(reason: GoneReason): void {
    // What a pause held back was sent before the end, and is still to be delivered.
    this.ended ??= reason;
    if (!this.isPaused && !this.isResuming) this.leave(this.ended);
  }
}
