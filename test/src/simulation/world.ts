// The simulated world: one queue of future actions, ordered by time. Each belongs to a process.
// Actions of a dead process do not happen, and those of a paused one happen in order when it wakes.

import { Deadline, Deadlines, type Instant } from "@yardmaster/core";
import type { Clock } from "@yardmaster/server";

/** The wall-clock time at which the simulation begins. */
const wallAtStart = 1_800_000_000_000;
/**
 * Actions at the same instant happen in the order in which they were planned. This offset keeps
 * them apart in the heap.
 */
const orderStep = 1e-7;

export class Process {
  readonly name: string;
  isDead = false;
  pausedUntil = 0;
  /** True if it runs promises and streams, which must get to their end before time advances. */
  readonly isAsynchronous: boolean;

  constructor(name: string, isAsynchronous = false) {
    this.name = name;
    this.isAsynchronous = isAsynchronous;
  }
}

interface Happening {
  readonly process: Process;
  readonly run: () => void;
}

export class World {
  time = 0;
  wallOffset = 0;
  /** The latest wall time that was shown before a jump. */
  latestWall = 0;
  readonly #happenings = new Deadlines<Happening>();
  #last = 0;
  #isDrainWanted = false;
  readonly #releases: (() => void)[] = [];
  #trace: ((line: string) => void) | undefined;

  constructor(trace?: (line: string) => void) {
    this.#trace = trace;
  }

  /** Adds a line to the trace, if there is one. */
  say(who: string, what: () => string): void {
    this.#trace?.(`${this.time.toFixed(3).padStart(11)} ${who.padEnd(12)} ${what()}`);
  }

  plan(process: Process, ms: number, run: () => void): () => void {
    const deadline = new Deadline<Happening>({ process, run });
    this.#arm(deadline, this.time + ms);
    return () => this.#happenings.disarm(deadline);
  }

  /** A promise was settled from outside: run its continuations before time advances. */
  drain(): void {
    this.#isDrainWanted = true;
  }

  /** Releases what the garbage collector cannot: Node keeps the parser of every open connection. */
  whenOver(release: () => void): void {
    this.#releases.push(release);
  }

  end(): void {
    this.#trace = undefined;
    for (const release of this.#releases.splice(0)) release();
  }

  /** Runs until this time, or until `isOver` returns true. */
  async run(until: number, isOver: () => boolean = () => false): Promise<void> {
    while (!isOver()) {
      const next = this.#happenings.next();
      if (next === undefined || next > until) break;
      this.#happen(this.#happenings.takeDue(next) as Deadline<Happening>);
      if (!this.#isDrainWanted) continue;
      this.#isDrainWanted = false;
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (!isOver()) this.time = Math.max(this.time, until);
  }

  #happen(deadline: Deadline<Happening>): void {
    const { process, run } = deadline.subject;
    if (process.isDead) return;
    if (process.pausedUntil > deadline.at) {
      this.#arm(deadline, process.pausedUntil);
      return;
    }
    this.time = Math.max(this.time, deadline.at);
    if (process.isAsynchronous) this.drain();
    run();
  }

  #arm(deadline: Deadline<Happening>, at: number): void {
    // Strictly after everything planned before for the same time: the heap alone would not keep
    // that order.
    this.#last = Math.max(at, this.#last >= at && this.#last < at + 1e-3 ? this.#last + orderStep : at);
    this.#happenings.arm(deadline, this.#last as Instant);
  }

  jumpWall(ms: number): void {
    this.latestWall = Math.max(this.latestWall, this.#wall());
    this.wallOffset += ms;
  }

  #wall(): number {
    return wallAtStart + this.time + this.wallOffset;
  }

  clockOf(process: Process): Clock {
    return {
      instant: () => this.time,
      wall: () => this.#wall(),
      defer: (work) => {
        this.plan(process, 0, work);
      },
      setTimer: (ms, work) => this.plan(process, ms, work),
    };
  }
}
