// A connection, as the door's sessions see it.

import type { Moment, YardEvent } from "@yardmaster/core";
import type { ScalerDoorClient } from "./door-client.js";
import type { ScalerDoorWorker } from "./door-worker.js";
import type { ObjectFrame, ReadMemo } from "./stored-bytes.js";

/** A peer whose role is not known yet, with the messages it has sent. */
export interface UnknownPeer {
  readonly role: undefined;
  readonly early: Buffer[][];
  earlyBytes: number;
}

export interface ScalerLine {
  /** The session at this connection while it is open. Only the scheduler sets it. */
  session: ScalerDoorWorker | ScalerDoorClient | UnknownPeer | undefined;
  readonly identity: Buffer;
  /** The peer's identity in readable form. */
  readonly name: string;
  readonly address: string;
  /** Whether the peer has a right for the door's queue. Absent: it has all. */
  may?(right: "submit" | "work" | "operate"): boolean;
  /** A task of this client was submitted. The line slows it down to the rate of its principal. */
  submitted?(): void;
  /** Name of its principal, if it has one. */
  readonly by?: string | undefined;
  /**
   * Returns false if the connection is closed or full. Stored bytes among the frames are then
   * ended.
   */
  send(frames: readonly ObjectFrame[]): boolean;
  /** The same for a packed message (packed-frames.ts): the bytes from..to, which are copied. */
  sendPacked(bytes: Buffer, from: number, to: number): boolean;
  /**
   * Sends an answer that the peer waits for. If there is no room, reading from the peer pauses
   * until it is sent.
   */
  answer(frames: readonly ObjectFrame[]): void;
  /** Stops reading from the peer until `release` was called once for every `hold`. */
  hold(): void;
  release(): void;
}

/** What the sessions need from the door. */
export interface ScalerHost {
  post(event: YardEvent): void;
  now(): Moment;
  /** Counts a peer's mistake. `kind` is one of a small fixed set. */
  fault(kind: string, peer: string): void;
  /** Reads a memo of this door. `take` is called later. */
  readonly readMemo: ReadMemo;
  /** While this is true, nothing that costs memory is accepted from clients. */
  isShortOfMemory(): boolean;
}
