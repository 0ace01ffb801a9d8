// A streamed body on a connection that encrypts. The seal of a frame precedes it and depends on all
// of it, so the body is gathered when its turn to be written comes, and then sent as one piece.
// Queued bodies still cost no memory, and the gate bounds that of all gathered ones.

import { constants } from "node:buffer";
import type { GatherGate, Gathering } from "./gather-gate.js";
import type { Seal } from "./mechanisms/mechanism.js";
import type { StreamedBody } from "./streamed-body.js";

/** How a connection encrypts, and how much it may gather for it. */
export interface Sealing {
  readonly seal: Seal;
  readonly gate: GatherGate;
  readonly gatheredBytesMax: number;
}

export class SealedStream implements StreamedBody, Gathering {
  readonly length: number;
  private readonly sealing: Sealing;
  private readonly flags: number;
  private readonly stream: StreamedBody;
  /** Frames that are queued behind this one have later numbers. */
  private readonly number: number;
  private isEnded = false;
  private take: (piece: Uint8Array | undefined) => void = () => {};

  constructor(sealing: Sealing, flags: number, stream: StreamedBody) {
    this.sealing = sealing;
    this.flags = flags;
    this.stream = stream;
    this.number = sealing.seal.take();
    this.length = sealing.seal.overheadBytes + stream.length;
  }

  pull(take: (piece: Uint8Array | undefined) => void): void {
    this.take = take;
    this.sealing.gate.enter(this, this.sealing.gatheredBytesMax);
  }

  begin(): void {
    const { seal } = this.sealing;
    if (this.length > constants.MAX_LENGTH) return this.take(undefined);
    const sealed = Buffer.allocUnsafeSlow(this.length);
    const body = sealed.subarray(seal.overheadBytes);
    this.gather(body, 0, (isWhole) => {
      if (isWhole) seal.close(this.number, this.flags, body, sealed, 0);
      this.take(isWhole ? sealed : undefined);
    });
  }

  end(): void {
    this.isEnded = true;
    this.stream.end();
    this.sealing.gate.leave(this, this.sealing.gatheredBytesMax);
  }

  /** Fills the body from `filled` on. Pieces that come at once are taken in a loop. */
  private gather(body: Buffer, filled: number, done: (isWhole: boolean) => void): void {
    let at = filled;
    for (let isWaiting = false; !isWaiting; ) {
      if (at === body.length) return done(true);
      isWaiting = true;
      let isLate = false;
      let isRefused = false;
      this.stream.pull((piece) => {
        if (this.isEnded) return;
        isRefused = piece === undefined || piece.length === 0 || piece.length > body.length - at;
        if (piece !== undefined && !isRefused) {
          body.set(piece, at);
          at += piece.length;
        }
        if (!isLate) isWaiting = false;
        else if (isRefused) done(false);
        else this.gather(body, at, done);
      });
      isLate = true;
      if (!isWaiting && isRefused) return done(false);
    }
  }
}
