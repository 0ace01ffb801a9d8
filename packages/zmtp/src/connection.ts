// One connection as a state machine without I/O: greeting, handshake, traffic.
//
//   greeting --peer's greeting agrees--> handshake --mechanism is done--> traffic
//        \                                   |                              |
//         '---------------fault--------------'------------fault-------------'--> failed
//
// The caller feeds it what a read brought, then calls next() until "need-more" and sends what takeOutput() returns.
// Results are in fields, not in objects, because there is one for every message.

import { type Command, decodeCommand, decodePing, encodeError } from "./commands.js";
import type { FaultKind } from "./faults.js";
import { COMMAND, encodeFrame, FrameDecoder, shortBytesMax } from "./frames.js";
import { encodeGreeting, greetingBytes, readGreeting } from "./greeting.js";
import { keepTogether, sharesMemory } from "./kept-copy.js";
import type { Limits } from "./limits.js";
import type { Mechanism, MechanismStep, Seal, Security } from "./mechanisms/mechanism.js";
import { encodeMetadata, type Metadata } from "./metadata.js";
import { announcesIdentity, type PeerSocketType, partnerOf, type SocketType } from "./socket-types.js";

export interface ConnectionSettings {
  readonly socketType: SocketType;
  readonly identity: Buffer;
  readonly security: Security;
  readonly isBound: boolean;
  readonly limits: Limits;
  /** Messages that can be had as they came are: "packed". */
  readonly readsPacked?: boolean;
}

export type ConnectionEvent =
  | "need-more"
  | "ready" // the handshake is over: peerType, peerIdentity, metadata
  | "message" // frames
  | "packed" // a message as it came: decoder.packed; its frames: decoder.unpack()
  | "subscribe" // body is the prefix
  | "cancel" // body is the prefix
  | "ping" // ttlMs; body is the context to give back
  | "pong"
  | "mistake" // fault says which; the connection goes on
  | "fault"; // fault says which; the connection is over

/**
 * What a frame of an unfinished message costs beside its bytes: an object of its own, and its place in a list that grows by
 * half. Measured: 106 bytes of heap and 152 of resident memory; the rest is what the collector needs to move them.
 */
export const frameCostBytes = 256;
const identityBytesMax = 255;
const empty = Buffer.alloc(0);
const noMetadata: Metadata = new Map();

export class Connection {
  state: "greeting" | "handshake" | "traffic" | "failed" = "greeting";
  /** What both speak: 3.0 or 3.1. */
  minor: 0 | 1 = 1;
  peerType: PeerSocketType | undefined;
  peerIdentity: Buffer = empty;
  /** The peer's properties beyond its type and identity. */
  metadata: Metadata = noMetadata;
  frames: Buffer[] = [];
  body: Buffer = empty;
  ttlMs = 0;
  fault: FaultKind | undefined;
  seal: Seal | undefined;

  readonly decoder: FrameDecoder;
  private readonly settings: ConnectionSettings;
  /** Since the handshake, if it is wanted and nothing hides the frames. */
  private readsPacked = false;
  private mechanism: Mechanism | undefined;
  /** The greeting so far. */
  private early: Buffer = empty;
  private output: Buffer[];
  /** Frames of a message whose last has not come, and their bytes. */
  private unfinished: Buffer[] | undefined;
  private unfinishedBytes = 0;
  /** How many of them no longer share memory with a read. */
  private unfinishedKept = 0;

  constructor(settings: ConnectionSettings) {
    this.settings = settings;
    this.decoder = new FrameDecoder(settings.limits);
    const { name, isServer } = settings.security;
    this.output = [encodeGreeting({ minor: 1, mechanism: name, isServer })];
  }

  /** Memory held for what has not arrived whole, or has not been read yet. */
  get heldBytes(): number {
    const { unfinished, decoder } = this;
    const frames = unfinished === undefined ? 0 : unfinished.length * frameCostBytes;
    return this.unfinishedBytes + frames + decoder.reservedBytes + decoder.unreadBytes + this.early.length;
  }

  /** What the handshake wants sent; empty in traffic. */
  takeOutput(): Buffer[] {
    const output = this.output;
    this.output = [];
    return output;
  }

  feed(chunk: Buffer): void {
    if (this.state === "greeting")
      this.early = this.early.length ? Buffer.concat([this.early, chunk]) : chunk;
    else this.decoder.feed(chunk);
  }

  /** Where the next bytes may be put instead of being fed, or undefined; then filled() says how many. */
  target(): Buffer | undefined {
    return this.decoder.target();
  }

  filled(bytes: number): void {
    this.decoder.filled(bytes);
  }

  /** Where a message ends that can be had without being fed, from somebody else's bytes; -1 where it has to be. */
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
      if (reading === "need-more") return this.pauseReading();
      if (reading === "fault") return this.fail(this.decoder.fault as FaultKind);
      const event =
        this.state === "traffic"
          ? this.readTraffic(this.decoder.body, this.decoder.isMore, this.decoder.isCommand)
          : this.readHandshake(this.decoder.body);
      if (event !== undefined) return event;
    }
  }

  /** True when the greeting is done and the handshake may begin. */
  private readGreeting(): boolean {
    const reading = readGreeting(this.early);
    if (reading.kind === "need-more") return false;
    if (reading.kind === "fault") {
      this.fail(reading.fault);
      return false;
    }
    const { security, isBound } = this.settings;
    if (reading.greeting.mechanism !== security.name) {
      this.fail("unknown_mechanism");
      return false;
    }
    this.minor = reading.greeting.minor;
    this.state = "handshake";
    this.decoder.feed(this.early.subarray(greetingBytes));
    this.early = empty;
    this.mechanism = security.open({ metadata: this.ownMetadata(), isBound });
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
    const command = decodeCommand(body);
    if (command === undefined) return this.fail("bad_command");
    return this.apply((this.mechanism as Mechanism).receive(command));
  }

  private apply(step: MechanismStep): ConnectionEvent | undefined {
    this.send(step.send);
    if (step.kind === "wait") return undefined;
    if (step.kind === "fault") return this.fail(step.fault);
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
    this.mechanism = undefined;
    const { frameBytesMax, commandBytesMax } = this.settings.limits;
    this.readsPacked =
      this.settings.readsPacked === true && this.seal === undefined && frameBytesMax >= shortBytesMax;
    if (this.seal === undefined) this.decoder.acceptsMessages = true;
    else this.decoder.commandBytesMax = frameBytesMax + commandBytesMax;
    this.state = "traffic";
    return "ready";
  }

  private readTraffic(body: Buffer, isMore: boolean, isCommand: boolean): ConnectionEvent | undefined {
    if (isCommand) return this.seal === undefined ? this.readCommand(body) : this.openSealed(this.seal, body);
    if (!isMore && this.unfinished === undefined) {
      this.frames = [body];
      return "message";
    }
    return this.joinFrames(body, isMore);
  }

  private joinFrames(body: Buffer, isMore: boolean): ConnectionEvent | undefined {
    const { limits } = this.settings;
    this.unfinished ??= [];
    this.unfinished.push(body);
    if (this.unfinished.length > limits.messageFramesMax) return this.fail("too_many_frames");
    if (isMore) {
      this.unfinishedBytes += body.length;
      this.decoder.messageBytesLeft = limits.messageBytesMax - this.unfinishedBytes;
      return undefined;
    }
    this.frames = this.unfinished;
    this.unfinished = undefined;
    this.unfinishedBytes = 0;
    this.unfinishedKept = 0;
    this.decoder.messageBytesLeft = limits.messageBytesMax;
    return "message";
  }

  // A read may be 64 KiB and the frame that waits in it one byte: what stays beyond the read is copied out of it. All
  // frames of a read share one copy, because memory of its own costs a frame of one byte some hundred bytes.
  private pauseReading(): "need-more" {
    const { unfinished } = this;
    if (unfinished === undefined || this.unfinishedKept === unfinished.length) return "need-more";
    const from = this.unfinishedKept;
    let shared = 0;
    for (let index = from; index < unfinished.length; index++) {
      const frame = unfinished[index] as Buffer;
      if (sharesMemory(frame)) shared += frame.length;
    }
    if (shared > 0) keepTogether(unfinished, from, shared);
    this.unfinishedKept = unfinished.length;
    return "need-more";
  }

  private openSealed(seal: Seal, body: Buffer): ConnectionEvent | undefined {
    const command = decodeCommand(body);
    const opened = command && seal.open(command);
    if (opened === undefined) return this.fail("bad_seal");
    if (opened.isCommand) return this.readCommand(opened.body);
    if (opened.body.length > this.decoder.messageBytesLeft) return this.fail("message_too_large");
    return this.joinFrames(opened.body, opened.isMore);
  }

  // Between the frames of a message too: libzmq sends its PING there.
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

  private fail(fault: FaultKind): "fault" {
    this.state = "failed";
    this.fault = fault;
    this.unfinished = undefined;
    this.unfinishedBytes = 0;
    this.early = empty;
    return "fault";
  }
}
