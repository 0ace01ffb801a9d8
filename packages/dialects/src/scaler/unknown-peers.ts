// Peers whose role is not known yet [scaler 1.6]: the messages they sent so far, and which of them
// may wait for an echo that was lost.

import { after, Fifo, type Instant, type Moment } from "@yardmaster/core";
import type { WireFrames } from "../wire-frames.js";
import { writeToClient, writeToWorker } from "./codec.js";
import { ownFrames } from "./frames.js";
import type { ScalerLine, UnknownPeer } from "./line.js";

/**
 * Limits for messages before the first heartbeat after a restart: for one message, and for all of
 * them.
 */
const earlyBytesMax = 16 * 1024;
const earlyBytesTotalMax = 1024 * 1024;
const frameOverheadBytes = 100;
/** A peer that has something to send sends it sooner than this. */
const quietMs = 3_000;

export class UnknownPeers {
  /** New peers, in the order in which they connected. */
  readonly #quiet = new Fifo<{ readonly line: ScalerLine; readonly until: Instant }>();

  came(line: ScalerLine, now: Moment): void {
    line.session = { role: undefined, early: [], earlyBytes: 0 };
    this.#quiet.push({ line, until: after(now.instant, quietMs) });
  }

  nextDeadline(): Instant | undefined {
    return this.#quiet.first()?.until;
  }

  handleTimeout(now: Moment): void {
    for (let quiet = this.#quiet.first(); quiet !== undefined; quiet = this.#quiet.first()) {
      if (quiet.until > now.instant) return;
      this.#quiet.shift();
      nudge(quiet.line);
    }
  }
}

/** Keeps a message until the peer's role is known. Returns false if it is too large. */
export function keepEarly(peer: UnknownPeer, frames: WireFrames): boolean {
  const bytes = frames.size + frames.count * frameOverheadBytes;
  if (bytes > earlyBytesMax || peer.earlyBytes + bytes > earlyBytesTotalMax) return false;
  peer.early.push(ownFrames(frames.slices()));
  peer.earlyBytes += bytes;
  return true;
}

/**
 * A form-r program sends no heartbeat until the previous one was echoed, and a heartbeat sent to a
 * dispatcher that died never is. So it is sent an echo, which is harmless if it does not wait for
 * one. Its identity shows which kind of peer it is.
 */
function nudge(line: ScalerLine): void {
  const { session } = line;
  if (session === undefined || session.role !== undefined) return;
  const name = /^\d+\|(.+)\|[0-9a-f]{32}$/.exec(line.name)?.[1];
  if (name === undefined) return;
  if (name === "Client") line.answer(writeToClient({ type: "client-heartbeat-echo" }));
  else line.answer(writeToWorker({ type: "heartbeat-echo" }, "r"));
}
