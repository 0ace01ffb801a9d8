// Draws at 30 frames a second, 60 while a person drags, once a second where people want less
// motion. If drawing takes more than its share of a frame the rate is halved, and the page says so.

import { wantsLessMotion } from "../parts/theme.js";

const frameMsMax = 8;

export class FrameLoop {
  readonly #draw: () => void;
  #handle = 0;
  #lastAt = 0;
  #meanMs = 0;
  /** Frames are 33 ms apart, or a multiple. */
  slowness = 1;
  isDragging = false;
  /** The last durations of drawing, for measurements. */
  readonly times: number[] = [];

  constructor(draw: () => void) {
    this.#draw = draw;
  }

  start(): void {
    const step = (at: number) => {
      this.#handle = requestAnimationFrame(step);
      const everyMs = wantsLessMotion() ? 1_000 : this.isDragging ? 15 : 31 * this.slowness;
      if (at - this.#lastAt < everyMs) return;
      this.#lastAt = at;
      const before = performance.now();
      this.#draw();
      this.#note(performance.now() - before);
    };
    this.#handle = requestAnimationFrame(step);
  }

  stop(): void {
    cancelAnimationFrame(this.#handle);
  }

  #note(ms: number): void {
    this.times.push(ms);
    if (this.times.length > 600) this.times.splice(0, 300);
    this.#meanMs += (ms - this.#meanMs) * 0.1;
    if (this.#meanMs > frameMsMax && this.slowness < 8) {
      this.slowness *= 2;
      this.#meanMs = frameMsMax / 2;
    } else if (this.slowness > 1 && this.#meanMs < frameMsMax / 4) this.slowness /= 2;
  }
}
