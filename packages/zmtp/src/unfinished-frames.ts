// The frames of a message whose last frame has not arrived. As an object, a one-byte frame costs a
// hundred bytes, and the garbage collector pauses the process to visit a million of them. So short
// frames that outlive the read they arrived in are packed into buffers.

import { FrameTable } from "./frame-table.js";
import { keptCopy, sharesMemory } from "./kept-copy.js";

/** Longest frame that is packed: its length takes one byte. */
const packedBytesMax = 255;
/** Size at which a run is full. Growing copies a run, so runs stay small. */
const runBytesMax = 64 * 1024;
const firstRunBytes = 256;

/** Consecutive short frames: for each its length in one byte, then its bytes. */
interface Run {
  bytes: Buffer;
  filled: number;
}

export class UnfinishedFrames {
  /** Number of frames. */
  count = 0;
  /** Total size of the frames. */
  bytes = 0;
  /** Frames of earlier reads, in order. */
  readonly #kept: (Buffer | Run)[] = [];
  /** Frames of the current read; they are slices of its buffer. */
  #fresh: Buffer[] = [];

  push(frame: Buffer): void {
    this.count += 1;
    this.bytes += frame.length;
    this.#fresh.push(frame);
  }

  /**
   * Copies frames out of the read buffer: one byte would keep 64 KiB alive. `isKnown`: the caller
   * recognises this frame by its object, so it is not packed.
   */
  keep(isKnown: (frame: Buffer) => boolean = () => false): void {
    if (this.#fresh.length === 0) return;
    for (const frame of this.#fresh) {
      if (isKnown(frame)) this.#kept.push(frame);
      else if (frame.length <= packedBytesMax) this.#pack(frame);
      else this.#kept.push(sharesMemory(frame) ? keptCopy(frame) : frame);
    }
    this.#fresh = [];
  }

  /** All frames, in order. */
  take(): Buffer[] {
    if (this.#kept.length === 0) return this.#fresh;
    const frames: Buffer[] = [];
    for (const kept of this.#kept) {
      if (Buffer.isBuffer(kept)) frames.push(kept);
      else unpackInto(frames, kept);
    }
    for (const frame of this.#fresh) frames.push(frame);
    return frames;
  }

  /** All frames, in order, without an object for each. Their memory is theirs alone. */
  table(isKnown?: (frame: Buffer) => boolean): FrameTable {
    this.keep(isKnown);
    const table = new FrameTable(this.count);
    for (const kept of this.#kept) {
      if (Buffer.isBuffer(kept)) table.push(kept);
      else table.pushRun(kept.bytes, kept.filled);
    }
    return table;
  }

  #pack(frame: Buffer): void {
    const run = this.#runFor(frame.length + 1);
    run.bytes[run.filled] = frame.length;
    run.bytes.set(frame, run.filled + 1);
    run.filled += frame.length + 1;
  }

  #runFor(bytes: number): Run {
    const last = this.#kept.at(-1);
    if (last === undefined || Buffer.isBuffer(last) || last.filled + bytes > runBytesMax) {
      const run = { bytes: Buffer.allocUnsafeSlow(firstRunBytes), filled: 0 };
      this.#kept.push(run);
      return run;
    }
    if (last.filled + bytes > last.bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(runBytesMax, last.bytes.length * 2));
      last.bytes.copy(grown, 0, 0, last.filled);
      last.bytes = grown;
    }
    return last;
  }
}

function unpackInto(frames: Buffer[], { bytes, filled }: Run): void {
  for (let at = 0; at < filled; ) {
    const from = at + 1;
    at = from + (bytes[at] as number);
    frames.push(bytes.subarray(from, at));
  }
}
