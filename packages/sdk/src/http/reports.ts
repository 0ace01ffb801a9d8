// Progress reports of one attempt on their way to the dispatcher: the latest, at an even pace. A
// handler may report in a tight loop.

import { ArgumentError } from "../errors.js";
import { pause } from "../pause.js";

/** What a beat carries. */
export interface Report {
  readonly progress: unknown;
  readonly message?: string;
}

/** The dispatcher records one a second, and shows the latest. */
const pauseMs = 500;
/** As much as the dispatcher takes. */
const reportBytesMax = 4096;
const messageLengthMax = 1024;

/** Throws an ArgumentError for what cannot be sent. */
export function reportOf(progress: unknown, message: string | undefined): Report {
  const value = typeof progress === "number" ? Math.min(1, Math.max(0, progress)) : progress;
  const json = JSON.stringify(value);
  if (json === undefined || Number.isNaN(value) || Buffer.byteLength(json) > reportBytesMax) {
    const expected = `a number from 0 to 1, or other JSON of at most ${reportBytesMax} bytes`;
    throw new ArgumentError("bad_argument", `progress: expected ${expected}`);
  }
  return {
    progress: value,
    ...(message !== undefined && { message: message.slice(0, messageLengthMax) }),
  };
}

export class ReportPace {
  readonly #send: (report: Report) => Promise<void>;
  readonly #ended = new AbortController();
  #latest: Report | undefined;
  #sending: Promise<void> | undefined;

  /** `send` never rejects. */
  constructor(send: (report: Report) => Promise<void>) {
    this.#send = send;
  }

  add(report: Report): void {
    this.#latest = report;
    this.#sending ??= this.#run();
  }

  /** Resolves when the last report was sent. */
  async end(): Promise<void> {
    this.#ended.abort();
    await this.#sending;
  }

  async #run(): Promise<void> {
    // What is reported in the same turn goes together.
    await null;
    while (this.#latest !== undefined) {
      const report = this.#latest;
      this.#latest = undefined;
      await this.#send(report);
      await pause(pauseMs, this.#ended.signal);
    }
    this.#sending = undefined;
  }
}
