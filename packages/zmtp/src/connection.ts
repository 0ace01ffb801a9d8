// One connection as a state machine without I/O: greeting, handshake, traffic.
//
//   greeting --peer's greeting agrees--> handshake --mechanism is done--> traffic
//        \                                   |                              |
//         '---------------fault--------------'------------fault-------------'--> failed
//
// The caller passes in the bytes of each read, then calls next() until "need-more" and sends what
// takeOutput() returns. Results are in fields, not in objects, because there is one per message.

import { type Command, decodeCommand, decodeMisspeltError, decodePing, encodeError } from "./commands.js";
import type { FaultKind } from "./faults.js";
import type { FrameTable } from "./frame-table.js";
import { COMMAND, encodeFrame, FrameDecoder, shortBytesMax } from "./frames.js";
import { encodeGreeting, greetingBytes, mechanismAt, readGreeting } from "./greeting.js";
import type { Limits } from "./limits.js";
import type { Mechanism, MechanismStep, Seal, Security } from "./mechanisms/mechanism.js";
import { encodeMetadata, type Metadata } from "./metadata.js";
import { announcesIdentity, type PeerSocketType, partnerOf, type SocketType } from "./socket-types.js";
import { UnfinishedFrames } from "./unfinished-frames.js";

export interface ConnectionSettings {
  readonly socketType: SocketType;
  readonly identity: Buffer;
  /** The mechanisms that the peer may choose from; the end that connects has one. */
  readonly security: Security | readonly Security[];
  readonly isBound: boolean;
  /** The peer's address, which the mechanism may judge. */
  readonly address?: string;
  readonly limits: Limits;
  /** Deliver whole messages in their wire form ("packed") where possible. */
  readonly readsPacked?: boolean;
  /** Deliver a message of very many frames as a table ("many"). */
  readonly readsTables?: boolean;
  /** Frames above a limit are read and dropped; without it they end the connection. */
  readonly dropsOversized?: boolean;
}

/** By the empty frame that stands for it in a message: the size of a frame that was dropped. */
export type DroppedFrames = ReadonlyMap<Buffer, number>;

export type ConnectionEvent =
  | "need-more"
  | "ready" // the handshake is over: peerType, peerIdentity, metadata
  | "message" // frames
  | "many" // a message of very many frames: takeTable()
  | "packed" // a message as it came: decoder.packed; its frames: decoder.unpack()
  | "subscribe" // body is the prefix
  | "cancel" // body is the prefix
  | "ping" // ttlMs; body is the context to give back
  | "pong"
  | "mistake" // fault says which; the connection goes on
  | "fault"; // fault says which; the connection is over

/**
 * Memory that a frame of an unfinished message costs beside its bytes, once the message is whole:
 * an object and a place in a list that grows by half. Measured: 106 bytes of heap and 152 of
 * resident memory; the rest is what the garbage collector needs to move them. Until then the frame
 * is packed and costs one byte, but a message that was begun must have room to end.
 */
export const frameCostBytes = 256;
const identityBytesMax = 255;
/** From this number of frames on, a message may be delivered as a table. */
const tableFramesMin = 4_096;
const empty = Buffer.alloc(0);
const noMetadata: Metadata = new Map();
const noFrames: Buffer[] = [];

export class Connection {
  state: "greeting" | "handshake" | "traffic" | "failed" = "greeting";
  /** The minor version that both ends speak: 3.0 or 3.1. */
  minor: 0 | 1 = 1;
  peerType: PeerSocketType | undefined;
  peerIdentity: Buffer = empty;
  /** The peer's properties beyond its type and identity. */
  metadata: Metadata = noMetadata;
  /** The mechanism that both greetings named; empty before. */
  mechanismName = "";
  /** The value that the mechanism's `authenticate` returned for the peer. */
  principal: unknown;
  frames: Buffer[] = [];
  body: Buffer = empty;
  ttlMs = 0;
  fault: FaultKind | undefined;
  seal: Seal | undefined;

  readonly decoder: FrameDecoder;
  private readonly settings: ConnectionSettings;
  /**
   * Set after the handshake if packed messages are wanted and the mechanism does not encrypt
   * frames.
   */
  private readsPacked = false;
  private readonly offers: readonly Security[];
  private mechanism: Mechanism | undefined;
  /** Maximum size of a message as it arrives. Encrypted, its last frame has a seal on top. */
  private messageBytesMax: number;
  /** The bytes of the greeting received so far. */
  private early: Buffer = empty;
  private output: Buffer[];
  /** Frames of a message whose last frame has not arrived. */
  private unfinished: UnfinishedFrames | undefined;
  private dropped: Map<Buffer, number> | undefined;

  constructor(settings: ConnectionSettings) {
    this.settings = settings;
    this.messageBytesMax = settings.limits.messageBytesMax;
    this.decoder = new FrameDecoder(settings.limits);
    this.decoder.dropsOversized = settings.dropsOversized ?? false;
    const { security } = settings;
    this.offers = "open" in security ? [security] : security;
    const greeting = greetingOf(this.offers[0] as Security);
    // If we offer several mechanisms, our greeting stops before the mechanism until the peer has
    // named one. The version at its start is enough for the peer to go on.
    this.output = [this.offers.length > 1 ? greeting.subarray(0, mechanismAt) : greeting];
  }

  /** True if the handshake may take a fraction of a millisecond of computing. */
  get isCostlyToJoin(): boolean {
    return this.offers.some(({ load }) => load !== undefined);
  }

  /** Memory held for messages that are incomplete or not read yet. */
  get heldBytes(): number {
    const { unfinished, decoder } = this;
    const frames = unfinished === undefined ? 0 : unfinished.bytes + unfinished.count * frameCostBytes;
    return frames + decoder.reservedBytes + decoder.unreadBytes + this.early.length;
  }

  /** Output of the handshake; empty in traffic. */
  takeOutput(): Buffer[] {
    const output = this.output;
    this.output = [];
    return output;
  }

  /**
   * The message was handled. Without this an idle connection would keep its last message in
   * memory, however large.
   */
  forgetMessage(): void {
    this.frames = noFrames;
    this.decoder.body = empty;
  }

  /** The frames of the last message that were dropped. */
  takeDropped(): DroppedFrames | undefined {
    const { dropped } = this;
    if (dropped !== undefined) this.dropped = undefined;
    return dropped;
  }

  /** After "many": the frames of the message. */
  takeTable(): FrameTable {
    const unfinished = this.unfinished ?? new UnfinishedFrames();
    this.unfinished = undefined;
    this.decoder.body = empty;
    return unfinished.table(this.isDropped);
  }

  feed(chunk: Buffer): void {
    if (this.state === "greeting")
      this.early = this.early.length ? Buffer.concat([this.early, chunk]) : chunk;
    else this.decoder.feed(chunk);
  }

  /**
   * A buffer for the next bytes, to be filled instead of fed, or undefined. Then filled() reports
   * how many.
   */
  target(): Buffer | undefined {
    return this.decoder.target();
  }

  filled(bytes: number): void {
    this.decoder.filled(bytes);
  }

  /**
   * Finds the end of a message in foreign bytes that need not be fed; -1 if they have to be fed.
   */
  endOfPacked(bytes: Buffer, from: number, to: number): number {
    if (!this.readsPacked || this.unfinished !== undefined) return -1;
    return this.decoder.endOfPacked(bytes, from, to, this.settings.limits.messageFramesMax);
  }

  next(): ConnectionEvent {
    for (;;) {
      if (this.state === "greeting" && !this.readGreeting()) return this.fault ? "fault" : "need-more";
      if (this.state === "failed") return "fault";
      if (this.readsPacked && this.unfinished === undefined) {
        if (this.decoder.nextPacked(this.settings.limits.messageFramesMax)) return "packed";
      }
      const reading = this.decoder.next();
      if (reading === "need-more") {
        this.unfinished?.keep(this.isDropped);
        return "need-more";
      }
      if (reading === "fault") return this.fail(this.decoder.fault as FaultKind);
      if (this.decoder.droppedBytes > 0) this.noteDropped();
      const event =
        this.state === "traffic"
          ? this.readTraffic(this.decoder.body, this.decoder.isMore, this.decoder.isCommand)
          : this.readHandshake(this.decoder.body);
      if (event !== undefined) return event;
    }
  }

  private readonly isDropped = (frame: Buffer): boolean => this.dropped?.has(frame) === true;

  private noteDropped(): void {
    this.dropped ??= new Map();
    this.dropped.set(this.decoder.body, this.decoder.droppedBytes);
    this.decoder.droppedBytes = 0;
  }

  /** True when the greeting is complete and the handshake may begin. */
  private readGreeting(): boolean {
    const reading = readGreeting(this.early);
    if (reading.kind === "need-more") return false;
    if (reading.kind === "fault") {
      this.fail(reading.fault);
      return false;
    }
    const security = this.offers.find(({ name }) => name === reading.greeting.mechanism);
    if (security === undefined) {
      this.fail("unknown_mechanism");
      return false;
    }
    if (this.offers.length > 1) this.output.push(greetingOf(security).subarray(mechanismAt));
    this.mechanismName = security.name;
    this.minor = reading.greeting.minor;
    this.state = "handshake";
    this.decoder.feed(this.early.subarray(greetingBytes));
    this.early = empty;
    const { isBound, address = "" } = this.settings;
    this.mechanism = security.open({ metadata: this.ownMetadata(), isBound, address });
    this.send(this.mechanism.start());
    return true;
  }

  private ownMetadata(): Buffer {
    const { socketType, identity } = this.settings;
    const properties: [string, Buffer][] = [["Socket-Type", Buffer.from(socketType)]];
    if (announcesIdentity(socketType) || identity.length > 0) properties.push(["Identity", identity]);
    return encodeMetadata(properties);
  }

  private readHandshake(body: Buffer): ConnectionEvent | undefined {
    const command = decodeCommand(body) ?? decodeMisspeltError(body);
    if (command === undefined) return this.fail("bad_command");
    return this.apply((this.mechanism as Mechanism).receive(command));
  }

  private apply(step: MechanismStep): ConnectionEvent | undefined {
    this.send(step.send);
    if (step.kind === "wait") return undefined;
    if (step.kind === "fault") return this.fail(step.fault);
    this.principal = step.principal;
    return this.becomeReady(step.metadata);
  }

  private send(commands: readonly Buffer[]): void {
    for (const body of commands) this.output.push(encodeFrame(COMMAND, body));
  }

  private becomeReady(metadata: Metadata): ConnectionEvent {
    const theirs = (metadata.get("socket-type") ?? empty).toString("latin1");
    this.peerType = partnerOf(this.settings.socketType, theirs);
    if (this.peerType === undefined) {
      this.send([encodeError("Invalid socket type")]);
      return this.fail("wrong_socket_type");
    }
    this.peerIdentity = metadata.get("identity") ?? empty;
    if (this.peerIdentity.length > identityBytesMax) return this.fail("bad_identity");
    const rest = [...metadata].filter(([name]) => name !== "socket-type" && name !== "identity");
    if (rest.length > 0) this.metadata = new Map(rest);
    this.seal = this.mechanism?.seal;
    this.mechanism?.wipe?.();
    this.mechanism = undefined;
    const { frameBytesMax } = this.settings.limits;
    this.readsPacked =
      this.settings.readsPacked === true && this.seal === undefined && frameBytesMax >= shortBytesMax;
    this.decoder.acceptsMessages = true;
    if (this.seal !== undefined) this.expectSealed(this.seal);
    this.state = "traffic";
    return "ready";
  }

  private expectSealed(seal: Seal): void {
    const { decoder, settings } = this;
    this.messageBytesMax += seal.overheadBytes;
    decoder.frameBytesMax = settings.limits.frameBytesMax + seal.overheadBytes;
    decoder.commandBytesMax = decoder.frameBytesMax;
    decoder.messageBytesLeft = this.messageBytesMax;
    // A dropped frame cannot be checked, so its place in the message could be forged.
    decoder.dropsOversized = false;
  }

  private readTraffic(body: Buffer, isMore: boolean, isCommand: boolean): ConnectionEvent | undefined {
    if (this.seal !== undefined) return this.openSealed(this.seal, body);
    return isCommand ? this.readCommand(body) : this.readMessage(body, isMore);
  }

  private readMessage(body: Buffer, isMore: boolean): ConnectionEvent | undefined {
    if (!isMore && this.unfinished === undefined) {
      this.frames = [body];
      return "message";
    }
    return this.joinFrames(body, isMore);
  }

  private joinFrames(body: Buffer, isMore: boolean): ConnectionEvent | undefined {
    const { limits } = this.settings;
    this.unfinished ??= new UnfinishedFrames();
    this.unfinished.push(body);
    if (this.unfinished.count > limits.messageFramesMax) return this.fail("too_many_frames");
    if (isMore) {
      this.decoder.messageBytesLeft = this.messageBytesMax - this.unfinished.bytes;
      return undefined;
    }
    this.decoder.messageBytesLeft = this.messageBytesMax;
    if (this.settings.readsTables === true && this.unfinished.count >= tableFramesMin) return "many";
    this.frames = this.unfinished.take();
    this.unfinished = undefined;
    return "message";
  }

  /** The flags of the outer frame are not authenticated, so they mean nothing. */
  private openSealed(seal: Seal, sealed: Buffer): ConnectionEvent | undefined {
    const fault = seal.open(sealed);
    if (fault !== undefined) return this.fail(fault);
    if (seal.isCommand) {
      if (seal.body.length > this.settings.limits.commandBytesMax) return this.fail("command_too_large");
      return this.readCommand(seal.body);
    }
    if (sealed.length > this.decoder.messageBytesLeft) return this.fail("message_too_large");
    return this.readMessage(seal.body, seal.isMore);
  }

  // Commands may come between the frames of a message: libzmq sends its PING there.
  private readCommand(body: Buffer): ConnectionEvent {
    const command = decodeCommand(body);
    if (command === undefined) return this.fail("bad_command");
    switch (command.name) {
      case "PING":
        return this.readPing(command);
      case "PONG":
        return "pong";
      case "SUBSCRIBE":
      case "CANCEL":
        if (this.settings.socketType !== "PUB") return this.fail("unexpected_command");
        this.body = command.data;
        return command.name === "SUBSCRIBE" ? "subscribe" : "cancel";
      case "READY":
        return this.fail("unexpected_command");
      case "ERROR":
        return this.fail("refused");
      default:
        this.fault = "unknown_command";
        return "mistake";
    }
  }

  private readPing(command: Command): ConnectionEvent {
    const ping = decodePing(command.data);
    if (ping === undefined) return this.fail("bad_command");
    this.ttlMs = ping.ttlMs;
    this.body = ping.context;
    return "ping";
  }

  /** The connection is over: erases its keys. */
  wipe(): void {
    this.mechanism?.wipe?.();
    this.mechanism = undefined;
    this.seal?.wipe();
  }

  private fail(fault: FaultKind): "fault" {
    this.state = "failed";
    this.fault = fault;
    this.unfinished = undefined;
    this.early = empty;
    return "fault";
  }
}

function greetingOf({ name, isServer }: Security): Buffer {
  return encodeGreeting({ minor: 1, mechanism: name, isServer });
}
