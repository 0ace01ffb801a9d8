// The other end of one connection, as its socket runs it: it passes bytes from a stream to the pure
// connection and messages to the socket, applies pauses, and tracks the peer from handshake to
// departure.

import type { Socket as Stream } from "node:net";
import { encodeCommand } from "../commands.js";
import type { Connection } from "../connection.js";
import { type FaultKind, survivable } from "../faults.js";
import { judgeSilence } from "../heartbeat.js";
import type { Metadata } from "../metadata.js";
import type { PeerSocketType } from "../socket-types.js";
import type { OutgoingFrame } from "../streamed-body.js";
import type { Line, Sink } from "./line.js";
import type { GoneReason, Peer } from "./peer.js";
import type { PeerOwner } from "./peer-owner.js";
import { PongLimit } from "./pong-limit.js";
import { type SendOutcome, SendQueue } from "./send-queue.js";

// After this much, a flooding peer yields to the others. With the smallest messages this is 20 ms
// of work.
const readBytesPerTurn = 256 * 1024;
// Time for a peer to take its unsent data after we disconnect it.
const lingerMsDefault = 1_000;

export class WirePeer implements Peer, Sink {
  readonly id: number;
  readonly address: string;
  /** The address without its port. */
  readonly host: string;
  readonly connection: Connection;
  readonly queue: SendQueue;
  identity: Buffer;
  droppedMessages = 0;
  isPaused = false;
  isScheduled = false;
  /** Ticks since the connection; after the handshake, ticks since then. */
  ticks = 0;
  /** Its index among the peers a socket chooses from; -1 outside. */
  slot = -1;

  readonly owner: PeerOwner;
  private readonly stream: Stream;
  private state: "handshaking" | "open" | "gone" = "handshaking";
  private silentTicks = 0;
  /** The time to live in its last PING. */
  private ttlTicks = Number.POSITIVE_INFINITY;
  private readonly pongs = new PongLimit();
  private isReading = false;
  private isResuming = false;
  /** Set when the stream has ended but a pause still holds back messages. */
  private ended: GoneReason | undefined;
  heldBytes = 0;
  /** Memory of a message of very many frames that its user is still carrying out. */
  private lentBytes = 0;
  recentBytes = 0;
  private readBytes = 0;

  constructor(id: number, address: string, line: Line, connection: Connection, owner: PeerOwner) {
    this.id = id;
    this.address = address;
    this.host = address.slice(0, Math.max(0, address.lastIndexOf(":"))) || address;
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

  /**
   * True in a handshake that costs a fraction of a millisecond. A flood of those is handled after
   * the open peers, a few in each turn.
   */
  get waitsInLine(): boolean {
    return this.state === "handshaking" && this.connection.isCostlyToJoin;
  }

  get socketType(): PeerSocketType {
    return this.connection.peerType as PeerSocketType;
  }

  get version(): "3.0" | "3.1" {
    return this.connection.minor === 0 ? "3.0" : "3.1";
  }

  get mechanism(): string {
    return this.connection.mechanismName;
  }

  get principal(): unknown {
    return this.connection.principal;
  }

  get metadata(): Metadata {
    return this.connection.metadata;
  }

  get pendingBytes(): number {
    return this.queue.pendingBytes;
  }

  /** Bytes received from the peer that wait for a turn to be read. */
  get unreadBytes(): number {
    return this.connection.decoder.unreadBytes;
  }

  get pendingMessages(): number {
    return this.queue.pendingMessages;
  }

  get isRead(): boolean {
    return !this.isPaused && !this.isResuming;
  }

  send(frames: readonly Uint8Array[]): SendOutcome {
    return this.isLeaving ? "gone" : this.queued(this.queue.putMessage(frames));
  }

  sendStreamed(frames: readonly OutgoingFrame[]): SendOutcome {
    return this.isLeaving ? "gone" : this.queued(this.queue.putStreamed(frames));
  }

  sendPacked(bytes: Uint8Array, from: number, to: number): SendOutcome {
    return this.isLeaving ? "gone" : this.queued(this.queue.putPacked(bytes, from, to));
  }

  sendCommand(body: Buffer): void {
    if (this.isLeaving) return;
    this.queue.putCommand(body);
    this.owner.schedule(this);
  }

  /** True if nothing can be sent to it. */
  private get isLeaving(): boolean {
    return this.state !== "open" || this.ended !== undefined;
  }

  private queued(outcome: SendOutcome): SendOutcome {
    if (!this.isScheduled) this.owner.schedule(this);
    return outcome;
  }

  pause(): void {
    if (this.state !== "open" || this.isPaused) return;
    this.isPaused = true;
    this.stream.pause();
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.lentBytes = 0;
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
    // While we do not read from a peer it cannot send, so its pace must not fade.
    if (this.isRead) this.recentBytes *= pulse.fade;
    if (this.state === "handshaking") {
      if (this.ticks >= pulse.handshakeTicks) this.fail("handshake_timeout");
      return;
    }
    // A paused peer cannot be heard. A 3.0 peer knows no PING; TCP's keep-alive watches over it.
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

  /** Ends the connection. Unsent data is dropped at once, or after lingerMs. */
  leave(reason: GoneReason, lingerMs = 0): void {
    if (this.state === "gone") return;
    const wasOpen = this.state === "open";
    this.state = "gone";
    this.owner.assembly.forget(this);
    this.queue.finish(lingerMs > 0);
    this.connection.wipe();
    if (lingerMs > 0) this.linger(lingerMs);
    else this.stream.destroy();
    this.owner.forget(this, reason, wasOpen);
  }

  /** Disconnects once its data is written. */
  dismiss(reason: GoneReason): void {
    this.leave(reason, lingerMsDefault);
  }

  /** After leave(): called when the connection is fully closed. */
  whenClosed(run: () => void): void {
    if (this.stream.closed) run();
    else this.stream.once("close", run);
  }

  /** Counts the peer's mistake and, unless it is survivable, ends the connection. */
  fail(kind: FaultKind): void {
    if (this.state === "gone") return;
    this.owner.countFault(this, kind);
    if (survivable.has(kind)) return;
    // The mechanism may have a last command, such as ERROR. It is sent only if it fits the empty
    // buffers of a handshake.
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
    this.recentBytes += chunk.length;
    this.connection.feed(chunk);
    if (this.waitsInLine) {
      this.accountHeld();
      if (this.waitsInLine) this.yieldTurn();
      return;
    }
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
    this.recentBytes += bytes;
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
    if (this.connection.heldBytes + this.lentBytes !== this.heldBytes && this.state !== "gone")
      this.accountHeld();
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
    else if (this.state === "open" || this.waitsInLine) this.stream.resume();
  }

  /** False when the connection needs more bytes. */
  private readNext(): boolean {
    const { connection } = this;
    const event = connection.next();
    switch (event) {
      case "message":
        this.owner.handleMessage(this, connection.frames, connection.takeDropped());
        connection.forgetMessage();
        break;
      case "many":
        this.lentBytes = this.owner.handleTable(this, connection.takeTable(), connection.takeDropped());
        break;
      case "packed": {
        const { packed, packedFrom, packedTo } = connection.decoder;
        if (!this.owner.handlePacked(this, packed, packedFrom, packedTo))
          this.owner.handleMessage(this, connection.decoder.unpack());
        break;
      }
      case "need-more":
        return false;
      case "ready":
        this.becomeOpen();
        break;
      case "ping":
        this.answerPing(connection.body, connection.ttlMs);
        break;
      case "subscribe":
      case "cancel":
        this.owner.handleSubscription(this, connection.body, event === "subscribe");
        break;
      case "mistake":
      case "fault":
        this.fail(connection.fault as FaultKind);
    }
    return true;
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
    if (!this.pongs.hasRoomBehind(this.queue)) this.fail("pong_dropped");
    else this.sendCommand(encodeCommand("PONG", context));
  }

  /** True if anything was written. */
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
    const before = this.heldBytes;
    this.heldBytes = this.connection.heldBytes + this.lentBytes;
    // Memory is reserved before the bytes arrive. A message that begins has not stalled.
    if (before === 0) this.recentBytes = Math.max(this.recentBytes, this.heldBytes);
    if (!this.owner.assembly.change(this, before)) this.fail("assembly_full");
    else if (this.state === "open" && !this.owner.mayHold(this, this.heldBytes)) this.fail("over_quota");
  }

  private end(reason: GoneReason): void {
    // Messages held back by a pause were sent before the end, so they are still delivered.
    this.ended ??= reason;
    if (!this.isPaused && !this.isResuming) this.leave(this.ended);
  }
}
