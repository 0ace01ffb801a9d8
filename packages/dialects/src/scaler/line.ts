// A connection as the door's sessions see it.

import type { Moment, YardEvent } from "@yardmaster/core";
import type { ScalerDoorClient } from "./door-client.js";
import type { ScalerDoorWorker } from "./door-worker.js";

/** A peer that has not said what it is, and what it said. */
export interface UnknownPeer {
  readonly role: undefined;
  readonly early: Buffer[][];
  earlyBytes: number;
}

export interface ScalerLine {
  /** Who is at the other end, while it is open: the scheduler's to set. */
  session: ScalerDoorWorker | ScalerDoorClient | UnknownPeer | undefined;
  readonly identity: Buffer;
  /** Its identity, for people. */
  readonly name: string;
  readonly address: string;
  /** False when it is gone, or takes nothing now. */
  send(frames: readonly Buffer[]): boolean;
  /** The same, of a message as packed-frames.ts has it: the bytes from..to, which are copied. */
  sendPacked(bytes: Buffer, from: number, to: number): boolean;
  /** For an answer that the peer waits for: it is sent when there is room, and the peer is not read before that. */
  answer(frames: readonly Buffer[]): void;
}

/** What the sessions need of the world. */
export interface ScalerHost {
  post(event: YardEvent): void;
  now(): Moment;
  /** A peer did something wrong; `kind` is one of a fixed few. */
  fault(kind: string, peer: string): void;
}
