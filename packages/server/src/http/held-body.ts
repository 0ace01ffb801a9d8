// One request body that is being received, as it counts against the limit of all bodies in transit.

import type { Problem } from "./problems.js";

/** Reads a body, and can be told to stop. */
interface Receiver {
  stop(fault: Problem): void;
}

/**
 * A body has stalled if it holds more than this multiple of what arrived in the last seconds: at
 * that pace it would have taken five minutes, or it has paused for eight seconds.
 */
const stalledFactor = 200;
/** Time after which half of what arrived no longer counts as recent. */
const recentHalfMs = 1_000;

export class HeldBody {
  readonly receiver: Receiver;
  bytes = 0;
  /** True while we do not read it. It cannot stall then. */
  isPaused = false;
  #recentBytes = 0;
  #atMs = 0;

  constructor(receiver: Receiver) {
    this.receiver = receiver;
  }

  /** More has arrived. */
  note(bytes: number, nowMs: number): void {
    this.#recentBytes = this.#recentAt(nowMs) + bytes;
    this.#atMs = nowMs;
  }

  hasStalled(nowMs: number): boolean {
    return !this.isPaused && this.bytes > this.#recentAt(nowMs) * stalledFactor;
  }

  #recentAt(nowMs: number): number {
    return this.#recentBytes * 0.5 ** ((nowMs - this.#atMs) / recentHalfMs);
  }
}
