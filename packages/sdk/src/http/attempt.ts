// One attempt that an http worker holds: its heartbeats, its signal, and its end.

import { Body } from "../body.js";
import {
  type InterruptCode,
  InterruptedError,
  RefusedError,
  UnreachableError,
  YardError,
} from "../errors.js";
import { failureOf, isError } from "../failure.js";
import { pause } from "../pause.js";
import { handled, type WorkContext, type WorkHandler, type WorkOptions } from "../worker.js";
import { duration, type HttpConnection } from "./connection.js";
import type { AttemptEnding, Endings } from "./endings.js";
import { type Report, ReportPace, reportOf } from "./reports.js";

export interface ClaimedAttempt {
  readonly task: string;
  readonly attempt: number;
  readonly token: string;
  readonly contentType: string;
  /** Base64 if it came in the JSON of a claim; undefined if it must be fetched. */
  readonly payload: Buffer | string | undefined;
  /**
   * True if it came on a stream: its token is the worker's, and heartbeats and returns are batched.
   */
  readonly isStream?: boolean;
  /** The tasks that it depends on. */
  readonly after?: readonly string[];
  /** Of a worker that serves several queues. */
  readonly queue?: string;
}

/** Two heartbeats may be lost. */
const beatsPerLease = 3;
/** How often per lease a worker checks which heartbeats are due, so that none is late by much. */
export const looksPerLease = 12;
const askAgainMs = 250;

export class HttpAttempt {
  readonly #connection: HttpConnection;
  readonly #endings: Endings;
  readonly claimed: ClaimedAttempt;
  readonly #options: WorkOptions & { readonly leaseMs: number };
  /** Created when the signal is read or fires: most handlers never use it. */
  #abort: AbortController | undefined;
  /** When the next heartbeat is due. */
  #beatAt: number;
  #isBeating = false;
  /** When the lease expires if nothing more is heard from the dispatcher. */
  #leaseUntil: number;
  #isOver = false;
  /** Made with the first report: most handlers make none. */
  #reports: ReportPace | undefined;

  constructor(
    connection: HttpConnection,
    endings: Endings,
    claimed: ClaimedAttempt,
    options: WorkOptions & { leaseMs: number },
  ) {
    this.#endings = endings;
    this.#connection = connection;
    this.claimed = claimed;
    this.#options = options;
    const now = performance.now();
    this.#leaseUntil = now + options.leaseMs;
    this.#beatAt = now + options.leaseMs / beatsPerLease;
  }

  interrupt(code: InterruptCode): void {
    if (!this.#isOver) this.#aborting.abort(new InterruptedError(code));
  }

  get #aborting(): AbortController {
    this.#abort ??= new AbortController();
    return this.#abort;
  }

  get #isAborted(): boolean {
    return this.#abort?.signal.aborted === true;
  }

  /** Returns the task, because the worker accepts no more. Never rejects. */
  async giveBack(): Promise<void> {
    try {
      await this.#giveBack();
    } catch (fault) {
      this.#options.onError?.(fault);
    } finally {
      this.#isOver = true;
    }
  }

  /** Never rejects: errors are reported to `onError`. */
  async run(handler: WorkHandler): Promise<void> {
    try {
      await this.#answer(handler);
    } catch (fault) {
      this.#options.onError?.(fault);
    } finally {
      this.#isOver = true;
    }
  }

  async #answer(handler: WorkHandler): Promise<void> {
    let result: Body;
    try {
      result = await this.#handled(handler);
    } catch (fault) {
      await this.#failed(fault);
      return;
    }
    await this.#reports?.end();
    try {
      // The result is reported even if the signal has fired: the handler may have finished just
      // before, and the dispatcher decides.
      await this.#say({ result });
    } catch (fault) {
      // For example a result that is too large. Unanswered, the task would be lost, and go to one
      // worker after another.
      if (!isRefusedResult(fault)) throw fault;
      this.#options.onError?.(fault);
      await this.#failed(fault);
    }
  }

  async #handled(handler: WorkHandler): Promise<Body> {
    const { contentType, payload } = this.claimed;
    const bytes = typeof payload === "string" ? Buffer.from(payload, "base64") : payload;
    const body = new Body(bytes ?? (await this.#fetchPayload()), contentType);
    return handled(handler, body, this.#context(), this.#options.timeoutMs);
  }

  /** Tries again while the dispatcher is away for a moment, which must not fail the task. */
  async #fetchPayload(): Promise<Buffer> {
    const path = `/v1/tasks/${encodeURIComponent(this.claimed.task)}/payload`;
    try {
      return (await this.#whileLeased(() => this.#connection.ask(path))).body;
    } catch (fault) {
      if (isAway(fault)) this.interrupt("lost");
      throw fault;
    }
  }

  #context(): WorkContext {
    const { task, attempt, after, queue = this.#options.queue } = this.claimed;
    const aborting = () => this.#aborting;
    return {
      ...(after !== undefined && { after }),
      dialect: "http",
      task,
      attempt: String(attempt),
      queue,
      get signal() {
        return aborting().signal;
      },
      beat: () => this.#beat(),
      progress: (value, message) => this.#report(reportOf(value, message)),
    };
  }

  #report(report: Report): void {
    if (this.#isOver || this.#isAborted) return;
    this.#reports ??= new ReportPace((latest) => this.#beat(latest));
    this.#reports.add(report);
  }

  async #failed(fault: unknown): Promise<void> {
    await this.#reports?.end();
    const reason = this.#abort?.signal.reason as InterruptedError | undefined;
    // The attempt did not fail: the worker's goodbye gives it to another worker.
    if (reason?.code === "stopping") return;
    if (!reason && isStop(fault)) {
      await this.#giveBack();
      return;
    }
    if (reason?.code === "lost" || reason?.code === "cancelled") {
      this.#options.onError?.(reason);
      // A cancelled attempt is answered, so that its slot becomes free. A lost claimed attempt has
      // no slot.
      if (reason.code === "lost") {
        if (this.claimed.isStream) await this.#giveBack();
        return;
      }
    }
    await this.#say({ error: failureOf(fault) });
  }

  /** The attempt did not fail: another worker gets it now, and not only when the lease expires. */
  async #giveBack(): Promise<void> {
    try {
      await this.#heard(() =>
        this.claimed.isStream ? this.#endings.tell(this.claimed, { return: true }) : this.#post("return"),
      );
    } catch (fault) {
      // Another worker already has it.
      if (!(fault instanceof YardError && fault.code === "stale_attempt")) throw fault;
    }
  }

  async #say(ending: AttemptEnding): Promise<void> {
    await this.#heard(() => this.#endings.tell(this.claimed, ending));
  }

  /** Retries while the lease lasts. A repeated report has no further effect. */
  async #heard(tell: () => Promise<unknown>): Promise<void> {
    try {
      await this.#whileLeased(tell);
    } catch (fault) {
      const isStale = fault instanceof YardError && fault.code === "stale_attempt";
      // A cancelled task refuses the answer, as expected.
      if (!(isStale && this.#isAborted)) throw fault;
    }
  }

  /** Asks again while the dispatcher is away, until the lease is over. */
  async #whileLeased<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      try {
        return await ask();
      } catch (fault) {
        if (!isAway(fault) || performance.now() >= this.#leaseUntil) throw fault;
        await pause(askAgainMs);
      }
    }
  }

  /** Called regularly by the worker. Does nothing with manual heartbeats. */
  beatIfDue(): void {
    if (this.#options.beats === "manual" || this.#isBeating) return;
    if (performance.now() < this.#beatAt) return;
    this.#isBeating = true;
    void this.#beat().finally(() => {
      this.#isBeating = false;
    });
  }

  /** Never rejects: the next heartbeat makes up for a lost one, or the lease is lost. */
  async #beat(report?: Report): Promise<void> {
    if (this.#isOver || this.#isAborted) return;
    await this.#beatOnce(report);
    if (performance.now() > this.#leaseUntil) this.interrupt("lost");
  }

  async #beatOnce(report: Report | undefined): Promise<void> {
    const { leaseMs } = this.#options;
    const at = performance.now();
    this.#beatAt = at + leaseMs / beatsPerLease;
    try {
      if (await this.#isCancelled(report)) this.interrupt("cancelled");
      else this.#leaseUntil = at + leaseMs;
    } catch (fault) {
      const code = fault instanceof YardError ? fault.code : "";
      if (["stale_attempt", "not_found", "unauthorized"].includes(code)) this.interrupt("lost");
      else this.#options.onError?.(fault);
    }
  }

  /** True if the answer to a heartbeat says that the attempt was cancelled. */
  async #isCancelled(report: Report | undefined): Promise<boolean> {
    if (this.claimed.isStream)
      return (await this.#endings.tell(this.claimed, { beat: true, ...report })).cancel === true;
    const { body } = await this.#post("beat", { lease: duration(this.#options.leaseMs) }, report);
    return (JSON.parse(body.toString("utf8")) as { cancel: boolean }).cancel;
  }

  #post(verb: "beat" | "return", query: { readonly lease?: string } = {}, report?: Report) {
    const { task, attempt, token } = this.claimed;
    return this.#connection.ask(`/v1/tasks/${encodeURIComponent(task)}/attempts/${attempt}:${verb}`, {
      method: "POST",
      isRepeatable: true,
      headers: { "Yard-Token": token, ...(report && { "Content-Type": "application/json" }) },
      query,
      ...(report && { body: Buffer.from(JSON.stringify(report)) }),
    });
  }
}

/** The dispatcher cannot take it now, and may well in a moment. */
function isAway(fault: unknown): boolean {
  if (fault instanceof UnreachableError) return true;
  return fault instanceof YardError && passingCodes.has(fault.code);
}

const passingCodes: ReadonlySet<string> = new Set(["not_ready", "queue_full", "quota_reached"]);

/** The dispatcher will never take this result. */
function isRefusedResult(fault: unknown): boolean {
  return fault instanceof RefusedError && ["payload_too_large", "bad_request"].includes(fault.code);
}

/** True for errors with which a handler reacts to a stop before its signal fires. */
function isStop(fault: unknown): boolean {
  return isError(fault) && fault instanceof InterruptedError && fault.code === "stopping";
}
