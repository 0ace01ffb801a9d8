// The frames of one message, where they arrived: packed in the read buffer, or as a list. A socket
// gives a list if a frame is long, if the message came in several reads, or if it was encrypted.
// Codecs read both through this view, so that a message has one reader. In packed form each frame
// is preceded by a byte that is 1, or 0 for the last frame, and by a length byte.
//
// A view is used for one message after the other, and the bytes are only lent: what is kept must be
// copied before the handler returns.

import { ownBytes } from "./body.js";

/** The frames of a message that has very many, as a socket gives them. They may be kept. */
export interface ManyFrames {
  readonly count: number;
  bufferOf(frame: number): Buffer;
  startOf(frame: number): number;
  endOf(frame: number): number;
}

/** A packed message of more frames becomes a list. */
const packedFramesMax = 64;
const headBytes = 2;
const empty = Buffer.alloc(0);
const noList: readonly Buffer[] = [];
/** Most views of a list never need offsets. */
const noOffsets = new Int32Array(0);

export class WireFrames {
  count = 0;
  #bytes: Buffer = empty;
  #list: readonly Buffer[] | undefined = noList;
  #many: ManyFrames | undefined = undefined;
  /** In packed form: the offset of each frame's first byte, and of its end. */
  #starts = noOffsets;
  #ends = noOffsets;

  static of(frames: readonly Buffer[]): WireFrames {
    return new WireFrames().readList(frames);
  }

  /** Reads the packed message in the bytes from..to. */
  readPacked(bytes: Buffer, from: number, to: number): this {
    if (this.#starts === noOffsets) {
      this.#starts = new Int32Array(packedFramesMax);
      this.#ends = new Int32Array(packedFramesMax);
    }
    let count = 0;
    for (let at = from; at < to; count++) {
      if (count === packedFramesMax) return this.readList(unpackFrames(bytes, from, to));
      this.#starts[count] = at + headBytes;
      at += headBytes + (bytes[at + 1] as number);
      this.#ends[count] = at;
    }
    this.#bytes = bytes;
    this.#list = undefined;
    this.#many = undefined;
    this.count = count;
    return this;
  }

  static many(frames: ManyFrames): WireFrames {
    const view = new WireFrames();
    view.#list = undefined;
    view.#many = frames;
    view.count = frames.count;
    return view;
  }

  /** True if the view and its memory may be kept. An object for each frame would cost much then. */
  get areMany(): boolean {
    return this.#many !== undefined;
  }

  readList(frames: readonly Buffer[]): this {
    this.#list = frames;
    this.count = frames.length;
    return this;
  }

  /** The message was handled: its memory can be freed. */
  clear(): void {
    this.#bytes = empty;
    this.#list = noList;
    this.count = 0;
  }

  /** The buffer that contains this frame. */
  bufferOf(frame: number): Buffer {
    if (this.#list !== undefined) return this.#list[frame] as Buffer;
    return this.#many === undefined ? this.#bytes : this.#many.bufferOf(frame);
  }

  /** Offset of the frame's first byte in its buffer. */
  startOf(frame: number): number {
    if (this.#list !== undefined) return 0;
    return this.#many === undefined ? (this.#starts[frame] as number) : this.#many.startOf(frame);
  }

  endOf(frame: number): number {
    if (this.#list !== undefined) return (this.#list[frame] as Buffer).length;
    return this.#many === undefined ? (this.#ends[frame] as number) : this.#many.endOf(frame);
  }

  lengthOf(frame: number): number {
    return this.endOf(frame) - this.startOf(frame);
  }

  /** Size of all frames, without their heads. */
  get size(): number {
    let size = 0;
    for (let frame = 0; frame < this.count; frame++) size += this.lengthOf(frame);
    return size;
  }

  is(frame: number, bytes: Uint8Array): boolean {
    if (frame >= this.count || this.lengthOf(frame) !== bytes.length) return false;
    const buffer = this.bufferOf(frame);
    const start = this.startOf(frame);
    for (let i = 0; i < bytes.length; i++) if (buffer[start + i] !== bytes[i]) return false;
    return true;
  }

  /** The frame as a slice of its buffer, lent like the buffer. */
  slice(frame: number): Buffer {
    if (this.#list !== undefined) return this.#list[frame] as Buffer;
    const bytes = this.bufferOf(frame);
    const [start, end] = [this.startOf(frame), this.endOf(frame)];
    return start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end);
  }

  slices(from = 0, to = this.count): Buffer[] {
    const frames: Buffer[] = [];
    for (let frame = from; frame < to; frame++) frames.push(this.slice(frame));
    return frames;
  }

  /** The frame in memory that may be kept. Most are copies. */
  keep(frame: number): Buffer {
    if (this.#list !== undefined) return ownBytes(this.slice(frame));
    const own = Buffer.allocUnsafe(this.lengthOf(frame));
    this.copyTo(own, 0, frame);
    return own;
  }

  /** Copies the frame's bytes to `target` at `at`, and returns where they end. */
  copyTo(target: Buffer, at: number, frame: number): number {
    const buffer = this.bufferOf(frame);
    const start = this.startOf(frame);
    const end = this.endOf(frame);
    if (end - start > loopBytesMax) buffer.copy(target, at, start, end);
    else for (let i = start; i < end; i++) target[at + i - start] = buffer[i] as number;
    return at + end - start;
  }

  /** All frames, in memory that may be kept. */
  own(): Buffer[] {
    if (this.#list !== undefined) return [...this.#list];
    const bytes = Buffer.allocUnsafe(this.size);
    const frames: Buffer[] = [];
    for (let frame = 0, at = 0; frame < this.count; frame++) {
      const end = this.copyTo(bytes, at, frame);
      frames.push(bytes.subarray(at, end));
      at = end;
    }
    return frames;
  }
}

/** Up to this size a loop is faster than a copy, which first creates an object for the range. */
const loopBytesMax = 128;

/** Packs frames as they would arrive. Undefined if one of them is too long for the packed form. */
export function packFrames(frames: readonly Uint8Array[]): Buffer | undefined {
  let size = 0;
  for (const { length } of frames) {
    if (length > 255) return undefined;
    size += headBytes + length;
  }
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  frames.forEach((frame, index) => {
    bytes[at] = index < frames.length - 1 ? 1 : 0;
    bytes[at + 1] = frame.length;
    bytes.set(frame, at + headBytes);
    at += headBytes + frame.length;
  });
  return bytes;
}

/** The frames of a packed message, as slices of a copy. */
export function unpackFrames(bytes: Uint8Array, from: number, to: number): Buffer[] {
  const own = Buffer.from(bytes.subarray(from, to));
  const frames: Buffer[] = [];
  for (let at = 0; at < own.length; ) {
    const end = at + headBytes + (own[at + 1] as number);
    frames.push(own.subarray(at + headBytes, end));
    at = end;
  }
  return frames;
}
