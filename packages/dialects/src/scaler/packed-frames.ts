// A message as it came: before each frame a byte that is 1, or 0 before the last, and a byte with its length. The two kinds
// of message that come for every task, and the objects that come with them, are read and written in this form, since an
// object for each of their frames costs more than all else that is done with them. Whatever is out of the ordinary is
// left to the codec, which has the last word on what a message is.

import { none } from "./frames.js";

/** A task of more arguments is rare enough to be read frame by frame. */
const framesMax = 32;
const headBytes = 2;

export class PackedFrames {
  bytes: Buffer = none;
  count = 0;
  /** Where each frame's body begins and ends. */
  readonly starts = new Int32Array(framesMax);
  readonly ends = new Int32Array(framesMax);

  /** False for one of too many frames. */
  read(bytes: Buffer, from: number, to: number): boolean {
    this.bytes = bytes;
    let count = 0;
    for (let at = from; at < to; count++) {
      if (count === framesMax) return false;
      this.starts[count] = at + headBytes;
      at += headBytes + (bytes[at + 1] as number);
      this.ends[count] = at;
    }
    this.count = count;
    return true;
  }

  lengthOf(frame: number): number {
    return (this.ends[frame] as number) - (this.starts[frame] as number);
  }

  /** The two letters of its type as one number; 0 for any other first frame. */
  get type(): number {
    if (this.lengthOf(0) !== 2) return 0;
    const at = this.starts[0] as number;
    return ((this.bytes[at] as number) << 8) | (this.bytes[at + 1] as number);
  }

  /** Whether a frame is this one letter. */
  isLetter(frame: number, code: number): boolean {
    return this.lengthOf(frame) === 1 && this.bytes[this.starts[frame] as number] === code;
  }

  is(frame: number, bytes: Uint8Array): boolean {
    const start = this.starts[frame] as number;
    if (this.lengthOf(frame) !== bytes.length) return false;
    for (let i = 0; i < bytes.length; i++) if (this.bytes[start + i] !== bytes[i]) return false;
    return true;
  }
}

/** Where messages of this form are put together, one at a time. */
export class PackedWriter {
  readonly bytes: Buffer;
  /** So far. */
  length = 0;

  constructor(bytesMax: number) {
    this.bytes = Buffer.allocUnsafeSlow(bytesMax);
  }

  /** Begins a message with its type. */
  begin(type: number): void {
    const { bytes } = this;
    bytes[0] = 1;
    bytes[1] = 2;
    bytes[2] = type >> 8;
    bytes[3] = type & 0xff;
    this.length = 4;
  }

  put(bytes: Uint8Array, from: number, to: number, isLast = false): void {
    const body = this.#head(to - from, isLast);
    for (let i = from; i < to; i++) this.bytes[body + i - from] = bytes[i] as number;
  }

  putLetter(code: number): void {
    this.bytes[this.#head(1, false)] = code;
  }

  putHex(text: string, isLast = false): void {
    const body = this.#head(text.length / 2, isLast);
    if (text.length > 0) this.bytes.write(text, body, text.length / 2, "hex");
  }

  #head(length: number, isLast: boolean): number {
    const at = this.length;
    this.bytes[at] = isLast ? 0 : 1;
    this.bytes[at + 1] = length;
    this.length = at + headBytes + length;
    return at + headBytes;
  }
}

/** Frames in this form; undefined when one of them is too long for it. */
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

export function unpackFrames(bytes: Buffer, from: number, to: number): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = from; at < to; ) {
    const end = at + headBytes + (bytes[at + 1] as number);
    frames.push(bytes.subarray(at + headBytes, end));
    at = end;
  }
  return frames;
}
