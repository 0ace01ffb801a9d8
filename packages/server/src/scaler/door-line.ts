// A connection of the scaler door, and the answers that it had no room for. It is not read before
// it has taken them, so they stay few.

import type { Moment } from "@yardmaster/core";
import { scaler } from "@yardmaster/dialects";
import type { Peer as ZmqPeer } from "@yardmaster/zmtp";
import { type DoorRouter, identityName } from "../door-kit/zmq.js";
import type { ZmqGuard } from "../door-kit/zmq-guard.js";
import type { Notes } from "./notes.js";

type Frames = readonly scaler.ObjectFrame[];

export interface DoorLineParts {
  readonly router: DoorRouter;
  readonly notes: Notes;
  readonly guard: ZmqGuard;
  readonly queue: string;
  /** Calls `line.paced()` after this time. */
  readonly pace: (line: DoorLine, ms: number) => void;
}

export class DoorLine implements scaler.ScalerLine {
  readonly identity: Buffer;
  readonly name: string;
  readonly key: string;
  /** A character for each byte of its identity. */
  readonly identityKey: string;
  session: scaler.ScalerLine["session"] = undefined;
  /** The turn in which it was last heard. */
  heardAt: Moment | undefined = undefined;
  readonly #peer: ZmqPeer;
  readonly #router: DoorRouter;
  readonly #notes: Notes;
  readonly #guard: ZmqGuard;
  readonly #queue: string;
  readonly #pace: DoorLineParts["pace"];
  #isPaced = false;
  #owed: Frames[] = [];
  /** Reasons not to read it now. */
  #holds = 0;

  constructor(peer: ZmqPeer, { router, notes, guard, queue, pace }: DoorLineParts) {
    this.#guard = guard;
    this.#pace = pace;
    this.#queue = queue;
    this.#peer = peer;
    this.#router = router;
    this.#notes = notes;
    this.identity = peer.identity;
    this.identityKey = peer.identity.toString("latin1");
    this.name = identityName(peer.identity);
    this.key = String(peer.id);
  }

  may(right: "submit" | "work" | "operate"): boolean {
    return this.#guard.may(this.#peer, right, this.#queue);
  }

  submitted(): void {
    const pauseMs = this.#guard.submitted(this.#peer);
    if (pauseMs === 0) return;
    if (!this.#isPaced) this.hold();
    this.#isPaced = true;
    this.#pace(this, pauseMs);
  }

  /** Its pause is over. */
  paced(): void {
    this.#isPaced = false;
    this.release();
  }

  get by(): string | undefined {
    return this.#guard.by(this.#peer);
  }

  get address(): string {
    return this.#peer.address;
  }

  /** True if it is not read now, so that its silence means nothing. */
  get isHeld(): boolean {
    return this.#holds > 0;
  }

  send(frames: Frames): boolean {
    const isTaken = this.#owed.length === 0 && this.#put(frames) === "taken";
    if (!isTaken) endStored(frames);
    return isTaken;
  }

  sendPacked(bytes: Buffer, from: number, to: number): boolean {
    if (this.#owed.length > 0) return false;
    const sent = this.#router.sendPacked(this.#peer, bytes, from, to);
    if (sent === "gone" || sent === "full") return false;
    this.#notes.notePacked("out", this.#peer, bytes, from, to);
    return true;
  }

  answer(frames: Frames): void {
    const outcome = this.#owed.length > 0 ? "full" : this.#put(frames);
    if (outcome !== "full") return;
    if (this.#owed.length === 0) this.hold();
    this.#owed.push(frames);
  }

  hold(): void {
    this.#holds += 1;
    if (this.#holds === 1) this.#router.pause(this.#peer);
  }

  release(): void {
    this.#holds -= 1;
    if (this.#holds === 0) this.#router.resume(this.#peer);
  }

  /** Called when there is room. False when the room was used up. */
  flush(): boolean {
    const owed = this.#owed;
    if (owed.length === 0) return true;
    const left = owed.findIndex((frames) => this.#put(frames) === "full");
    this.#owed = left < 0 ? [] : owed.slice(left);
    if (this.#owed.length > 0) return false;
    this.release();
    return true;
  }

  /** The connection is gone; its pending answers are dropped. */
  end(): void {
    for (const frames of this.#owed) endStored(frames);
    this.#owed = [];
  }

  #put(frames: Frames): "taken" | "full" | "gone" {
    const sent = isInMemory(frames)
      ? this.#router.sendTo(this.#peer, frames)
      : this.#router.sendStreamed(this.#peer, frames);
    if (sent === "gone") endStored(frames);
    if (sent === "gone" || sent === "full") return sent;
    this.#notes.note("out", this.#peer, frames);
    return "taken";
  }
}

function isInMemory(frames: Frames): frames is readonly Buffer[] {
  return frames.every((frame) => !(frame instanceof scaler.StoredBytes));
}

function endStored(frames: Frames): void {
  for (const frame of frames) if (frame instanceof scaler.StoredBytes) frame.end();
}
