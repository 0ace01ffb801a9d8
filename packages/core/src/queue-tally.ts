// Traffic of a queue: counts that only grow, for history, and recent rates, for people. They are
// updated in place, so that a task costs a few additions.

import type { FinishedStateName } from "./records.js";
import { SlidingCount, SlidingWindow } from "./sliding-count.js";
import type { Instant } from "./time.js";

const shortMs = 10_000;
const longMs = 60_000;

/** A count with its rates over ten seconds and a minute. */
export class RatedCount {
  total = 0;
  readonly #short = new SlidingWindow(shortMs);
  readonly #long = new SlidingWindow(longMs);
  /** When the first of the windows ends. */
  #rollAt = Number.NEGATIVE_INFINITY;

  add(now: Instant): void {
    if (now >= this.#rollAt) this.#roll(now);
    this.total += 1;
  }

  /** Events a second: means of the last 10 s and of the last 60 s. */
  perSecond(now: Instant): readonly [short: number, long: number] {
    return [this.#short.perSecond(now, this.total), this.#long.perSecond(now, this.total)];
  }

  #roll(now: Instant): void {
    this.#short.roll(now, this.total);
    this.#long.roll(now, this.total);
    this.#rollAt = Math.min(this.#short.endsAt, this.#long.endsAt);
  }
}

/** Events of the last minute by door. There are as many entries as doors. */
export class FlowByDoor {
  readonly #doors = new Map<string, SlidingCount>();
  /** The door of the last event, and its count: most queues have one door. */
  #lastDoor: string | undefined = undefined;
  #last = new SlidingCount(longMs);

  add(door: string, now: Instant): void {
    if (door !== this.#lastDoor) this.#find(door);
    this.#last.add(now);
  }

  #find(door: string): void {
    this.#lastDoor = door;
    this.#last = this.#doors.get(door) ?? new SlidingCount(longMs);
    this.#doors.set(door, this.#last);
  }

  perSecond(now: Instant): Record<string, number> {
    const flow: Record<string, number> = {};
    for (const [door, count] of this.#doors) {
      const rate = count.perSecond(now);
      if (rate > 0) flow[door] = rate;
    }
    return flow;
  }
}

export class QueueTally {
  readonly submitted = new RatedCount();
  readonly done = new RatedCount();
  readonly failed = new RatedCount();
  cancelled = 0;
  expired = 0;
  /** Lost attempts, not tasks. */
  lost = 0;
  /** Submitted tasks by the door they came in by, done ones by the door of their worker. */
  readonly inBy = new FlowByDoor();
  readonly doneBy = new FlowByDoor();

  accept(door: string, now: Instant): void {
    this.submitted.add(now);
    this.inBy.add(door, now);
  }

  /** `door`: that of the worker that ended it, if one did. */
  finish(state: FinishedStateName, door: string | undefined, now: Instant): void {
    if (state === "done") {
      this.done.add(now);
      if (door !== undefined) this.doneBy.add(door, now);
    } else if (state === "failed") this.failed.add(now);
    else if (state === "cancelled") this.cancelled += 1;
    else this.expired += 1;
  }
}
