// What one peer has not taken yet, between the outbox and the stream. One write is in flight at a time: while the peer
// is slow the next one gathers, and past the high-water marks nothing more is taken. A slow peer costs only itself.

import type { Socket as Stream } from "node:net";
import type { Limits } from "../limits.js";
import type { Seal } from "../mechanisms/mechanism.js";
import { Outbox } from "../outbox.js";

/** sent: on its way. queued: taken, but the peer is behind. full: not taken, wait for onRoom. gone: not taken, ever. */
export type SendOutcome = "sent" | "queued" | "full" | "gone";

/** Bytes that the peers of a socket, or of several that share it, have not taken, and hold of unfinished messages. */
export class Totals {
  pendingBytes = 0;
  heldBytes = 0;
}

export class SendQueue {
  /** A write is in flight: after a turn this means that the peer is behind. */
  isWriting = false;

  private readonly stream: Stream;
  private readonly limits: Limits;
  private readonly totals: Totals;
  private readonly onRoom: () => void;
  private readonly outbox = new Outbox();
  private inFlightBytes = 0;
  private inFlightMessages = 0;
  /** A send was refused: the user is to be told when there is room. */
  private owesRoom = false;
  private isFinished = false;

  constructor(stream: Stream, limits: Limits, totals: Totals, onRoom: () => void) {
    this.stream = stream;
    this.limits = limits;
    this.totals = totals;
    this.onRoom = onRoom;
  }

  get pendingBytes(): number {
    return this.outbox.bytes + this.inFlightBytes;
  }

  get pendingMessages(): number {
    return this.outbox.messages + this.inFlightMessages;
  }

  /** Below its high-water marks. */
  get hasRoom(): boolean {
    const { limits, outbox } = this;
    if (outbox.bytes + this.inFlightBytes >= limits.sendBytesMax) return false;
    if (outbox.messages + this.inFlightMessages >= limits.sendMessagesMax) return false;
    return !this.isWriting || this.totals.pendingBytes < limits.sendTotalBytesMax;
  }

  sealWith(seal: Seal | undefined): void {
    this.outbox.seal = seal;
  }

  putMessage(frames: readonly Uint8Array[]): SendOutcome {
    if (!this.hasRoom) {
      this.owesRoom = true;
      return "full";
    }
    const before = this.outbox.bytes;
    this.outbox.putMessage(frames);
    this.totals.pendingBytes += this.outbox.bytes - before;
    return this.isWriting ? "queued" : "sent";
  }

  /** The same for bytes that are a message already. */
  putPacked(bytes: Uint8Array, from: number, to: number): SendOutcome {
    if (!this.hasRoom) {
      this.owesRoom = true;
      return "full";
    }
    const before = this.outbox.bytes;
    this.outbox.putPacked(bytes, from, to);
    this.totals.pendingBytes += this.outbox.bytes - before;
    return this.isWriting ? "queued" : "sent";
  }

  /** Not held to the marks: whoever calls it keeps it rare. */
  putCommand(body: Buffer): void {
    const before = this.outbox.bytes;
    this.outbox.putCommand(body);
    this.totals.pendingBytes += this.outbox.bytes - before;
  }

  /** Writes all that was gathered, in one go. */
  flush(): void {
    if (this.isWriting || this.outbox.bytes === 0 || this.isFinished) return;
    this.inFlightBytes = this.outbox.bytes;
    this.inFlightMessages = this.outbox.messages;
    this.isWriting = true;
    this.write(this.outbox.take(), this.written);
    // The system has taken it all, there and then.
    if (this.stream.writableLength === 0) this.outbox.reuse();
  }

  /** Nothing more will be put. What is left is dropped, or written out behind the write in flight. */
  finish(isWrittenOut: boolean): void {
    this.isFinished = true;
    this.totals.pendingBytes -= this.pendingBytes;
    this.inFlightBytes = 0;
    this.inFlightMessages = 0;
    const rest = this.outbox.take();
    if (isWrittenOut && rest.length > 0) this.write(rest, undefined);
  }

  private write(segments: Buffer[], done: ((error?: Error | null) => void) | undefined): void {
    const last = segments.length - 1;
    if (last > 0) {
      this.stream.cork();
      for (let index = 0; index < last; index++) this.stream.write(segments[index] as Buffer);
    }
    this.stream.write(segments[last] as Buffer, done);
    if (last > 0) this.stream.uncork();
  }

  // A field, not a method: one closure for the life of the peer instead of one for each write.
  private readonly written = (error?: Error | null): void => {
    // After an error the stream reports it itself, and nothing of this peer matters any more.
    if (error || this.isFinished) return;
    this.totals.pendingBytes -= this.inFlightBytes;
    this.inFlightBytes = 0;
    this.inFlightMessages = 0;
    this.isWriting = false;
    if (this.owesRoom && this.isHalfEmpty()) {
      this.owesRoom = false;
      this.onRoom();
    }
    this.flush();
  };

  // Half, so that the user is told of room for a batch and not of room for one message at a time.
  private isHalfEmpty(): boolean {
    const { sendBytesMax, sendMessagesMax } = this.limits;
    return this.pendingBytes * 2 <= sendBytesMax && this.pendingMessages * 2 <= sendMessagesMax;
  }
}
