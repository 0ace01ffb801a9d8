// The frames of a message that has very many, without an object for each: a million buffers would
// take a quarter of a gigabyte and stall the process while they are made. A frame is a range of one
// of the chunks.

/** Three numbers of four bytes for each frame. */
const rangeBytes = 12;

export class FrameTable {
  /** Number of frames. */
  readonly count: number;
  readonly #chunks: Buffer[] = [];
  readonly #chunkOf: Uint32Array;
  readonly #starts: Uint32Array;
  readonly #ends: Uint32Array;
  #filled = 0;
  #chunkBytes = 0;

  constructor(count: number) {
    this.count = count;
    this.#chunkOf = new Uint32Array(count);
    this.#starts = new Uint32Array(count);
    this.#ends = new Uint32Array(count);
  }

  /** Memory of the frames and of this table. */
  get bytes(): number {
    return this.#chunkBytes + this.count * rangeBytes;
  }

  /** Adds a frame that is a buffer of its own. */
  push(frame: Buffer): void {
    this.#chunks.push(frame);
    this.#chunkBytes += frame.length;
    this.#range(0, frame.length);
  }

  /** Adds short frames: for each its length in one byte, then its bytes. */
  pushRun(bytes: Buffer, filled: number): void {
    this.#chunks.push(bytes);
    this.#chunkBytes += bytes.length;
    for (let at = 0; at < filled; ) {
      const from = at + 1;
      at = from + (bytes[at] as number);
      this.#range(from, at);
    }
  }

  /** The buffer that contains this frame. */
  bufferOf(frame: number): Buffer {
    return this.#chunks[this.#chunkOf[frame] as number] as Buffer;
  }

  /** Offset of the frame's first byte in its buffer. */
  startOf(frame: number): number {
    return this.#starts[frame] as number;
  }

  endOf(frame: number): number {
    return this.#ends[frame] as number;
  }

  #range(from: number, to: number): void {
    this.#chunkOf[this.#filled] = this.#chunks.length - 1;
    this.#starts[this.#filled] = from;
    this.#ends[this.#filled] = to;
    this.#filled += 1;
  }
}
