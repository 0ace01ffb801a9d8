// Peers that have not said what they are [scaler 1.6]: what they said so far, and which of them may wait for an echo that was lost.

import { after, Fifo, type Instant, type Moment } from "@yardmaster/core";
import { writeToClient, writeToWorker } from "./codec.js";
import { ownFrames } from "./frames.js";
import type { ScalerLine, UnknownPeer } from "./line.js";

/** What a worker may say before its first heartbeat after our restart: one message, and all of them. */
const earlyBytesMax = 16 * 1024;
const earlyBytesTotalMax = 1024 * 1024;
const frameOverheadBytes = 100;
/** Longer than a peer takes that has something to say. */
const quietMs = 3_000;

export class UnknownPeers {
  /** Those that came, in that order. */
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

/** Keeps a message until the peer is known; false when that is too much. */
export function keepEarly(peer: UnknownPeer, frames: readonly Buffer[]): boolean {
  const bytes = frames.reduce((sum, frame) => sum + frame.length + frameOverheadBytes, 0);
  if (bytes > earlyBytesMax || peer.earlyBytes + bytes > earlyBytesTotalMax) return false;
  peer.early.push(ownFrames(frames));
  peer.earlyBytes += bytes;
  return true;
}

/**
 * A program of form r sends no heartbeat after one that was not echoed, and one that was sent to a dispatcher that died never is. An
 * echo that it does not wait for does it no harm; its identity shows which kind it is.
 */
function nudge(line: ScalerLine): void {
  const { session } = line;
  if (session === undefined || session.role !== undefined) return;
  const name = /^\d+\|(.+)\|[0-9a-f]{32}$/.exec(line.name)?.[1];
  if (name === undefined) return;
  if (name === "Client") line.answer(writeToClient({ type: "client-heartbeat-echo" }));
  else line.answer(writeToWorker({ type: "heartbeat-echo" }, "r"));
}
