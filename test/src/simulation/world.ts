// The simulated world: one queue of things to happen, in order of time. Everything belongs to a process; what belongs to
// a dead one does not happen, and what belongs to a paused one happens when it wakes, in order.

import { Deadline, Deadlines, type Instant } from "@yardmaster/core";
import type { Clock } from "@yardmaster/server";

/** A machine's time when the simulation begins. */
const wallAtStart = 1_800_000_000_000;
/** Things due at one instant happen in the order in which they were planned; this keeps them apart in the heap. */
const orderStep = 1e-7;

export class Process {
  readonly name: string;
  isDead = false;
  pausedUntil = 0;

  constructor(name: string) {
    this.name = name;
  }
}

interface Happening {
  readonly process: Process;
  readonly run: () => void;
}

export class World {
  time = 0;
  wallOffset = 0;
  readonly #happenings = new Deadlines<Happening>();
  #last = 0;
  #isDrainWanted = false;
  readonly #trace: ((line: string) => void) | undefined;

  constructor(trace?: (line: string) => void) {
    this.#trace = trace;
  }

  /** Says what happened, if anybody wants to know. */
  say(who: string, what: () => string): void {
    this.#trace?.(`${this.time.toFixed(3).padStart(11)} ${who.padEnd(12)} ${what()}`);
  }

  plan(process: Process, ms: number, run: () => void): () => void {
    const deadline = new Deadline<Happening>({ process, run });
    this.#arm(deadline, this.time + ms);
    return () => this.#happenings.disarm(deadline);
  }

  /** A promise was settled from outside: let what waits for it run before time goes on. */
  drain(): void {
    this.#isDrainWanted = true;
  }

  /** Runs until then, or until `isOver` says so. */
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
    run();
  }

  #arm(deadline: Deadline<Happening>, at: number): void {
    // Strictly after everything planned before for the same time: the heap alone would not keep that order.
    this.#last = Math.max(at, this.#last >= at && this.#last < at + 1e-3 ? this.#last + orderStep : at);
    this.#happenings.arm(deadline, this.#last as Instant);
  }

  clockOf(process: Process): Clock {
    return {
      instant: () => this.time,
      wall: () => wallAtStart + this.time + this.wallOffset,
      defer: (work) => {
        this.plan(process, 0, work);
      },
      setTimer: (ms, work) => this.plan(process, ms, work),
    };
  }
}
