// Encodes and decodes frames: flags, a length of one byte or eight, a body [37/ZMTP, framing]. The
// decoder is fed with reads and then asked for frames until it needs more. It judges a frame by its
// header before it keeps a byte of the body, and its limits bound the memory for an unfinished
// body.

import type { FaultKind } from "./faults.js";
import type { Limits } from "./limits.js";

export const MORE = 1;
export const LONG = 2;
export const COMMAND = 4;
const knownFlags = MORE | LONG | COMMAND;

export const shortBytesMax = 255;
const longHeadBytes = 9;
const shortHeadBytes = 2;
// A body up to this size gets all its memory when its header arrives. A longer one grows with the
// bytes that arrive.
const reserveBytesMax = 1024 * 1024;
// From this size on, the rest of a body is read directly into place. Below it, one read brings the
// rest and what follows.
const directBytesMin = 16 * 1024;
const empty = Buffer.alloc(0);
/** Nobody sends more than this by mistake. */
const droppedBytesMax = 2 ** 40;

export function headBytes(length: number): number {
  return length > shortBytesMax ? longHeadBytes : shortHeadBytes;
}

/** Writes a frame's header and returns the offset of its body. */
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
  /** After "frame": the body, a slice of the read buffer if it arrived whole. */
  body: Buffer = empty;
  isMore = false;
  isCommand = false;
  /** After "fault": the kind. The decoder then returns the same fault for ever. */
  fault: FaultKind | undefined;
  /** False until the handshake is over. A message frame before that is refused at its header. */
  acceptsMessages = false;
  /** Both are larger when traffic is encrypted: every frame then has a sealed one inside. */
  commandBytesMax: number;
  frameBytesMax: number;
  /**
   * How many more bytes the current message may have. Maintained by the caller, which joins frames
   * to messages.
   */
  messageBytesLeft: number;
  /** Memory held for an incomplete body. */
  reservedBytes = 0;
  /**
   * After nextPacked(): the message in its wire form is `packed` from this offset to the next
   * field's.
   */
  packedFrom = 0;
  packedTo = 0;
  /**
   * A message frame above a limit is read and dropped, and an empty body stands for it; its size
   * is then in droppedBytes.
   */
  dropsOversized = false;
  /** After "frame": the size of the body if it was dropped. The caller sets it back to 0. */
  droppedBytes = 0;

  private readonly limits: FrameLimits;
  private chunk: Buffer = empty;
  private at = 0;
  /** The first bytes of a header that was cut by the end of a read. */
  private head: Buffer | undefined;
  private headFilled = 0;
  /** The incomplete body, its final length, and how much of it has arrived. */
  private partial: Buffer | undefined;
  private partialLength = 0;
  private partialFilled = 0;
  /** What is yet to come of a body that is dropped, and its whole size. */
  private dropLeft = 0;
  private dropLength = 0;

  constructor(limits: FrameLimits) {
    this.limits = limits;
    this.commandBytesMax = limits.commandBytesMax;
    this.frameBytesMax = limits.frameBytesMax;
    this.messageBytesLeft = limits.messageBytesMax;
  }

  feed(chunk: Buffer): void {
    this.chunk = this.at < this.chunk.length ? Buffer.concat([this.chunk.subarray(this.at), chunk]) : chunk;
    this.at = 0;
  }

  next(): FrameReading {
    if (this.fault !== undefined) return "fault";
    if (this.partial !== undefined) return this.continueBody(this.partial);
    if (this.dropLeft > 0) return this.continueDropping();
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

  /** Memory of a read that is not consumed yet because the peer is paused or waits for its turn. */
  get unreadBytes(): number {
    return this.at < this.chunk.length ? this.chunk.length : 0;
  }

  get packed(): Buffer {
    return this.chunk;
  }

  /**
   * Takes a whole message of short frames at once, without an object per frame. Returns false and
   * takes nothing if the next bytes are not such a message; next() then handles them.
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

  /**
   * Like nextPacked(), for foreign bytes when nothing is pending: the end of the message, or -1.
   */
  endOfPacked(bytes: Buffer, from: number, to: number, framesMax: number): number {
    const isUsedUp = this.at === this.chunk.length && this.isBetweenFrames;
    return isUsedUp ? this.endOfShortFrames(bytes, from, to, framesMax) : -1;
  }

  /** The frames of the message that nextPacked() found. */
  unpack(): Buffer[] {
    const frames: Buffer[] = [];
    for (let at = this.packedFrom; at < this.packedTo; ) {
      const end = at + shortHeadBytes + (this.chunk[at + 1] as number);
      frames.push(end === at + shortHeadBytes ? empty : this.chunk.subarray(at + shortHeadBytes, end));
      at = end;
    }
    return frames;
  }

  /**
   * A buffer for the rest of a large body, or undefined. Report what was put there with filled().
   * While fed bytes are unread there is none: they belong in front of the next ones, and the
   * buffer that is given out now would overlap the place they get when they are read.
   */
  target(): Buffer | undefined {
    if (this.at < this.chunk.length) return undefined;
    const missing = this.partialLength - this.partialFilled;
    if (this.partial === undefined || missing < directBytesMin) return undefined;
    return this.growTo(this.partial, this.partialFilled + 1).subarray(this.partialFilled);
  }

  filled(bytes: number): void {
    this.partialFilled += bytes;
  }

  private get isBetweenFrames(): boolean {
    const isInside = this.partial !== undefined || this.dropLeft > 0 || this.headFilled > 0;
    return !isInside && this.fault === undefined;
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
    const isDropped = fault !== undefined && this.isDroppable(fault, length);
    if (fault !== undefined && !isDropped) return this.fail(fault);
    this.isMore = (flags & MORE) !== 0;
    this.isCommand = (flags & COMMAND) !== 0;
    if (isDropped) {
      this.dropLeft = length;
      this.dropLength = length;
      return this.continueDropping();
    }
    const { chunk, at } = this;
    const end = at + length;
    if (end <= chunk.length) {
      // The common case: the frame is whole within a read. An empty one must not keep the read
      // buffer alive.
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

  private isDroppable(fault: FaultKind, length: number): boolean {
    const isTooLarge = fault === "frame_too_large" || fault === "message_too_large";
    return this.dropsOversized && isTooLarge && length <= droppedBytesMax;
  }

  private continueDropping(): FrameReading {
    const take = Math.min(this.dropLeft, this.chunk.length - this.at);
    this.at += take;
    this.dropLeft -= take;
    if (this.dropLeft > 0) return this.release();
    // A new buffer for each dropped frame, because the caller identifies the frame by it.
    this.body = Buffer.alloc(0);
    this.droppedBytes = this.dropLength;
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
    if (length > this.frameBytesMax) return "frame_too_large";
    return length > this.messageBytesLeft ? "message_too_large" : undefined;
  }

  private fail(fault: FaultKind): "fault" {
    this.fault = fault;
    this.partial = undefined;
    this.reservedBytes = 0;
    this.release();
    return "fault";
  }

  /** Releases the consumed read buffer, so that an idle peer holds none. */
  private release(): "need-more" {
    this.chunk = empty;
    this.at = 0;
    return "need-more";
  }
}

/** A 64-bit length as a double: exact up to 2^53, which is above every limit. */
function readLength(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) * 0x1_0000_0000 + bytes.readUInt32BE(at + 4);
}
