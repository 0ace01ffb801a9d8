// Waits for room in a full queue, for calls that wait for their result.

import { setTimeout as pause } from "node:timers/promises";
import { YardError } from "@yardmaster/sdk";
import { Progress } from "./progress.js";
import { RoomWatch } from "./room-watch.js";

interface RoomFlags {
  readonly queue?: string;
  /** How long a full queue may accept nothing, in milliseconds. */
  readonly waitForRoom: number;
}

/** A full queue is asked again after this time, then after twice that, and so on. */
const fullPauseMs = 50;
const fullPauseMsMax = 1_000;

/** Calls that find a full queue are made again, until it has accepted nothing for too long. */
export class RoomRetries {
  /** Number of calls that were not refused. Those that wait for their result are among them. */
  accepted = 0;
  readonly #flags: RoomFlags;
  readonly #watch: RoomWatch;
  readonly #gaveUp = new AbortController();
  /** Time of the first refusal since the last result. */
  #fullSince: number | undefined;

  constructor(flags: RoomFlags) {
    this.#flags = flags;
    this.#watch = new RoomWatch(new Progress("results"), flags.waitForRoom);
  }

  /** Fires when the queue has accepted nothing for too long. */
  get gaveUp(): AbortSignal {
    return this.#gaveUp.signal;
  }

  async tried<Result>(call: () => Promise<Result>): Promise<Result> {
    this.accepted += 1;
    for (let pauseMs = fullPauseMs; ; pauseMs = Math.min(2 * pauseMs, fullPauseMsMax)) {
      try {
        const result = await call();
        this.#fullSince = undefined;
        this.#watch.close();
        return result;
      } catch (error) {
        if (!(error instanceof YardError && error.code === "queue_full")) throw error;
        this.accepted -= 1;
        if (this.#isTooLate()) throw error;
      }
      await pause(pauseMs);
      this.accepted += 1;
    }
  }

  #isTooLate(): boolean {
    this.#watch.answered({ queue: this.#flags.queue ?? "", accepted: 0, full: 1 });
    this.#fullSince ??= performance.now();
    if (performance.now() - this.#fullSince <= this.#flags.waitForRoom) return false;
    this.#watch.close();
    this.#gaveUp.abort();
    return true;
  }
}
