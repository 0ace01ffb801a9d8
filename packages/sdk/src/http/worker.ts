// A worker over http. It receives tasks on a stream, or claims them if the dispatcher has no
// streams. It sends heartbeats while they run and reports how they ended. An unreachable dispatcher
// is retried; one that drains this worker ends it.

import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { YardAddress } from "../address.js";
import { ArgumentError, type InterruptCode, RefusedError, UnsupportedError } from "../errors.js";
import { timerMs } from "../time.js";
import {
  defaultGraceMs,
  type RunningWorker,
  type StopOptions,
  type WorkHandler,
  type WorkOptions,
} from "../worker.js";
import { type ClaimedAttempt, HttpAttempt, looksPerLease } from "./attempt.js";
import { Claims } from "./claims.js";
import { HttpConnection } from "./connection.js";
import { Endings } from "./endings.js";
import { minimal } from "./submission.js";
import { type AttemptLine, WorkStream } from "./work-stream.js";

const leaseDefaultMs = 30_000;
const beatLookMsMin = 10;
/** Maximum time that ending the worker may be delayed by a dispatcher that does not answer. */
const goodbyeMsMax = 2_000;
/** Maximum number of slots of a stream. */
const concurrencyMax = 1_000;

export class HttpWorker implements RunningWorker {
  readonly ended: Promise<void>;
  readonly #connection: HttpConnection;
  readonly #endings: Endings;
  readonly #options: WorkOptions & { readonly leaseMs: number };
  readonly #name: string;
  readonly #queues: readonly [string, ...string[]];
  readonly #concurrency: number;
  readonly #handler: WorkHandler;
  /** Running attempts, by number. */
  readonly #running = new Map<number, HttpAttempt>();
  readonly #stopping = new AbortController();
  readonly #stream: WorkStream;
  #streamToken = "";
  #whenFree: () => void = () => {};
  #graceTimer: NodeJS.Timeout | undefined;
  /** One timer for all attempts: most end long before their first heartbeat. */
  #beatTimer: NodeJS.Timeout | undefined;
  #isReached: boolean | undefined;

  constructor(address: YardAddress, options: WorkOptions, handler: WorkHandler) {
    const { concurrency = 1, name, token, tls, leaseMs = leaseDefaultMs } = options;
    const queues = queuesOf(options);
    if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > concurrencyMax) {
      throw new ArgumentError(
        "bad_argument",
        `concurrency: expected 1 to ${concurrencyMax}, found ${concurrency}`,
      );
    }
    this.#connection = new HttpConnection(address, { token, tls });
    this.#endings = new Endings(this.#connection);
    this.#options = { ...options, leaseMs };
    this.#name = name ?? `${hostname()}-${process.pid}-${randomBytes(3).toString("hex")}`.slice(-128);
    this.#queues = queues;
    this.#concurrency = concurrency;
    this.#handler = handler;
    this.#stream = this.#makeStream();
    this.ended = this.#work();
    this.ended.catch(() => {});
  }

  async stop({ graceMs = defaultGraceMs }: StopOptions = {}): Promise<void> {
    this.#stopping.abort();
    // A second call with less grace shortens it.
    clearTimeout(this.#graceTimer);
    this.#graceTimer = setTimeout(() => {
      for (const attempt of this.#running.values()) attempt.interrupt("stopping");
    }, timerMs(graceMs));
    this.#whenFree();
    // If it ended for another reason, `ended` reports it.
    await this.ended.catch(() => {});
    clearTimeout(this.#graceTimer);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #work(): Promise<void> {
    this.#beatTimer = setInterval(
      () => {
        for (const attempt of this.#running.values()) attempt.beatIfDue();
      },
      Math.max(beatLookMsMin, this.#options.leaseMs / looksPerLease),
    );
    try {
      const end = await this.#overStream();
      if (end === "unsupported") {
        if (this.#queues.length > 1)
          throw new UnsupportedError("http", "serve several queues", "this dispatcher is too old for it");
        await this.#claims().run();
      }
    } finally {
      await this.#finish();
      clearInterval(this.#beatTimer);
      this.#stream.close();
      // If another worker uses the name now, a goodbye would end that one.
      if (!this.#stream.isReplaced) await this.#sayGoodbye();
      this.#connection.close();
    }
  }

  /**
   * Resolves when the stream has ended or this worker stops. When it stops, the stream stays open,
   * because handlers may still be cancelled.
   */
  #overStream() {
    const stopped = new Promise<"stopped">((resolve) => {
      this.#stopping.signal.addEventListener("abort", () => {
        this.#sayDrain();
        resolve("stopped");
      });
    });
    return Promise.race([this.#stream.run(), stopped]);
  }

  #makeStream(): WorkStream {
    return new WorkStream(this.#connection, {
      queues: this.#queues,
      name: this.#name,
      slots: this.#concurrency,
      leaseMs: this.#options.leaseMs,
      held: () => [...this.#running.values()].map(({ claimed }) => claimed),
      onOpen: (token) => {
        this.#streamToken = token;
        this.#contact(true);
        if (this.#stopping.signal.aborted) this.#sayDrain();
      },
      onAttempt: (line) => this.#startOf(line),
      onCancel: (attempt, reason) => this.#running.get(attempt)?.interrupt(interruptOf(reason)),
      onAway: (fault) => {
        this.#contact(fault instanceof RefusedError);
        this.#options.onError?.(fault);
      },
    });
  }

  #claims(): Claims {
    return new Claims(this.#connection, {
      queue: this.#queues[0],
      name: this.#name,
      leaseMs: this.#options.leaseMs,
      stopping: this.#stopping.signal,
      free: () => this.#concurrency - this.#running.size,
      untilFree: () => this.#untilFree(),
      onAttempt: (claimed) => this.#start(claimed),
      onContact: (isThere, fault) => {
        this.#contact(isThere);
        if (fault !== undefined) this.#options.onError?.(fault);
      },
    });
  }

  #startOf({ task, attempt, contentType, payload, payloadBase64, after, queue }: AttemptLine): void {
    const bytes = payloadBase64 === undefined ? undefined : Buffer.from(payloadBase64, "base64");
    const body = bytes ?? (payload === undefined ? undefined : Buffer.from(payload));
    const token = this.#streamToken;
    const more = { ...(after && { after }), queue: queue ?? this.#queues[0] };
    this.#start({ task, attempt, token, contentType, payload: body, isStream: true, ...more });
  }

  /**
   * Requests no more tasks; cancellations still arrive. If the dispatcher misses this, the goodbye
   * tells it.
   */
  #sayDrain(): void {
    this.#tell("drain").catch(() => {});
  }

  /**
   * Returns the remaining attempts to other workers now. If the dispatcher misses this, it notices
   * the silence.
   */
  async #sayGoodbye(): Promise<void> {
    await this.#tell("leave").catch(() => {});
  }

  #tell(verb: "drain" | "leave") {
    const path = `/v1/workers/${encodeURIComponent(`http/${this.#name}`)}:${verb}`;
    const signal = AbortSignal.timeout(goodbyeMsMax);
    return this.#connection.ask(path, { method: "POST", headers: minimal, signal, isRepeatable: true });
  }

  #contact(isThere: boolean): void {
    if (this.#isReached !== isThere) this.#options.onContact?.(isThere);
    this.#isReached = isThere;
  }

  #start(claimed: ClaimedAttempt): void {
    const attempt = new HttpAttempt(this.#connection, this.#endings, claimed, this.#options);
    this.#running.set(claimed.attempt, attempt);
    const isLate = this.#stopping.signal.aborted;
    (isLate ? attempt.giveBack() : attempt.run(this.#handler)).finally(() => {
      this.#running.delete(claimed.attempt);
      this.#whenFree();
    });
  }

  #untilFree(): Promise<void> {
    return new Promise<void>((resolve) => {
      this.#whenFree = resolve;
    });
  }

  /**
   * Lets running handlers finish; `stop` says how long they may take. A drained worker has no
   * limit.
   */
  async #finish(): Promise<void> {
    while (this.#running.size > 0) await this.#untilFree();
    clearTimeout(this.#graceTimer);
  }
}

function queuesOf({ queue, queues }: WorkOptions): readonly [string, ...string[]] {
  if (queue !== undefined && queues !== undefined)
    throw new ArgumentError("bad_argument", "queue or queues: give one of them");
  const [first, ...others] = new Set(queues ?? (queue === undefined ? [] : [queue]));
  if (first === undefined)
    throw new ArgumentError("bad_argument", "http has many queues: name one to work for");
  return [first, ...others];
}

/**
 * Translates the dispatcher's reason for revoking an attempt into the code of the handler's signal.
 */
function interruptOf(reason: string): InterruptCode {
  return reason === "cancelled" || reason === "time_limit" ? reason : "lost";
}
