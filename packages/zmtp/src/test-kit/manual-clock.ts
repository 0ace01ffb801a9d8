// For tests: a clock that advances on request.

import type { Clock } from "../sockets/clock.js";

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

export class ManualClock implements Clock {
  now = 0;
  chance = 1;
  private timers: Timer[] = [];

  after(delayMs: number, run: () => void): () => void {
    const timer = { at: this.now + delayMs, run };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((other) => other !== timer);
    };
  }

  elapsed(): number {
    return this.now;
  }

  random(): number {
    return this.chance;
  }

  get waiting(): number {
    return this.timers.length;
  }

  advance(ms: number): void {
    const end = this.now + ms;
    for (;;) {
      const due = this.timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.timers = this.timers.filter((timer) => timer !== due);
      this.now = due.at;
      due.run();
    }
    this.now = end;
  }
}
