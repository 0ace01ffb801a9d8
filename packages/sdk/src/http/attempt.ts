// One attempt that an http worker holds: its beats, its signal, and how it ended.

import { Body } from "../body.js";
import { type InterruptCode, InterruptedError, UnreachableError, YardError } from "../errors.js";
import { pause } from "../pause.js";
import { handled, type WorkContext, type WorkHandler, type WorkOptions } from "../worker.js";
import { duration, type HttpConnection } from "./connection.js";
import type { Ending, Endings } from "./endings.js";

export interface ClaimedAttempt {
  readonly task: string;
  readonly attempt: number;
  readonly token: string;
  readonly contentType: string;
  /** In base64 where it came in JSON. */
  readonly payload: Buffer | string;
}

/** Two beats may be lost. */
const beatsPerLease = 3;
const beatPauseMsMin = 25;
const messageLengthMax = 16_384;
const sayAgainMs = 250;

export class HttpAttempt {
  readonly #connection: HttpConnection;
  readonly #endings: Endings;
  readonly #claimed: ClaimedAttempt;
  readonly #options: WorkOptions & { readonly leaseMs: number };
  readonly #abort = new AbortController();
  #beatTimer: NodeJS.Timeout | undefined;
  /** When the lease is over for certain, if nothing more is heard. */
  #leaseUntil: number;
  #isOver = false;

  constructor(
    connection: HttpConnection,
    endings: Endings,
    claimed: ClaimedAttempt,
    options: WorkOptions & { leaseMs: number },
  ) {
    this.#endings = endings;
    this.#connection = connection;
    this.#claimed = claimed;
    this.#options = options;
    this.#leaseUntil = performance.now() + options.leaseMs;
  }

  interrupt(code: InterruptCode): void {
    if (!this.#isOver) this.#abort.abort(new InterruptedError(code));
  }

  /** Never rejects: what goes wrong is told to `onError`. */
  async run(handler: WorkHandler): Promise<void> {
    const { payload, contentType } = this.#claimed;
    const bytes = typeof payload === "string" ? Buffer.from(payload, "base64") : payload;
    this.#beatLater();
    try {
      await this.#finish(
        handled(handler, new Body(bytes, contentType), this.#context(), this.#options.timeoutMs),
      );
    } catch (fault) {
      this.#options.onError?.(fault);
    } finally {
      this.#isOver = true;
      clearTimeout(this.#beatTimer);
    }
  }

  #context(): WorkContext {
    const { task, attempt } = this.#claimed;
    return {
      dialect: "http",
      task,
      attempt: String(attempt),
      queue: this.#options.queue,
      signal: this.#abort.signal,
      beat: () => this.#beat(),
    };
  }

  async #finish(outcome: Promise<Body>): Promise<void> {
    let result: Body;
    try {
      result = await outcome;
    } catch (fault) {
      await this.#failed(fault);
      return;
    }
    // Said even when the signal fired: the handler may have been done just before, and the dispatcher knows best.
    await this.#say({ result });
  }

  async #failed(fault: unknown): Promise<void> {
    const reason = this.#abort.signal.reason as InterruptedError | undefined;
    if (reason?.code === "stopping" || (!reason && isStop(fault))) {
      await this.#giveBack();
      return;
    }
    if (reason?.code === "lost" || reason?.code === "cancelled") {
      this.#options.onError?.(reason);
      // A cancelled one is answered, so that the slot is known to be free; a lost one is nobody's business any more.
      if (reason.code === "lost") return;
    }
    const message =
      (fault instanceof Error ? fault.message : String(fault)) || "the handler failed and said nothing";
    const code = fault instanceof YardError && /^[\w.-]{1,64}$/.test(fault.code) ? { code: fault.code } : {};
    await this.#say({ error: { ...code, message: message.slice(0, messageLengthMax) } });
  }

  /** It did not fail: another worker is to have it now, and not when the lease is over. */
  async #giveBack(): Promise<void> {
    try {
      await this.#heard(() => this.#post("return"));
    } catch (fault) {
      // Somebody else has it already.
      if (!(fault instanceof YardError && fault.code === "stale_attempt")) throw fault;
    }
  }

  async #say(ending: Ending): Promise<void> {
    await this.#heard(() => this.#endings.tell(this.#claimed, ending));
  }

  /** Until it is heard, or the lease is over: the same twice is once. */
  async #heard(tell: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await tell();
        return;
      } catch (fault) {
        const isAway =
          fault instanceof UnreachableError || (fault instanceof YardError && fault.code === "not_ready");
        if (isAway && performance.now() < this.#leaseUntil) {
          await pause(sayAgainMs);
          continue;
        }
        const isStale = fault instanceof YardError && fault.code === "stale_attempt";
        // A cancelled task takes no answer; that was known.
        if (isStale && this.#abort.signal.aborted) return;
        throw fault;
      }
    }
  }

  #beatLater(): void {
    if (this.#options.beats === "manual") return;
    const pauseMs = Math.max(beatPauseMsMin, this.#options.leaseMs / beatsPerLease);
    this.#beatTimer = setTimeout(() => {
      void this.#beat().finally(() => {
        if (!this.#isOver && !this.#abort.signal.aborted) this.#beatLater();
      });
    }, pauseMs);
  }

  /** Never rejects: a beat that is not heard is made up for by the next, or the lease is lost. */
  async #beat(): Promise<void> {
    if (this.#isOver || this.#abort.signal.aborted) return;
    await this.#beatOnce(this.#options.leaseMs);
    if (performance.now() > this.#leaseUntil) this.interrupt("lost");
  }

  async #beatOnce(leaseMs: number): Promise<void> {
    const at = performance.now();
    try {
      const { body } = await this.#post("beat", { lease: duration(leaseMs) });
      const { cancel } = JSON.parse(body.toString("utf8")) as { cancel: boolean };
      if (cancel) this.interrupt("cancelled");
      else this.#leaseUntil = at + leaseMs;
    } catch (fault) {
      const code = fault instanceof YardError ? fault.code : "";
      if (["stale_attempt", "not_found", "unauthorized"].includes(code)) this.interrupt("lost");
      else this.#options.onError?.(fault);
    }
  }

  #post(verb: "beat" | "return", query: { readonly lease?: string } = {}) {
    const { task, attempt, token } = this.#claimed;
    return this.#connection.ask(`/v1/tasks/${encodeURIComponent(task)}/attempts/${attempt}:${verb}`, {
      method: "POST",
      isRepeatable: true,
      headers: { "Yard-Token": token },
      query,
    });
  }
}

/** A handler may know before its signal fires that it has to stop. */
function isStop(fault: unknown): boolean {
  return fault instanceof InterruptedError && fault.code === "stopping";
}
