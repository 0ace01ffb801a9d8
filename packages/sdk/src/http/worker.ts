// A worker over http: claims as many tasks as it has free slots, beats while it is at them, and says how they ended. A
// dispatcher that is away is asked again; one that drains this worker ends it.

import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { YardAddress } from "../address.js";
import { ArgumentError, RefusedError, UnreachableError, YardError } from "../errors.js";
import { pause } from "../pause.js";
import {
  defaultGraceMs,
  type RunningWorker,
  type StopOptions,
  type WorkHandler,
  type WorkOptions,
} from "../worker.js";
import { type ClaimedAttempt, HttpAttempt } from "./attempt.js";
import { duration, HttpConnection } from "./connection.js";
import { Endings } from "./endings.js";

/** One long poll for work; well below what proxies take for dead. */
const claimWaitMs = 25_000;
const leaseDefaultMs = 30_000;
const firstPauseMs = 100;
const pauseMsMax = 5_000;
/** As many as one claim may ask for. */
const concurrencyMax = 1_000;

export class HttpWorker implements RunningWorker {
  readonly ended: Promise<void>;
  readonly #connection: HttpConnection;
  readonly #endings: Endings;
  readonly #options: WorkOptions & { readonly leaseMs: number };
  readonly #name: string;
  readonly #queue: string;
  readonly #concurrency: number;
  readonly #handler: WorkHandler;
  readonly #running = new Set<HttpAttempt>();
  readonly #stopping = new AbortController();
  #whenFree: () => void = () => {};
  #graceTimer: NodeJS.Timeout | undefined;
  /** The dispatcher answered the last claim. */
  #isReached = false;
  /** A payload that does not fit into JSON comes alone and raw. */
  #wantsRaw = false;

  constructor(address: YardAddress, options: WorkOptions, handler: WorkHandler) {
    const { queue, concurrency = 1, name, token, leaseMs = leaseDefaultMs } = options;
    if (queue === undefined)
      throw new ArgumentError("bad_argument", "http has many queues: name one to work for");
    if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > concurrencyMax) {
      throw new ArgumentError(
        "bad_argument",
        `concurrency: expected 1 to ${concurrencyMax}, found ${concurrency}`,
      );
    }
    this.#connection = new HttpConnection(address, token);
    this.#endings = new Endings(this.#connection);
    this.#options = { ...options, leaseMs };
    this.#name = name ?? `${hostname()}-${process.pid}-${randomBytes(3).toString("hex")}`.slice(-128);
    this.#queue = queue;
    this.#concurrency = concurrency;
    this.#handler = handler;
    this.ended = this.#work();
    this.ended.catch(() => {});
  }

  async stop({ graceMs = defaultGraceMs }: StopOptions = {}): Promise<void> {
    this.#stopping.abort();
    // Said again with less grace, it is less.
    clearTimeout(this.#graceTimer);
    this.#graceTimer = setTimeout(() => {
      for (const attempt of this.#running) attempt.interrupt("stopping");
    }, graceMs);
    this.#whenFree();
    // Why it ended otherwise is told by `ended`.
    await this.ended.catch(() => {});
    clearTimeout(this.#graceTimer);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #work(): Promise<void> {
    try {
      await this.#claimUntilStopped();
    } finally {
      await this.#finish();
      this.#connection.close();
    }
  }

  async #claimUntilStopped(): Promise<void> {
    let pauseMs = firstPauseMs;
    while (!this.#stopping.signal.aborted) {
      const free = this.#concurrency - this.#running.size;
      if (free === 0) {
        await new Promise<void>((resolve) => {
          this.#whenFree = resolve;
        });
        // Others that ended in this turn are free by the next: one claim for all of them.
        await nextTurn();
        continue;
      }
      try {
        for (const claimed of await this.#claim(free)) this.#start(claimed);
        this.#contact(true);
        pauseMs = firstPauseMs;
      } catch (fault) {
        if (this.#stopping.signal.aborted) return;
        if (fault instanceof YardError && fault.code === "not_ready" && (await this.#isReady())) return;
        if (!isPassing(fault)) throw fault;
        this.#contact(fault instanceof RefusedError);
        this.#options.onError?.(fault);
        await pause(pauseMs, this.#stopping.signal);
        pauseMs = Math.min(pauseMs * 2, pauseMsMax);
      }
    }
  }

  async #claim(max: number): Promise<readonly ClaimedAttempt[]> {
    const raw = max === 1 || this.#wantsRaw;
    const question = {
      method: "POST",
      query: {
        worker: this.#name,
        max: raw ? 1 : max,
        // The first claim does not wait, so that it is known soon whether anybody is there.
        wait: duration(this.#isReached ? claimWaitMs : 0),
        lease: duration(this.#options.leaseMs),
      },
      headers: raw ? { Accept: "application/octet-stream" } : {},
      signal: this.#stopping.signal,
      // What a claim of ours was given and did not reach us goes back by itself.
      isRepeatable: true,
    } as const;
    const path = `/v1/queues/${encodeURIComponent(this.#queue)}:claim`;
    try {
      const { status, headers, body } = await this.#connection.ask(path, question);
      this.#wantsRaw = false;
      if (status === 204) return [];
      if (!raw) return (JSON.parse(body.toString("utf8")) as { attempts: ClaimedAttempt[] }).attempts;
      const header = (name: string) => String(headers[name] ?? "");
      return [
        {
          task: header("yard-task"),
          attempt: Number(header("yard-attempt")),
          token: header("yard-token"),
          contentType: header("content-type"),
          payload: body,
        },
      ];
    } catch (fault) {
      if (!(fault instanceof YardError) || fault.code !== "payload_too_large" || raw) throw fault;
      this.#wantsRaw = true;
      return [];
    }
  }

  #contact(isThere: boolean): void {
    if (this.#isReached !== isThere) this.#options.onContact?.(isThere);
    this.#isReached = isThere;
  }

  #start(claimed: ClaimedAttempt): void {
    const attempt = new HttpAttempt(this.#connection, this.#endings, claimed, this.#options);
    this.#running.add(attempt);
    void attempt.run(this.#handler).finally(() => {
      this.#running.delete(attempt);
      this.#whenFree();
    });
  }

  /** Lets what runs finish; how long it may, `stop` says. One that is drained has the time it needs. */
  async #finish(): Promise<void> {
    while (this.#running.size > 0) {
      await new Promise<void>((resolve) => {
        this.#whenFree = resolve;
      });
    }
    clearTimeout(this.#graceTimer);
  }

  /** The dispatcher refuses this worker, but is there for others: it drains this one. */
  async #isReady(): Promise<boolean> {
    return this.#connection.ask("/readyz").then(
      () => true,
      () => false,
    );
  }
}

function isPassing(fault: unknown): boolean {
  if (fault instanceof UnreachableError) return true;
  const passing = ["not_ready", "queue_full", "internal_error", "unexpected_answer", "request_timeout"];
  return fault instanceof YardError && passing.includes(fault.code);
}
