// Decides whether a calculator is alive: a silent one is polled, and one that stays silent is gone.

import type { Instant, Moment } from "@yardmaster/core";
import type { AckWaiter } from "./exchange.js";
import type { Params } from "./messages.js";

export interface LivenessSettings {
  /** [udp 3.7] Silence after which it is polled. */
  readonly pollMs: number;
  /**
   * [udp 3.7] Silence after which it is gone, even if it never answered a poll: the document's
   * calculators know none.
   */
  readonly silenceMs: number;
}

export interface LivenessHost {
  poll(waiter: AckWaiter, now: Moment): void;
  answered(result: Params | undefined, now: Moment): void;
  /** The next deadline has moved although nothing was heard. */
  moved(): void;
  gone(): void;
}

/** [udp 3.7] A calculator that answers polls is gone after this many unanswered ones in a row. */
const unansweredMax = 2;
const pollAgainMs = 500;

export class CalculatorLiveness implements AckWaiter {
  readonly #settings: LivenessSettings;
  readonly #host: LivenessHost;
  #heardAt = 0 as Instant;
  /** When it is polled or given up; undefined while a poll is open, and when it is gone. */
  #dueAt: Instant | undefined;
  #unanswered = 0;
  /** True if it is known to answer polls: it has done so, or its form shows it. */
  isPollable = false;
  #isGone = false;

  constructor(settings: LivenessSettings, host: LivenessHost) {
    this.#settings = settings;
    this.#host = host;
  }

  get nextDeadline(): Instant | undefined {
    return this.#dueAt;
  }

  /**
   * How long it may be silent, and until when. A calculator that answers polls is given up a little
   * later, when the last poll was not answered.
   */
  get silence(): { readonly limitMs: number; readonly silentAt: Instant } | undefined {
    if (this.#isGone) return undefined;
    const { pollMs, silenceMs } = this.#settings;
    const limitMs = this.isPollable ? Math.min(silenceMs, pollMs + unansweredMax * pollAgainMs) : silenceMs;
    return { limitMs, silentAt: (this.#heardAt + limitMs) as Instant };
  }

  /**
   * True if it has a deadline now and had none before. Otherwise the deadline moved later, which is
   * noticed when the old one is due.
   */
  heard(now: Moment): boolean {
    const hadNone = this.#dueAt === undefined;
    this.#heardAt = now.instant;
    this.#unanswered = 0;
    this.#dueAt = (now.instant + this.#settings.pollMs) as Instant;
    return hadNone;
  }

  /** Polls at once, because nothing was heard of it since our start. */
  pollNow(now: Moment): void {
    this.heard(now);
    this.#dueAt = now.instant;
  }

  /** Stops: it is gone for another reason. */
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
    // It was heard in the meantime.
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
