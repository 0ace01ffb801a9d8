// Frames of the attempt stream for its listeners. The core is observed only while there are
// listeners.

import type { Moment, Observer } from "@yardmaster/core";
import type { Port } from "../door-kit/door.js";
import { AttemptFrames } from "../watching/attempt-frames.js";
import { type FrameParts, frameJson } from "../watching/frame-json.js";
import type { EventFilter } from "./event-filter.js";

const busyEveryMs = 1_000;

export class AttemptFeed {
  readonly #port: Port;
  #frames: AttemptFrames | undefined;
  #unobserve: (() => void) | undefined;
  #busyFrom: Moment | undefined;
  #stallsSeen = 0;

  constructor(port: Port) {
    this.#port = port;
  }

  start(): void {
    if (this.#frames !== undefined) return;
    const now = this.#port.now();
    const frames = new AttemptFrames(now, this.#port.reads.attempts());
    this.#frames = frames;
    this.#busyFrom = now;
    this.#stallsSeen = now.wall;
    this.#unobserve = this.#port.reads.observe(observerOf(frames));
  }

  stop(): void {
    this.#unobserve?.();
    this.#unobserve = undefined;
    this.#frames = undefined;
  }

  /** The running attempts, for a new listener. */
  first(filter: EventFilter): string | undefined {
    if (this.#frames === undefined) return undefined;
    const { wall } = this.#port.now();
    const rows = this.#frames.runningNow(this.#wanted(filter));
    const frame = {
      from: wall,
      to: wall,
      rows,
      began: 0,
      ended: 0,
      busy: undefined,
      busyFrom: wall,
      stalls: [],
    };
    return frameJson(frame, filter.shows);
  }

  /** The changes since the last call, once they are committed. */
  async take(now: Moment): Promise<FrameParts | undefined> {
    const frames = this.#frames;
    if (frames === undefined) return undefined;
    const frame = frames.take(now);
    const busyFrom = this.#busyFrom ?? now;
    const isBusyDue = now.instant - busyFrom.instant >= busyEveryMs;
    const busy = isBusyDue ? frames.takeBusy(now.instant) : undefined;
    if (isBusyDue) this.#busyFrom = now;
    const stalls = this.#port.reads.health().stalls.filter(({ at }) => at > this.#stallsSeen);
    this.#stallsSeen = Math.max(this.#stallsSeen, ...stalls.map(({ at }) => at));
    await this.#port.reads.whenSafe();
    return { ...frame, busy, busyFrom: busyFrom.wall, stalls };
  }

  *#wanted(filter: EventFilter) {
    for (const attempt of this.#port.reads.attempts())
      if (filter.shows(attempt.task.head.queue)) yield attempt;
  }
}

function observerOf(frames: AttemptFrames): Observer {
  return {
    began: (attempt, at) => frames.began(attempt, at),
    ended: (attempt, how, reason, at) => frames.ended(attempt, how, reason, at),
    finished: (task, outcome, by, at) => frames.finished(task, outcome, by, at),
    workerLost: () => {},
    undelivered: () => {},
  };
}
