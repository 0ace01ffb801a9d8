// What a peer's connection needs of its socket. The hub implements it.

import type { DroppedFrames } from "../connection.js";
import type { FaultKind } from "../faults.js";
import type { FrameTable } from "../frame-table.js";
import type { Pulse } from "../heartbeat.js";
import type { Limits } from "../limits.js";
import type { Assembly } from "./assembly.js";
import type { Clock } from "./clock.js";
import type { GoneReason } from "./peer.js";
import type { Totals } from "./send-queue.js";
import type { WirePeer } from "./wire-peer.js";

export interface PeerOwner {
  readonly limits: Limits;
  readonly totals: Totals;
  readonly assembly: Assembly;
  readonly pulse: Pulse;
  readonly clock: Clock;
  /** The PING command. */
  readonly ping: Buffer;
  /** Called when the peer is ready. A fault rejects it before the user sees it. */
  admit(peer: WirePeer): FaultKind | undefined;
  /** False if the peer's principal holds too many bytes of unfinished messages. */
  mayHold(peer: WirePeer, bytes: number): boolean;
  /** `dropped`: the sizes of frames that were too large to keep; empty ones stand for them. */
  handleMessage(peer: WirePeer, frames: Buffer[], dropped?: DroppedFrames): void;
  /**
   * The same for a message of very many frames. Returns the memory that it takes until the peer is
   * resumed: a pause says that the message is still being carried out.
   */
  handleTable(peer: WirePeer, frames: FrameTable, dropped?: DroppedFrames): number;
  /** False when the message is wanted as frames. */
  handlePacked(peer: WirePeer, bytes: Buffer, from: number, to: number): boolean;
  handleSubscription(peer: WirePeer, prefix: Buffer, isWanted: boolean): void;
  handleRoom(peer: WirePeer): void;
  countFault(peer: WirePeer, kind: FaultKind): void;
  forget(peer: WirePeer, reason: GoneReason, wasOpen: boolean): void;
  /** True if further reads should wait for the next turn. */
  isTurnSpent(): boolean;
  /** Requests finishTurn() after the reads of this turn of the event loop. */
  schedule(peer: WirePeer): void;
}
