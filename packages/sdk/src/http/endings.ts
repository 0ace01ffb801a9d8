// Reports of a worker: ends of attempts and heartbeats. Reports made in one turn of the event loop
// share a request. Otherwise a worker with many slots and fast handlers would make one request per
// report.

import { type Body, textType } from "../body.js";
import { RefusedError, YardError } from "../errors.js";
import type { ClaimedAttempt } from "./attempt.js";
import type { HttpConnection } from "./connection.js";
import { minimal, textOrBase64 } from "./submission.js";

/**
 * Heartbeats and returns are reported here only for attempts of a stream: older dispatchers have
 * separate requests for them.
 */
export type AttemptEnding =
  | { readonly result: Body }
  | { readonly error: { readonly code?: string; readonly message: string; readonly detail?: string } }
  | { readonly beat: true; readonly progress?: unknown; readonly message?: string }
  | { readonly return: true };

interface PendingEnding {
  readonly attempt: ClaimedAttempt;
  readonly ending: AttemptEnding;
  resolve(answer: Told): void;
  reject(fault: unknown): void;
}

/** The dispatcher's answer to a report. */
export interface Told {
  readonly cancel?: boolean;
}

/** A larger result is sent alone and unencoded. */
const togetherBytesMax = 65_536;
const batchItemsMax = 1_000;
/**
 * Maximum number of open requests. While there are this many, reports are gathered for the next
 * one.
 */
const inFlightMax = 4;

type EndingAnswer =
  | ({ readonly id: string } & Told)
  | { readonly code: string; readonly status?: number; readonly detail?: string };

export class Endings {
  readonly #connection: HttpConnection;
  #gathered: PendingEnding[] = [];
  #isPlanned = false;
  #inFlight = 0;

  constructor(connection: HttpConnection) {
    this.#connection = connection;
  }

  /** Rejects like a separate request would. */
  tell(attempt: ClaimedAttempt, ending: AttemptEnding): Promise<Told> {
    if ("result" in ending && ending.result.bytes.length > togetherBytesMax)
      return this.#tellOne(attempt, ending);
    return new Promise((resolve, reject) => {
      this.#gathered.push({ attempt, ending, resolve, reject });
      this.#plan();
    });
  }

  #plan(): void {
    if (this.#isPlanned || this.#gathered.length === 0 || this.#inFlight >= inFlightMax) return;
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      const some = this.#gathered.splice(0, batchItemsMax);
      this.#inFlight += 1;
      void this.#send(some).finally(() => {
        this.#inFlight -= 1;
        this.#plan();
      });
      this.#plan();
    });
  }

  /** Never rejects. */
  async #send(some: readonly PendingEnding[]): Promise<void> {
    const [first] = some;
    if (some.length === 1 && first && ("result" in first.ending || "error" in first.ending))
      await this.#tellOne(first.attempt, first.ending).then(first.resolve, first.reject);
    else await this.#tellTogether(some);
  }

  async #tellOne({ task, attempt, token }: ClaimedAttempt, ending: AttemptEnding): Promise<Told> {
    const isDone = "result" in ending;
    const path = `/v1/tasks/${encodeURIComponent(task)}/attempts/${attempt}:${isDone ? "done" : "fail"}`;
    await this.#connection.ask(path, {
      method: "POST",
      // A repeated report has no further effect.
      isRepeatable: true,
      body: isDone ? ending.result.bytes : Buffer.from(JSON.stringify("error" in ending ? ending.error : {})),
      headers: {
        ...minimal,
        "Yard-Token": token,
        "Content-Type": isDone ? ending.result.contentType : "application/json",
      },
    });
    return {};
  }

  async #tellTogether(some: readonly PendingEnding[]): Promise<void> {
    const token = sharedToken(some);
    let body = "";
    for (const said of some) body += `${lineOf(said, token)}\n`;
    try {
      const { items } = await this.#connection.json<{ items: EndingAnswer[] }>("/v1/attempts:batch", {
        method: "POST",
        isRepeatable: true,
        body: Buffer.from(body),
        headers: {
          ...minimal,
          "Content-Type": "application/x-ndjson",
          ...(token === undefined ? {} : { "Yard-Token": token }),
        },
      });
      for (const [at, said] of some.entries()) settle(said, items[at]);
    } catch (fault) {
      const isTooLarge = fault instanceof YardError && fault.code === "payload_too_large";
      // The reports may be too large together although none of them is.
      if (isTooLarge && some.length > 1) for (const said of some) await this.#send([said]);
      else for (const { reject } of some) reject(fault);
    }
  }
}

/** The token that is valid for all of them, if they came on a stream. */
function sharedToken(some: readonly PendingEnding[]): string | undefined {
  const { token, isStream } = (some[0] as PendingEnding).attempt;
  return isStream && some.every(({ attempt }) => attempt.token === token) ? token : undefined;
}

function lineOf(
  { attempt: { task, attempt, token }, ending }: PendingEnding,
  shared: string | undefined,
): string {
  const said = "result" in ending ? resultOf(ending.result) : ending;
  return JSON.stringify(
    shared === undefined ? { task, attempt, token, ...said } : { task, attempt, ...said },
  );
}

/** The dispatcher takes a result without a media type for text. */
function resultOf({ bytes, contentType }: Body) {
  const result = textOrBase64("result", bytes);
  return "result" in result && contentType === textType ? result : { ...result, contentType };
}

function settle({ resolve, reject }: PendingEnding, answer: EndingAnswer | undefined): void {
  if (answer === undefined)
    reject(new YardError("unexpected_answer", "the dispatcher answered for fewer attempts than told"));
  else if ("id" in answer) resolve(answer);
  else reject(new RefusedError(answer.status ?? 0, answer.code, answer.detail ?? answer.code));
}
