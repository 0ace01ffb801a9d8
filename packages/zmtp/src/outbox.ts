// What one peer is yet to be sent: small frames gathered into one buffer, large ones by reference, in order.
// The buffer starts at 512 bytes and doubles while a turn fills it. Taking everything leaves nothing behind, so an idle
// peer holds no buffer: 64 KiB for each flush cost three quarters of the throughput with 1,000 peers. First buffers go
// from peer to peer: as garbage they were enough for V8 to go through its whole heap twice a second.

import { COMMAND, encodeFrame, headBytes, MORE, writeHead } from "./frames.js";
import type { Seal } from "./mechanisms/mechanism.js";

const firstBytes = 512;
/** First buffers that nobody uses now, and how many there may be. */
const spares: Buffer[] = [];
const sparesMax = 256;
const chunkBytesMax = 64 * 1024;
/** From here on a frame is cheaper to hand over than to copy. */
const copyBytesMax = 8 * 1024;
/** Below this a loop is faster than the call into TypedArray.set. */
const loopBytesMax = 24;

export class Outbox {
  /** Set when the mechanism of the connection hides traffic. */
  seal: Seal | undefined;
  bytes = 0;
  messages = 0;
  private segments: Buffer[] | undefined;
  private chunk: Buffer | undefined;
  /** The chunk of what was taken last, if it was one that others can use. */
  private taken: Buffer | undefined;
  /** The part of the chunk that belongs to no segment yet is from..at. */
  private from = 0;
  private at = 0;

  putMessage(frames: readonly Uint8Array[]): void {
    const last = frames.length - 1;
    if (last < 0) throw new RangeError("a message has at least one frame");
    for (let index = 0; index < last; index++) this.putFrame(MORE, frames[index] as Uint8Array);
    this.putFrame(0, frames[last] as Uint8Array);
    this.messages++;
  }

  /** A message that is frames already, all short ones: the bytes from..to. */
  putPacked(bytes: Uint8Array, from: number, to: number): void {
    if (this.seal === undefined) {
      const chunk = this.reserve(to - from);
      const { at } = this;
      for (let i = from; i < to; i++) chunk[at + i - from] = bytes[i] as number;
      this.at += to - from;
      this.bytes += to - from;
    } else this.putUnpacked(bytes, from, to);
    this.messages++;
  }

  /** The body of a command; not counted as a message. */
  putCommand(body: Buffer): void {
    this.putFrame(COMMAND, body);
  }

  /** Bytes that are frames already. */
  putEncoded(bytes: Buffer): void {
    this.reserve(bytes.length).set(bytes, this.at);
    this.at += bytes.length;
    this.bytes += bytes.length;
  }

  /** All of it, in order, and the outbox is empty. */
  take(): Buffer[] {
    this.closeSegment();
    const segments = this.segments ?? [];
    this.taken = this.chunk?.length === firstBytes ? this.chunk : undefined;
    this.segments = undefined;
    this.chunk = undefined;
    this.bytes = 0;
    this.messages = 0;
    return segments;
  }

  /** Nobody needs the bytes of the last take() any more. */
  reuse(): void {
    if (this.taken !== undefined && spares.length < sparesMax) spares.push(this.taken);
    this.taken = undefined;
  }

  private putFrame(flags: number, body: Uint8Array): void {
    if (this.seal !== undefined) this.putSealed(this.seal, flags, body);
    else if (body.length < copyBytesMax) this.copyFrame(flags, body);
    else this.referFrame(flags, body);
  }

  private putUnpacked(bytes: Uint8Array, from: number, to: number): void {
    for (let at = from; at < to; ) {
      const bodyAt = at + headBytes(0);
      const end = bodyAt + (bytes[at + 1] as number);
      this.putFrame(bytes[at] as number, bytes.subarray(bodyAt, end));
      at = end;
    }
  }

  private copyFrame(flags: number, body: Uint8Array): void {
    const { length } = body;
    const chunk = this.reserve(headBytes(length) + length);
    const bodyAt = writeHead(chunk, this.at, flags, length);
    if (length <= loopBytesMax) for (let i = 0; i < length; i++) chunk[bodyAt + i] = body[i] as number;
    else chunk.set(body, bodyAt);
    this.bytes += bodyAt + length - this.at;
    this.at = bodyAt + length;
  }

  private referFrame(flags: number, body: Uint8Array): void {
    const size = headBytes(body.length);
    const chunk = this.reserve(size);
    this.at = writeHead(chunk, this.at, flags, body.length);
    this.closeSegment();
    this.segments ??= [];
    this.segments.push(Buffer.from(body.buffer, body.byteOffset, body.length));
    this.bytes += size + body.length;
  }

  private putSealed(seal: Seal, flags: number, body: Uint8Array): void {
    const opened = Buffer.from(body.buffer, body.byteOffset, body.length);
    const isMore = (flags & MORE) !== 0;
    const isCommand = (flags & COMMAND) !== 0;
    this.putEncoded(encodeFrame(COMMAND, seal.close({ isMore, isCommand, body: opened })));
  }

  /** A chunk with room for `size` bytes at `this.at`. */
  private reserve(size: number): Buffer {
    const chunk = this.chunk;
    if (chunk !== undefined && this.at + size <= chunk.length) return chunk;
    this.closeSegment();
    const doubled = chunk === undefined ? firstBytes : Math.min(chunk.length * 2, chunkBytesMax);
    const bytes = Math.max(doubled, size);
    this.chunk = (bytes === firstBytes ? spares.pop() : undefined) ?? Buffer.allocUnsafe(bytes);
    this.from = 0;
    this.at = 0;
    return this.chunk;
  }

  private closeSegment(): void {
    if (this.chunk === undefined || this.at === this.from) return;
    this.segments ??= [];
    this.segments.push(this.chunk.subarray(this.from, this.at));
    this.from = this.at;
  }
}
