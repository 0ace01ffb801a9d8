// Frames, to bytes and back: flags, a length in one byte or eight, a body [37/ZMTP, framing].
// The decoder is fed what a read brought and then asked for frames until it needs more. It judges a frame by its header,
// before a byte of the body is kept, and keeps no more memory for an unfinished body than its limits allow.

import type { FaultKind } from "./faults.js";
import type { Limits } from "./limits.js";

export const MORE = 1;
export const LONG = 2;
export const COMMAND = 4;
const knownFlags = MORE | LONG | COMMAND;

export const shortBytesMax = 255;
const longHeadBytes = 9;
const shortHeadBytes = 2;
// A body up to this size gets its whole memory at its header; a longer one grows with what really arrives.
const reserveBytesMax = 1024 * 1024;
// What remains of a body is read straight into it from this size on: below, one read brings it and what follows.
const directBytesMin = 16 * 1024;
const empty = Buffer.alloc(0);

export function headBytes(length: number): number {
  return length > shortBytesMax ? longHeadBytes : shortHeadBytes;
}

/** Writes the header of a frame and returns where its body goes. */
export function writeHead(target: Buffer, at: number, flags: number, length: number): number {
  if (length <= shortBytesMax) {
    target[at] = flags;
    target[at + 1] = length;
    return at + shortHeadBytes;
  }
  target[at] = flags | LONG;
  target.writeUInt32BE(Math.floor(length / 0x1_0000_0000), at + 1);
  target.writeUInt32BE(length >>> 0, at + 5);
  return at + longHeadBytes;
}

export function encodeFrame(flags: number, body: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(headBytes(body.length) + body.length);
  bytes.set(body, writeHead(bytes, 0, flags, body.length));
  return bytes;
}

export type FrameReading = "frame" | "need-more" | "fault";
export type FrameLimits = Pick<Limits, "frameBytesMax" | "messageBytesMax" | "commandBytesMax">;

export class FrameDecoder {
  /** After "frame": its body, a slice of what was fed where it arrived whole. */
  body: Buffer = empty;
  isMore = false;
  isCommand = false;
  /** After "fault": which. The decoder says the same ever after. */
  fault: FaultKind | undefined;
  /** False until the handshake is over: a message frame is then refused at its header. */
  acceptsMessages = false;
  /** Grows when traffic is sealed: its commands then carry frames. */
  commandBytesMax: number;
  /** What the message in progress may still grow by. The caller, who joins frames to messages, keeps it. */
  messageBytesLeft: number;
  /** Memory held for a body that has not arrived whole. */
  reservedBytes = 0;
  /** After nextPacked(): the message as it came, heads and bodies, is `packed` from here to there. */
  packedFrom = 0;
  packedTo = 0;

  private readonly limits: FrameLimits;
  private chunk: Buffer = empty;
  private at = 0;
  /** A header cut by the end of a read: its first bytes, until the rest comes. */
  private head: Buffer | undefined;
  private headFilled = 0;
  /** The body in progress: how long it will be, and how much of it is here. */
  private partial: Buffer | undefined;
  private partialLength = 0;
  private partialFilled = 0;

  constructor(limits: FrameLimits) {
    this.limits = limits;
    this.commandBytesMax = limits.commandBytesMax;
    this.messageBytesLeft = limits.messageBytesMax;
  }

  feed(chunk: Buffer): void {
    this.chunk = this.at < this.chunk.length ? Buffer.concat([this.chunk.subarray(this.at), chunk]) : chunk;
    this.at = 0;
  }

  next(): FrameReading {
    if (this.fault !== undefined) return "fault";
    if (this.partial !== undefined) return this.continueBody(this.partial);
    const { chunk, at } = this;
    const left = chunk.length - at;
    if (this.headFilled > 0 || left < shortHeadBytes) return this.continueHead();
    const flags = chunk[at] as number;
    if ((flags & LONG) === 0) {
      this.at = at + shortHeadBytes;
      return this.beginBody(flags, chunk[at + 1] as number);
    }
    if (left < longHeadBytes) return this.continueHead();
    this.at = at + longHeadBytes;
    return this.beginBody(flags, readLength(chunk, at + 1));
  }

  /** Memory of a read that has not been used up: while its peer is paused, or waits for its turn. */
  get unreadBytes(): number {
    return this.at < this.chunk.length ? this.chunk.length : 0;
  }

  get packed(): Buffer {
    return this.chunk;
  }

  /**
   * Takes a whole message of short frames in one go, without making anything of each. False, and nothing taken, where
   * the next bytes are no such message: next() then tells what they are.
   */
  nextPacked(framesMax: number): boolean {
    if (!this.isBetweenFrames) return false;
    const end = this.endOfShortFrames(this.chunk, this.at, this.chunk.length, framesMax);
    if (end < 0) return false;
    this.packedFrom = this.at;
    this.packedTo = end;
    this.at = end;
    return true;
  }

  /** The same for bytes that were not fed, where there are none that were: where the message ends, or -1. */
  endOfPacked(bytes: Buffer, from: number, to: number, framesMax: number): number {
    const isUsedUp = this.at === this.chunk.length && this.isBetweenFrames;
    return isUsedUp ? this.endOfShortFrames(bytes, from, to, framesMax) : -1;
  }

  /** The frames of what nextPacked() found. */
  unpack(): Buffer[] {
    const frames: Buffer[] = [];
    for (let at = this.packedFrom; at < this.packedTo; ) {
      const end = at + shortHeadBytes + (this.chunk[at + 1] as number);
      frames.push(end === at + shortHeadBytes ? empty : this.chunk.subarray(at + shortHeadBytes, end));
      at = end;
    }
    return frames;
  }

  /** Where the rest of a large body may be put without a detour, or undefined. What is put there is told to filled(). */
  target(): Buffer | undefined {
    const missing = this.partialLength - this.partialFilled;
    if (this.partial === undefined || missing < directBytesMin) return undefined;
    return this.growTo(this.partial, this.partialFilled + 1).subarray(this.partialFilled);
  }

  filled(bytes: number): void {
    this.partialFilled += bytes;
  }

  private get isBetweenFrames(): boolean {
    return this.partial === undefined && this.headFilled === 0 && this.fault === undefined;
  }

  private endOfShortFrames(bytes: Buffer, from: number, to: number, framesMax: number): number {
    let end = from;
    for (let frames = 1; frames <= framesMax && end + shortHeadBytes <= to; frames++) {
      const flags = bytes[end] as number;
      if (flags > MORE) return -1;
      end += shortHeadBytes + (bytes[end + 1] as number);
      if (flags === MORE) continue;
      return end > to || end - from > this.limits.messageBytesMax ? -1 : end;
    }
    return -1;
  }

  private continueHead(): FrameReading {
    const left = this.chunk.length - this.at;
    if (left === 0) return this.release();
    this.head ??= Buffer.alloc(longHeadBytes);
    const head = this.head;
    if (this.headFilled === 0) {
      head[0] = this.chunk[this.at++] as number;
      this.headFilled = 1;
    }
    const flags = head[0] as number;
    const fault = this.judge(flags, 0);
    if (fault !== undefined) return this.fail(fault);
    const size = flags & LONG ? longHeadBytes : shortHeadBytes;
    while (this.headFilled < size && this.at < this.chunk.length) {
      head[this.headFilled++] = this.chunk[this.at++] as number;
    }
    if (this.headFilled < size) return this.release();
    this.head = undefined;
    this.headFilled = 0;
    return this.beginBody(flags, size === longHeadBytes ? readLength(head, 1) : (head[1] as number));
  }

  private beginBody(flags: number, length: number): FrameReading {
    const fault = this.judge(flags, length);
    if (fault !== undefined) return this.fail(fault);
    this.isMore = (flags & MORE) !== 0;
    this.isCommand = (flags & COMMAND) !== 0;
    const { chunk, at } = this;
    const end = at + length;
    if (end <= chunk.length) {
      // Most frames: whole within a read. An empty one must not hold the read's memory.
      this.body = length === 0 ? empty : chunk.subarray(at, end);
      this.at = end;
      return "frame";
    }
    this.partial = Buffer.allocUnsafeSlow(Math.min(length, reserveBytesMax));
    this.partialLength = length;
    this.partialFilled = 0;
    this.reservedBytes = this.partial.length;
    return this.continueBody(this.partial);
  }

  private continueBody(partial: Buffer): FrameReading {
    const take = Math.min(this.partialLength - this.partialFilled, this.chunk.length - this.at);
    const target = this.growTo(partial, this.partialFilled + take);
    this.chunk.copy(target, this.partialFilled, this.at, this.at + take);
    this.at += take;
    this.partialFilled += take;
    if (this.partialFilled < this.partialLength) return this.release();
    this.body = target;
    this.partial = undefined;
    this.reservedBytes = 0;
    return "frame";
  }

  private growTo(partial: Buffer, size: number): Buffer {
    if (size <= partial.length) return partial;
    const grown = Buffer.allocUnsafeSlow(Math.min(this.partialLength, Math.max(size, partial.length * 2)));
    partial.copy(grown, 0, 0, this.partialFilled);
    this.partial = grown;
    this.reservedBytes = grown.length;
    return grown;
  }

  private judge(flags: number, length: number): FaultKind | undefined {
    if (flags > knownFlags) return "bad_flags";
    if ((flags & COMMAND) !== 0) {
      if ((flags & MORE) !== 0) return "bad_flags";
      return length > this.commandBytesMax ? "command_too_large" : undefined;
    }
    if (!this.acceptsMessages) return "message_in_handshake";
    if (length > this.limits.frameBytesMax) return "frame_too_large";
    return length > this.messageBytesLeft ? "message_too_large" : undefined;
  }

  private fail(fault: FaultKind): "fault" {
    this.fault = fault;
    this.partial = undefined;
    this.reservedBytes = 0;
    this.release();
    return "fault";
  }

  /** The read is used up: let go of it, an idle peer holds no buffer. */
  private release(): "need-more" {
    this.chunk = empty;
    this.at = 0;
    return "need-more";
  }
}

/** A 64-bit length as a double: exact up to 2^53, and beyond every limit above. */
function readLength(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) * 0x1_0000_0000 + bytes.readUInt32BE(at + 4);
}
