// A progress line on standard error, at a terminal only.

import { count, span } from "./amounts.js";
import { cut, widthOf } from "./terminal.js";

const redrawMs = 100;
const barWidth = 24;

export class Progress {
  readonly #what: string;
  /** True if there is a terminal to show it. */
  readonly isShown: boolean;
  readonly #startedAt = performance.now();
  #drawnAt = Number.NEGATIVE_INFINITY;
  #isDrawn = false;

  /** `what`: the plural of the counted noun. */
  constructor(what: string, isWanted = true) {
    this.#what = what;
    this.isShown = isWanted && process.stderr.isTTY === true && process.env.TERM !== "dumb";
  }

  /** `share`: the fraction done, 0 to 1, if the total is known. */
  show(done: number, share?: number): void {
    if (!this.isShown) return;
    const now = performance.now();
    if (now - this.#drawnAt < redrawMs) return;
    this.say(this.#line(done, share, now - this.#startedAt));
    this.#drawnAt = now;
  }

  /** Shows this text until the next update. */
  say(words: string): void {
    if (!this.isShown) return;
    this.#isDrawn = true;
    process.stderr.write(`\r\x1b[K${cut(words, widthOf(process.stderr) - 1)}`);
  }

  /** Removes the line, so that other output can be written. */
  clear(): void {
    if (this.#isDrawn) process.stderr.write("\r\x1b[K");
    this.#isDrawn = false;
    this.#drawnAt = Number.NEGATIVE_INFINITY;
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  #line(done: number, share: number | undefined, ms: number): string {
    const figures = `${count(done)} ${this.#what}  ${count((done / Math.max(ms, 1)) * 1000)}/s`;
    if (share === undefined) return figures;
    const left = share > 0.01 ? `  ${span((ms / share) * (1 - share))} left` : "";
    return `${barOf(share)}  ${figures}${left}`;
  }
}

/** `share`: 0 to 1. */
export function barOf(share: number): string {
  const full = Math.round(Math.min(1, share) * barWidth);
  return `[${"#".repeat(full)}${" ".repeat(barWidth - full)}] ${Math.floor(Math.min(1, share) * 100)}%`;
}
