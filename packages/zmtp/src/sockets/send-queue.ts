// Unsent data of one peer, between the outbox and the stream. One write is in flight at a time.
// While the peer is slow, the next write gathers data; beyond the high-water marks, sends are
// refused. So a slow peer costs only itself.

import type { Socket as Stream } from "node:net";
import { GatherGate } from "../gather-gate.js";
import type { Limits } from "../limits.js";
import type { Seal } from "../mechanisms/mechanism.js";
import { Outbox } from "../outbox.js";
import { isStreamed, type OutgoingFrame } from "../streamed-body.js";
import { endStreams, StreamedWrite } from "./streamed-write.js";

/**
 * sent: on its way. queued: accepted, but the peer is behind. full: refused, wait for onRoom. gone:
 * refused for good.
 */
export type SendOutcome = "sent" | "queued" | "full" | "gone";

/**
 * Total bytes that the peers of one or several sockets have not received, and hold as unfinished
 * messages.
 */
export class Totals {
  pendingBytes = 0;
  heldBytes = 0;
  /** Bounds the streamed bodies that are gathered to be encrypted. */
  readonly gate = new GatherGate();
}

export class SendQueue {
  /** True while a write is in flight. After a turn, this means that the peer is behind. */
  isWriting = false;
  /** The number of writes so far. */
  writes = 0;

  private readonly stream: Stream;
  private readonly limits: Limits;
  private readonly totals: Totals;
  private readonly onRoom: () => void;
  private readonly outbox = new Outbox();
  private inFlightBytes = 0;
  private inFlightMessages = 0;
  /** True after a refused send: the user must be told when there is room. */
  private owesRoom = false;
  private isFinished = false;
  /** The write in flight, where it has streamed bodies. */
  private streamed: StreamedWrite | undefined;

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

  /** True below its high-water marks. */
  get hasRoom(): boolean {
    const { limits, outbox } = this;
    if (outbox.bytes + this.inFlightBytes >= limits.sendBytesMax) return false;
    if (outbox.messages + this.inFlightMessages >= limits.sendMessagesMax) return false;
    return !this.isWriting || this.totals.pendingBytes < limits.sendTotalBytesMax;
  }

  sealWith(seal: Seal | undefined): void {
    if (seal === undefined) return;
    this.outbox.seal = seal;
    this.outbox.gate = this.totals.gate;
    this.outbox.gatheredBytesMax = this.limits.sendTotalBytesMax;
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

  /** The same for a message with streamed bodies, of which one piece is in memory at a time. */
  putStreamed(frames: readonly OutgoingFrame[]): SendOutcome {
    if (!this.hasRoom) {
      this.owesRoom = true;
      return "full";
    }
    const before = this.outbox.bytes;
    this.outbox.putStreamed(frames);
    this.totals.pendingBytes += this.outbox.bytes - before;
    return this.isWriting ? "queued" : "sent";
  }

  /** Like put(), for bytes that are already a message. */
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

  /** Exempt from the marks: the caller must use it rarely. */
  putCommand(body: Buffer): void {
    const before = this.outbox.bytes;
    this.outbox.putCommand(body);
    this.totals.pendingBytes += this.outbox.bytes - before;
  }

  /** Writes everything gathered, at once. */
  flush(): void {
    if (this.isWriting || this.outbox.bytes === 0 || this.isFinished) return;
    this.inFlightBytes = this.outbox.bytes;
    this.inFlightMessages = this.outbox.messages;
    this.isWriting = true;
    this.writes += 1;
    if (this.outbox.hasStreams) {
      this.streamed = new StreamedWrite(this.stream, this.outbox.takeSegments(), this.written);
      this.streamed.next();
      return;
    }
    this.write(this.outbox.take(), this.written);
    // The operating system took everything immediately.
    if (this.stream.writableLength === 0) this.outbox.reuse();
  }

  /** Ends sending. The rest is dropped, or written out after the write in flight. */
  finish(isWrittenOut: boolean): void {
    this.isFinished = true;
    this.totals.pendingBytes -= this.pendingBytes;
    this.inFlightBytes = 0;
    this.inFlightMessages = 0;
    const rest = this.outbox.takeSegments();
    this.streamed?.stop();
    endStreams(rest);
    // After a streamed body that was cut off, nothing more can be sent.
    if (isWrittenOut && rest.length > 0 && this.streamed === undefined && !rest.some(isStreamed))
      this.write(rest as Buffer[], undefined);
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

  // A field instead of a method: one closure for the life of the peer rather than one per write.
  private readonly written = (error?: Error | null): void => {
    // After an error, the stream reports it itself, and the state of this peer no longer matters.
    if (error || this.isFinished) return;
    this.totals.pendingBytes -= this.inFlightBytes;
    this.inFlightBytes = 0;
    this.inFlightMessages = 0;
    this.isWriting = false;
    this.streamed = undefined;
    if (this.owesRoom && this.isHalfEmpty()) {
      this.owesRoom = false;
      this.onRoom();
    }
    this.flush();
  };

  // At half, the user learns of room for a batch rather than for one message at a time.
  private isHalfEmpty(): boolean {
    const { sendBytesMax, sendMessagesMax } = this.limits;
    return this.pendingBytes * 2 <= sendBytesMax && this.pendingMessages * 2 <= sendMessagesMax;
  }
}
