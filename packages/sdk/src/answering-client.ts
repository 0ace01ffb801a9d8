// A client for dialects that know a task only while its request is open. The client makes up the
// ids and keeps outcomes until they are read. Operations that only the http door supports are
// refused.

import type { YardAddress } from "./address.js";
import { type Body, type Bodylike, bodyOf } from "./body.js";
import {
  idOf,
  type ResultOptions,
  type SubmitItem,
  type SubmitManyOptions,
  type SubmitOptions,
  type Submitted,
  type SubmittedItem,
  stillOpen,
  YardClient,
} from "./client.js";
import { UnsupportedError, YardError } from "./errors.js";
import { inOrder, untilAborted } from "./in-order.js";
import { checkTimes, refuseUnknownOptions, resultOptions } from "./options.js";
import { timerMs } from "./time.js";

/** A submitted task, as a dialect knows it while its request is open. */
export interface Question {
  /**
   * Resolves when the dispatcher acknowledges the task; at once if the dialect has no
   * acknowledgements.
   */
  readonly taken: Promise<void>;
  readonly outcome: Promise<Body>;
  /** Absent if the dialect cannot cancel. */
  readonly cancel?: () => void;
}

/** What `AnsweringClient` needs of a dialect. */
export interface AnsweringDialect {
  readonly name: string;
  readonly acknowledges: boolean;
  /** The submit options that the dialect supports. */
  readonly knows: ReadonlySet<keyof SubmitOptions>;
  ask(payload: Body, options: SubmitOptions, id: string): Question;
  close(): Promise<void>;
}

/**
 * Maximum number of open requests, beyond which new ones are refused, and of unread outcomes, of
 * which the oldest are dropped.
 */
const keptMaxDefault = 100_000;
const inFlightDefault = 64;

/** A client for dialects that know a task only while its request is open. */
export class AnsweringClient extends YardClient {
  readonly #dialect: AnsweringDialect;
  readonly #questions = new Map<string, Question>();
  /** Ids of the tasks that have ended. */
  readonly #settled = new Set<string>();
  readonly acknowledges: boolean;
  #last = 0;

  readonly #keptMax: number;

  constructor(dialect: AnsweringDialect, address: YardAddress, keptMax: number = keptMaxDefault) {
    super(dialect.name, address);
    this.#keptMax = keptMax;
    this.#dialect = dialect;
    this.acknowledges = dialect.acknowledges;
  }

  async submit(payload: Bodylike, options: SubmitOptions = {}): Promise<Submitted> {
    this.#refuseUnknown(options);
    const { delayMs, timeoutMs, expiresMs } = options;
    checkTimes({ delayMs, timeoutMs, expiresMs });
    if (this.#questions.size >= this.#keptMax) this.#makeRoom();
    this.#last += 1;
    const id = `${this.dialect}-${this.#last}`;
    const body = bodyOf(payload);
    const question = this.#dialect.ask(body, options, id);
    // `result` reports a failure; until it is called, the rejection must not count as unhandled.
    const settled = () => {
      if (this.#questions.has(id)) this.#settled.add(id);
    };
    question.outcome.then(settled, settled);
    this.#questions.set(id, question);
    try {
      await question.taken;
    } catch (fault) {
      this.#forget(id);
      throw fault;
    }
    return { id, isAcknowledged: this.acknowledges };
  }

  submitMany(
    items: Iterable<SubmitItem> | AsyncIterable<SubmitItem>,
    options: SubmitManyOptions = {},
  ): AsyncGenerator<SubmittedItem> {
    const {
      batch: _,
      inFlight = inFlightDefault,
      signal,
      stop,
      roomWaitMs: _room,
      onAnswered: _told,
      ...common
    } = options;
    return inOrder(stop ? untilAborted(items, stop) : items, inFlight, async ({ payload, ...own }, index) => {
      signal?.throwIfAborted();
      try {
        return { index, ...(await this.submit(payload, { ...common, ...own })) };
      } catch (error) {
        if (error instanceof YardError) return { index, error };
        throw error;
      }
    });
  }

  /** An outcome can be read once. */
  async result(task: string | Submitted, options: ResultOptions = {}): Promise<Body> {
    refuseUnknownOptions("result", options, resultOptions);
    const { signal, waitMs } = options;
    const id = idOf(task);
    const { outcome } = this.#own(id, "ask for");
    try {
      const body = await until(outcome, { signal, waitMs, late: () => stillOpen(id) });
      this.#forget(id);
      return body;
    } catch (fault) {
      if (!(fault instanceof YardError && fault.code === "still_open") && !signal?.aborted) this.#forget(id);
      throw fault;
    }
  }

  /** The task's outcome shows whether the cancel took effect. */
  override async cancel(task: string | Submitted): Promise<undefined> {
    const id = idOf(task);
    const { cancel } = this.#own(id, "cancel");
    if (!cancel) return this.unsupported("cancel a task");
    cancel();
    return undefined;
  }

  #makeRoom(): void {
    const [oldest] = this.#settled;
    if (oldest === undefined)
      throw new YardError("queue_full", `${this.#keptMax} tasks are under way: wait for some of them`);
    this.#forget(oldest);
  }

  #forget(id: string): void {
    this.#questions.delete(id);
    this.#settled.delete(id);
  }

  #own(id: string, what: string): Question {
    const question = this.#questions.get(id);
    if (question) return question;
    throw new UnsupportedError(this.dialect, `${what} task ${id}, which this client did not submit`);
  }

  async close(): Promise<void> {
    this.#questions.clear();
    this.#settled.clear();
    await this.#dialect.close();
  }

  #refuseUnknown(options: SubmitOptions): void {
    for (const [name, value] of Object.entries(options)) {
      if (value === undefined || this.#dialect.knows.has(name as keyof SubmitOptions)) continue;
      if (name === "queue") {
        const advice = `its door has one, set by doors.${this.dialect}.queue of the dispatcher`;
        throw new UnsupportedError(this.dialect, "name a queue", advice);
      }
      throw new UnsupportedError(this.dialect, `give a task ${optionWords.get(name) ?? name}`);
    }
  }
}

const optionWords: ReadonlyMap<string, string> = new Map(
  Object.entries({
    contentType: "a content type",
    priority: "a priority",
    delayMs: "a delay",
    after: "dependencies",
    ifFailed: "dependencies",
    timeoutMs: "a time limit",
    expiresMs: "an expiry",
    attempts: "a number of attempts",
    failures: "a number of failures",
    key: "a key",
    group: "a group",
  }),
);

interface Until {
  readonly signal: AbortSignal | undefined;
  readonly waitMs: number | undefined;
  readonly late: () => Error;
}

function until<Value>(promise: Promise<Value>, { signal, waitMs, late }: Until): Promise<Value> {
  if (signal === undefined && waitMs === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason);
    const timer = waitMs === undefined ? undefined : setTimeout(() => reject(late()), timerMs(waitMs));
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    });
  });
}
