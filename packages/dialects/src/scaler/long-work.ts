// Work that a peer may ask for in one message and that would stall the process, such as creating
// 300,000 objects: a part of it is done in each turn. The sender is not read until then, so its
// later messages keep their order.

import { Fifo, type Instant } from "@yardmaster/core";
import type { ScalerLine } from "./line.js";

/** Objects of one part, which takes about 10 ms. */
const objectsAtOnce = 2_000;

/** Does the part from..to; returns true if there is more to do. */
type Step = (from: number, to: number) => boolean;

interface Work {
  readonly step: Step;
  /** The sender that is held. */
  readonly line: ScalerLine | undefined;
  at: number;
}

export class LongWork {
  readonly #waiting = new Fifo<Work>();

  /** Works on all objects of a message, unless its sender goes away before. */
  run(line: ScalerLine, count: number, isLong: boolean, work: (from: number, to: number) => void): void {
    if (!isLong) return work(0, count);
    const { session } = line;
    const step = (from: number, to: number) => {
      if (line.session !== session) return false;
      work(from, Math.min(to, count));
      return to < count;
    };
    line.hold();
    this.#waiting.push({ line, step, at: 0 });
  }

  /** Repeats a step until it returns false, the first time at once. Nobody waits for it. */
  repeat(step: Step): void {
    const work = { line: undefined, step, at: 0 };
    if (doPart(work)) this.#waiting.push(work);
  }

  nextDeadline(): Instant | undefined {
    return this.#waiting.size > 0 ? (0 as Instant) : undefined;
  }

  /** Does one part of the oldest work; then it is the next one's turn. */
  handleTimeout(): void {
    const work = this.#waiting.shift();
    if (work === undefined) return;
    if (doPart(work)) this.#waiting.push(work);
    else work.line?.release();
  }
}

function doPart(work: Work): boolean {
  const from = work.at;
  work.at += objectsAtOnce;
  return work.step(from, work.at);
}
