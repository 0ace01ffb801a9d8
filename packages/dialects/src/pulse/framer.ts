// Splits the bytes of a connection into one message and its extra data. Nothing is allocated on the
// peer's word: memory grows with the bytes that have arrived, up to the limits.

import { prefixBytes } from "./codec.js";
import type { PulseFault, Reading, WithExtra } from "./messages.js";

export interface FramerLimits {
  readonly messageBytesMax: number;
  readonly extraBytesMax: number;
}

/**
 * [pulse 1.5] A message's own fields take at most 44 bytes. The rest is room for fields of later
 * versions.
 */
export const messageBytesMax = 4096;

export const defaultFramerLimits: FramerLimits = { messageBytesMax, extraBytesMax: 268_435_456 };

const empty = Buffer.alloc(0);

/** A block of known length that fills as its bytes arrive. */
class Block {
  readonly #size: number;
  #bytes: Buffer = empty;
  #filled = 0;

  constructor(size: number) {
    this.#size = size;
  }

  get isFull(): boolean {
    return this.#filled === this.#size;
  }

  get bytes(): Buffer {
    return this.#bytes;
  }

  /**
   * Takes its part from the front of a chunk and returns how much that was. A block that arrives
   * whole is not copied.
   */
  fill(chunk: Buffer): number {
    if (this.#filled === 0 && chunk.length >= this.#size) {
      this.#bytes = chunk.subarray(0, this.#size);
      this.#filled = this.#size;
      return this.#size;
    }
    const taken = Math.min(chunk.length, this.#size - this.#filled);
    const filled = this.#filled + taken;
    if (filled > this.#bytes.length) this.#grow(filled);
    this.#bytes.set(taken === chunk.length ? chunk : chunk.subarray(0, taken), this.#filled);
    this.#filled = filled;
    return taken;
  }

  /**
   * Doubles, so that each byte is copied twice on average. The last step ends at the block's own
   * size.
   */
  #grow(needed: number): void {
    const room = Math.min(this.#size, Math.max(needed, 2 * this.#bytes.length));
    const bytes = Buffer.allocUnsafeSlow(room);
    bytes.set(this.#bytes);
    this.#bytes = bytes;
  }
}

/** Reads one message. Bytes behind its extra data stay unread. */
export class MessageFramer<Message> {
  readonly #read: (bytes: Buffer) => Reading<Message>;
  readonly #extraSizeOf: (message: Message) => bigint;
  readonly #limits: FramerLimits;
  #part: "prefix" | "message" | "extra" | "done" = "prefix";
  #block = new Block(prefixBytes);
  #message: Message | undefined;

  constructor(
    read: (bytes: Buffer) => Reading<Message>,
    extraSizeOf: (message: Message) => bigint,
    limits: FramerLimits = defaultFramerLimits,
  ) {
    this.#read = read;
    this.#extraSizeOf = extraSizeOf;
    this.#limits = limits;
  }

  /** Undefined when more bytes are needed. After a message or a fault it accepts nothing more. */
  push(chunk: Buffer): Reading<WithExtra<Message>> | undefined {
    let rest = chunk;
    while (this.#part !== "done") {
      rest = rest.subarray(this.#block.fill(rest));
      if (!this.#block.isFull) return undefined;
      const reading = this.#next();
      if (reading !== undefined) {
        this.#part = "done";
        return reading;
      }
    }
    return undefined;
  }

  /** Called when a part is complete: starts the next part, or returns the message. */
  #next(): Reading<WithExtra<Message>> | undefined {
    if (this.#part === "prefix") {
      const length = this.#block.bytes.readBigUInt64LE(0);
      if (length > this.#limits.messageBytesMax) return faulty("message_too_large");
      this.#expect("message", Number(length));
      return undefined;
    }
    if (this.#part === "message") {
      const reading = this.#read(this.#block.bytes);
      if (!reading.ok) return reading;
      this.#message = reading.message;
      const size = this.#extraSizeOf(reading.message);
      if (size > this.#limits.extraBytesMax) return faulty("extra_too_large");
      this.#expect("extra", Number(size));
      return undefined;
    }
    return { ok: true, message: { message: this.#message as Message, extra: this.#block.bytes } };
  }

  #expect(part: "message" | "extra", size: number): void {
    this.#part = part;
    this.#block = new Block(size);
  }
}

function faulty(fault: PulseFault): { readonly ok: false; readonly fault: PulseFault } {
  return { ok: false, fault };
}

/** For messages without extra data. */
export const noExtra = () => 0n;

export const extraSizeOf = (message: { readonly extraSize: bigint }) => message.extraSize;
