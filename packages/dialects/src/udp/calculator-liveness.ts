// Whether a calculator is still there: one that is silent is polled, and one that stays silent is gone.

import type { Instant, Moment } from "@yardmaster/core";
import type { AckWaiter } from "./exchange.js";
import type { Params } from "./messages.js";

export interface LivenessSettings {
  /** [udp 3.7] Silent for so long, it is asked whether it is there. */
  readonly pollMs: number;
  /** [udp 3.7] Silent for so long, it is gone, even if it never answered a poll: the document's calculators know none. */
  readonly silenceMs: number;
}

export interface LivenessHost {
  poll(waiter: AckWaiter, now: Moment): void;
  answered(result: Params | undefined, now: Moment): void;
  /** The next deadline has moved without anybody being heard. */
  moved(): void;
  gone(): void;
}

/** [udp 3.7] One that answers polls is gone when it leaves so many in a row unanswered, so far apart. */
const unansweredMax = 2;
const pollAgainMs = 500;

export class CalculatorLiveness implements AckWaiter {
  readonly #settings: LivenessSettings;
  readonly #host: LivenessHost;
  #heardAt = 0 as Instant;
  /** When it is asked, or given up; undefined while a poll is out, and when it is gone. */
  #dueAt: Instant | undefined;
  #unanswered = 0;
  /** It is known to answer polls: it has, or it speaks as those do who do. */
  isPollable = false;
  #isGone = false;

  constructor(settings: LivenessSettings, host: LivenessHost) {
    this.#settings = settings;
    this.#host = host;
  }

  get nextDeadline(): Instant | undefined {
    return this.#dueAt;
  }

  /** Whether it has a deadline now and had none before: otherwise that has become later, and is seen to when it was due. */
  heard(now: Moment): boolean {
    const hadNone = this.#dueAt === undefined;
    this.#heardAt = now.instant;
    this.#unanswered = 0;
    this.#dueAt = (now.instant + this.#settings.pollMs) as Instant;
    return hadNone;
  }

  /** Nothing was heard of it yet in this life: it is asked at once. */
  pollNow(now: Moment): void {
    this.heard(now);
    this.#dueAt = now.instant;
  }

  /** It is gone for other reasons, too. */
  stop(): void {
    this.#isGone = true;
    this.#dueAt = undefined;
  }

  handleTimeout(now: Moment): void {
    if (this.#dueAt === undefined || this.#dueAt > now.instant) return;
    if (now.instant - this.#heardAt >= this.#settings.silenceMs) {
      this.#host.gone();
      return;
    }
    this.#dueAt = undefined;
    this.#host.poll(this, now);
  }

  acknowledged(result: Params | undefined, now: Moment): void {
    if (this.#isGone) return;
    this.isPollable = true;
    this.heard(now);
    this.#host.answered(result, now);
  }

  unanswered(now: Moment): void {
    // It was heard of in between.
    if (this.#isGone || this.#dueAt !== undefined) return;
    this.#unanswered += 1;
    if (this.isPollable && this.#unanswered >= unansweredMax) {
      this.#host.gone();
      return;
    }
    const { pollMs, silenceMs } = this.#settings;
    const again = now.instant + (this.isPollable ? pollAgainMs : pollMs);
    this.#dueAt = Math.min(again, this.#heardAt + silenceMs) as Instant;
    this.#host.moved();
  }
}
