// Data to be sent to one peer, in order: small frames are gathered into one buffer, large ones are
// kept by reference. The buffer starts at 512 bytes and doubles while a turn fills it. Taking
// everything leaves nothing behind, so an idle peer holds no buffer: 64 KiB for each flush cost
// three quarters of the throughput with 1,000 peers. First buffers pass from peer to peer: as
// garbage, they made V8 collect its whole heap twice a second.

import { COMMAND, headBytes, MORE, writeHead } from "./frames.js";
import { GatherGate } from "./gather-gate.js";
import type { Seal } from "./mechanisms/mechanism.js";
import { SealedStream } from "./sealed-stream.js";
import { isStreamed, type OutgoingFrame, type StreamedBody } from "./streamed-body.js";

const firstBytes = 512;
/** Unused first buffers, and how many are kept. */
const spares: Buffer[] = [];
const sparesMax = 256;
const chunkBytesMax = 64 * 1024;
/** From this size on, passing a frame by reference is cheaper than copying it. */
const copyBytesMax = 8 * 1024;
/** Below this size, a loop is faster than a call of TypedArray.set. */
const loopBytesMax = 24;

export class Outbox {
  /** Set when the connection's mechanism encrypts traffic. */
  seal: Seal | undefined;
  /** Set with `seal`: bounds the streamed bodies that are gathered to be encrypted. */
  gate: GatherGate | undefined;
  gatheredBytesMax = Number.POSITIVE_INFINITY;
  bytes = 0;
  messages = 0;
  /** Whether any segment is a streamed body. Its bytes do not count: they are not in memory. */
  hasStreams = false;
  private segments: (Buffer | StreamedBody)[] | undefined;
  private chunk: Buffer | undefined;
  /** The chunk of the last take(), if other peers can reuse it. */
  private taken: Buffer | undefined;
  /** The bytes from..at of the chunk belong to no segment yet. */
  private from = 0;
  private at = 0;

  putMessage(frames: readonly Uint8Array[]): void {
    const last = frames.length - 1;
    if (last < 0) throw new RangeError("a message has at least one frame");
    for (let index = 0; index < last; index++) this.putFrame(MORE, frames[index] as Uint8Array);
    this.putFrame(0, frames[last] as Uint8Array);
    this.messages++;
  }

  /** The same, for a message of which some bodies are streamed. */
  putStreamed(frames: readonly OutgoingFrame[]): void {
    frames.forEach((frame, index) => {
      const flags = index < frames.length - 1 ? MORE : 0;
      if (isStreamed(frame)) this.referStream(flags, frame);
      else this.putFrame(flags, frame);
    });
    this.messages++;
  }

  /** Adds a message that is already encoded in short frames: the bytes from..to. */
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

  /** Adds the body of a command, which does not count as a message. */
  putCommand(body: Buffer): void {
    this.putFrame(COMMAND, body);
  }

  /** Removes and returns everything, in order, where nothing is streamed. */
  take(): Buffer[] {
    return this.takeSegments() as Buffer[];
  }

  /** Removes and returns everything, in order. */
  takeSegments(): (Buffer | StreamedBody)[] {
    this.closeSegment();
    const segments = this.segments ?? [];
    this.taken = this.chunk?.length === firstBytes ? this.chunk : undefined;
    this.segments = undefined;
    this.chunk = undefined;
    this.bytes = 0;
    this.messages = 0;
    this.hasStreams = false;
    return segments;
  }

  /** Call when the bytes of the last take() are no longer needed. */
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

  private referStream(flags: number, stream: StreamedBody): void {
    const body = this.seal === undefined ? stream : this.sealStream(this.seal, flags, stream);
    const size = headBytes(body.length);
    const chunk = this.reserve(size);
    this.at = writeHead(chunk, this.at, this.seal === undefined ? flags : 0, body.length);
    this.closeSegment();
    this.segments ??= [];
    this.segments.push(body);
    this.bytes += size;
    this.hasStreams = true;
  }

  private sealStream(seal: Seal, flags: number, stream: StreamedBody): StreamedBody {
    const { gate = new GatherGate(), gatheredBytesMax } = this;
    return new SealedStream({ seal, gate, gatheredBytesMax }, flags, stream);
  }

  private putSealed(seal: Seal, flags: number, body: Uint8Array): void {
    const size = seal.overheadBytes + body.length;
    const chunk = this.reserve(headBytes(size) + size);
    const at = writeHead(chunk, this.at, 0, size);
    seal.close(seal.take(), flags, body, chunk, at);
    this.bytes += at + size - this.at;
    this.at = at + size;
  }

  /** Returns a chunk with room for `size` bytes at `this.at`. */
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
