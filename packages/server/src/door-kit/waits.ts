// Timeouts of a door. They share the runtime's single timer, so no wait needs its own.

import { after, Deadline, Deadlines, type Instant, type Moment } from "@yardmaster/core";

export type Wait = Deadline<(now: Moment) => void>;

export class Waits {
  readonly #now: () => Moment;
  readonly #deadlines = new Deadlines<(now: Moment) => void>();

  constructor(now: () => Moment) {
    this.#now = now;
  }

  /** Calls `over` once after this many milliseconds, unless the wait is ended or restarted. */
  start(over: (now: Moment) => void, ms: number): Wait {
    const wait = new Deadline(over);
    this.again(wait, ms);
    return wait;
  }

  again(wait: Wait, ms: number): void {
    this.#deadlines.arm(wait, after(this.#now().instant, ms));
  }

  end(wait: Wait | undefined): void {
    if (wait !== undefined) this.#deadlines.disarm(wait);
  }

  nextDeadline(): Instant | undefined {
    return this.#deadlines.next();
  }

  handleTimeout(now: Moment): void {
    for (;;) {
      const due = this.#deadlines.takeDue(now.instant);
      if (due === undefined) return;
      due.subject(now);
    }
  }
}
