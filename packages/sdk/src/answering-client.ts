// A client of a dialect that knows a task only as a question under way: its ids are this client's own, its outcomes are
// kept here until somebody asks for them, and what only the http door can do is refused.

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
import { inOrder } from "./in-order.js";

export interface Question {
  /** Resolves when the dispatcher has acknowledged it; at once where it never does. */
  readonly taken: Promise<void>;
  readonly outcome: Promise<Body>;
}

export interface AnsweringDialect {
  readonly name: string;
  readonly acknowledges: boolean;
  /** Options of a submission that the dialect has a word for. */
  readonly knows: ReadonlySet<keyof SubmitOptions>;
  ask(payload: Body, options: SubmitOptions, id: string): Question;
  close(): Promise<void>;
}

/** Questions under way and outcomes nobody asked for yet; further ones are refused. */
const keptMax = 100_000;
const inFlightDefault = 64;

export class AnsweringClient extends YardClient {
  readonly #dialect: AnsweringDialect;
  readonly #outcomes = new Map<string, Promise<Body>>();
  readonly acknowledges: boolean;
  #last = 0;

  constructor(dialect: AnsweringDialect, address: YardAddress) {
    super(dialect.name, address);
    this.#dialect = dialect;
    this.acknowledges = dialect.acknowledges;
  }

  async submit(payload: Bodylike, options: SubmitOptions = {}): Promise<Submitted> {
    this.#refuseUnknown(options);
    if (this.#outcomes.size >= keptMax) {
      throw new YardError(
        "queue_full",
        `${keptMax} tasks are under way or not asked for: take their results`,
      );
    }
    this.#last += 1;
    const id = `${this.dialect}-${this.#last}`;
    const body = bodyOf(payload);
    const { taken, outcome } = this.#dialect.ask(body, options, id);
    // Whoever wants to know asks `result`; until then a failure is nobody's.
    outcome.catch(() => {});
    this.#outcomes.set(id, outcome);
    try {
      await taken;
    } catch (fault) {
      this.#outcomes.delete(id);
      throw fault;
    }
    return { id, isAcknowledged: this.acknowledges };
  }

  submitMany(
    items: Iterable<SubmitItem> | AsyncIterable<SubmitItem>,
    { batch: _, inFlight = inFlightDefault, signal, ...common }: SubmitManyOptions = {},
  ): AsyncGenerator<SubmittedItem> {
    return inOrder(items, inFlight, async ({ payload, ...own }, index) => {
      signal?.throwIfAborted();
      try {
        return { index, ...(await this.submit(payload, { ...common, ...own })) };
      } catch (error) {
        if (error instanceof YardError) return { index, error };
        throw error;
      }
    });
  }

  /** An outcome is handed out once. */
  async result(task: string | Submitted, { signal, waitMs }: ResultOptions = {}): Promise<Body> {
    const id = idOf(task);
    const outcome = this.#outcomes.get(id);
    if (!outcome) {
      throw new UnsupportedError(this.dialect, `ask for task ${id}, which this client did not hand in`);
    }
    try {
      const body = await until(outcome, { signal, waitMs, late: () => stillOpen(id) });
      this.#outcomes.delete(id);
      return body;
    } catch (fault) {
      if (!(fault instanceof YardError && fault.code === "still_open") && !signal?.aborted)
        this.#outcomes.delete(id);
      throw fault;
    }
  }

  async close(): Promise<void> {
    this.#outcomes.clear();
    await this.#dialect.close();
  }

  #refuseUnknown(options: SubmitOptions): void {
    for (const [name, value] of Object.entries(options)) {
      if (value === undefined || this.#dialect.knows.has(name as keyof SubmitOptions)) continue;
      if (name === "queue") {
        const advice = `its door has one, set by doors.${this.dialect}.queue of the dispatcher`;
        throw new UnsupportedError(this.dialect, "name a queue", advice);
      }
      throw new UnsupportedError(this.dialect, `give a task ${optionWords[name] ?? name}`);
    }
  }
}

const optionWords: Readonly<Record<string, string>> = {
  contentType: "a content type",
  priority: "a priority",
  delayMs: "a delay",
  timeoutMs: "a time limit",
  expiresMs: "an expiry",
  attempts: "a number of attempts",
  failures: "a number of failures",
  key: "a key",
};

interface Until {
  readonly signal: AbortSignal | undefined;
  readonly waitMs: number | undefined;
  readonly late: () => Error;
}

function until<Value>(promise: Promise<Value>, { signal, waitMs, late }: Until): Promise<Value> {
  if (signal === undefined && waitMs === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason);
    const timer = waitMs === undefined ? undefined : setTimeout(() => reject(late()), waitMs);
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    });
  });
}
