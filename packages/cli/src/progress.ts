// A line on standard error that shows how far something is, at a terminal only.

import { count, span } from "./amounts.js";
import { cut, widthOf } from "./terminal.js";

const redrawMs = 100;
const barWidth = 24;

export class Progress {
  readonly #what: string;
  /** Whether there is a terminal that shows it. */
  readonly isShown: boolean;
  readonly #startedAt = performance.now();
  #drawnAt = Number.NEGATIVE_INFINITY;
  #isDrawn = false;

  /** `what`: the plural of what is counted. */
  constructor(what: string, isWanted = true) {
    this.#what = what;
    this.isShown = isWanted && process.stderr.isTTY === true && process.env.TERM !== "dumb";
  }

  /** `share`: from 0 to 1, where the whole is known. */
  show(done: number, share?: number): void {
    if (!this.isShown) return;
    const now = performance.now();
    if (now - this.#drawnAt < redrawMs) return;
    this.say(this.#line(done, share, now - this.#startedAt));
    this.#drawnAt = now;
  }

  /** Shows these words instead, until something else is shown. */
  say(words: string): void {
    if (!this.isShown) return;
    this.#isDrawn = true;
    process.stderr.write(`\r\x1b[K${cut(words, widthOf(process.stderr) - 1)}`);
  }

  /** Takes the line away, so that others can be written. */
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
    const full = Math.round(Math.min(1, share) * barWidth);
    const bar = `[${"#".repeat(full)}${" ".repeat(barWidth - full)}]`;
    const left = share > 0.01 ? `  ${span((ms / share) * (1 - share))} left` : "";
    return `${bar} ${Math.floor(Math.min(1, share) * 100)}%  ${figures}${left}`;
  }
}
