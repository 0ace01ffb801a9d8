// Simulated time: one queue of future actions. Each belongs to a process or to the servers. Actions
// of a dead process do not happen. Those of a paused one happen when it wakes, in any order: a
// timer that is due may come before an answer that waits, or after it.

import { Deadline, Deadlines, type Instant } from "@yardmaster/core";
import type { SeededRandom } from "../../embedded/testing/random.js";
import type { Clock } from "../clock.js";

export class Process {
  isDead = false;
  pausedUntil = 0;
}

interface Action {
  readonly process: Process | undefined;
  readonly run: () => void;
}

export class World {
  time = 0;
  readonly random: SeededRandom;
  readonly #actions = new Deadlines<Action>();
  readonly #trace: ((line: string) => void) | undefined;

  constructor(random: SeededRandom, trace?: (line: string) => void) {
    this.random = random;
    this.#trace = trace;
  }

  say(line: string): void {
    this.#trace?.(`${this.time.toFixed(1).padStart(8)} ${line}`);
  }

  plan(process: Process | undefined, ms: number, run: () => void): () => void {
    const deadline = new Deadline<Action>({ process, run });
    this.#actions.arm(deadline, (this.time + ms) as Instant);
    return () => this.#actions.disarm(deadline);
  }

  between(from: number, to: number): number {
    return from + this.random.next() * (to - from);
  }

  /** Runs until this time, or until `isOver` returns true. */
  async run(until: number, isOver: () => boolean): Promise<void> {
    for (;;) {
      // Promises get to their end before time advances.
      await new Promise((resolve) => setImmediate(resolve));
      if (isOver()) return;
      const next = this.#actions.next();
      if (next === undefined || next > until) break;
      this.#act(this.#actions.takeDue(next) as Deadline<Action>);
    }
    this.time = Math.max(this.time, until);
  }

  #act(deadline: Deadline<Action>): void {
    const { process, run } = deadline.subject;
    if (process?.isDead) return;
    if (process !== undefined && process.pausedUntil > deadline.at) {
      const at = process.pausedUntil + this.random.next();
      this.#actions.arm(deadline, at as Instant);
      return;
    }
    this.time = Math.max(this.time, deadline.at);
    run();
  }

  clockOf(process: Process): Clock {
    const setTimer = (ms: number, work: () => void) => this.plan(process, ms, work);
    return { now: () => this.time, setTimer, setIdleTimer: setTimer };
  }
}
