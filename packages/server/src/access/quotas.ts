// What one principal may use at once: a rate of submissions, connections, and bytes in transit. A
// principal that reaches a quota is refused or slowed down; others do not notice.

export interface QuotaLimits {
  readonly submissionsPerSecond?: number | undefined;
  /** Submissions at once after a pause. Default: the submissions of one second. */
  readonly submissionBurst?: number | undefined;
  readonly connections?: number | undefined;
  /** Bytes of bodies that are received or sent for it at this moment. */
  readonly inFlightBytes?: number | undefined;
}

/** Why a quota refused something. */
export type QuotaName = "submissions" | "connections" | "in_flight_bytes";

/** Tolerance for rounding errors: a submission must not wait for a billionth of a token. */
const rounding = 1e-9;

export class Quotas {
  #limits: QuotaLimits;
  /** Submissions that it may make at once. Below 0 after a batch: the batch is paid for later. */
  #submissions: number;
  #filledAtMs: number | undefined;
  #connections = 0;
  #bytes = 0;
  readonly refusals: Record<QuotaName, number> = { submissions: 0, connections: 0, in_flight_bytes: 0 };

  constructor(limits: QuotaLimits) {
    this.#limits = limits;
    this.#submissions = burstOf(limits);
  }

  /** What is in use stays counted. */
  change(limits: QuotaLimits): void {
    this.#limits = limits;
    this.#submissions = Math.min(this.#submissions, burstOf(limits));
  }

  get inFlightBytesMax(): number | undefined {
    return this.#limits.inFlightBytes;
  }

  /**
   * Takes one submission, even if none is left. Returns for how many milliseconds the submitter has
   * to pause until the next one. For doors that slow a peer down instead of refusing its message.
   */
  paceSubmission(nowMs: number): number {
    const { submissionsPerSecond: rate } = this.#limits;
    if (rate === undefined) return 0;
    this.#refill(rate, nowMs);
    this.#submissions -= 1;
    if (this.#submissions >= 1 - rounding) return 0;
    this.refusals.submissions += 1;
    return this.#waitMs(rate);
  }

  /** More submissions of a batch whose first was taken. They are paid for later. */
  chargeSubmissions(count: number): void {
    if (this.#limits.submissionsPerSecond !== undefined) this.#submissions -= count;
  }

  get connections(): number {
    return this.#connections;
  }

  get inFlightBytes(): number {
    return this.#bytes;
  }

  /**
   * Returns 0 if this many tasks may be submitted now. Otherwise nothing is taken, and the result
   * is the number of milliseconds after which the next submission is possible. A batch is taken as
   * a whole while anything is left, however large it is.
   */
  takeSubmissions(count: number, nowMs: number): number {
    const { submissionsPerSecond: rate } = this.#limits;
    if (rate === undefined) return 0;
    this.#refill(rate, nowMs);
    if (this.#submissions >= 1 - rounding) {
      this.#submissions -= count;
      return 0;
    }
    this.refusals.submissions += 1;
    return this.#waitMs(rate);
  }

  #refill(rate: number, nowMs: number): void {
    const elapsedMs = Math.max(0, nowMs - (this.#filledAtMs ?? nowMs));
    this.#filledAtMs = nowMs;
    this.#submissions = Math.min(burstOf(this.#limits), this.#submissions + (elapsedMs * rate) / 1000);
  }

  /** The time until one more submission is allowed. */
  #waitMs(rate: number): number {
    return Math.ceil(((1 - rounding - this.#submissions) * 1000) / rate);
  }

  /** False if there are too many. Otherwise `closeConnection` must follow. */
  openConnection(): boolean {
    if (this.#connections >= (this.#limits.connections ?? Number.POSITIVE_INFINITY)) {
      this.refusals.connections += 1;
      return false;
    }
    this.#connections += 1;
    return true;
  }

  closeConnection(): void {
    this.#connections -= 1;
  }

  /**
   * False if there is no room. Otherwise `releaseBytes` must follow. One body that alone is larger
   * than the quota is let in while nothing else is held: it could never be sent otherwise.
   */
  holdBytes(count: number): boolean {
    if (this.#bytes > 0 && this.#bytes + count > (this.#limits.inFlightBytes ?? Number.POSITIVE_INFINITY)) {
      this.refusals.in_flight_bytes += 1;
      return false;
    }
    this.#bytes += count;
    return true;
  }

  releaseBytes(count: number): void {
    this.#bytes -= count;
  }

  /**
   * Counts bytes that have arrived already, `more` of them for a message that now has `own`. False
   * if they are too many, unless it is the only message. `releaseBytes` must follow in any case.
   */
  addBytes(more: number, own: number): boolean {
    this.#bytes += more;
    if (this.#bytes <= (this.#limits.inFlightBytes ?? Number.POSITIVE_INFINITY) || this.#bytes <= own)
      return true;
    this.refusals.in_flight_bytes += 1;
    return false;
  }
}

/** At least one, or a rate below one a second would never allow any. */
function burstOf({ submissionBurst, submissionsPerSecond = 0 }: QuotaLimits): number {
  return Math.max(1, submissionBurst ?? submissionsPerSecond);
}
