// How attempts ended, as a worker tells it: those that end in one turn of the event loop go together in one request. A
// worker with many slots and quick handlers would otherwise make a request for each.

import type { Body } from "../body.js";
import { RefusedError, YardError } from "../errors.js";
import type { ClaimedAttempt } from "./attempt.js";
import type { HttpConnection } from "./connection.js";
import { textOrBase64 } from "./submission.js";

export type Ending =
  | { readonly result: Body; readonly error?: undefined }
  | { readonly error: { readonly code?: string; readonly message: string }; readonly result?: undefined };

interface Said {
  readonly attempt: ClaimedAttempt;
  readonly ending: Ending;
  resolve(): void;
  reject(fault: unknown): void;
}

/** A larger result goes by itself, as it is. */
const togetherBytesMax = 65_536;
const batchItemsMax = 200;

type Answer =
  | { readonly id: string }
  | { readonly code: string; readonly status?: number; readonly detail?: string };

export class Endings {
  readonly #connection: HttpConnection;
  #gathered: Said[] = [];

  constructor(connection: HttpConnection) {
    this.#connection = connection;
  }

  /** Rejects as the request for it alone would. */
  tell(attempt: ClaimedAttempt, ending: Ending): Promise<void> {
    if ((ending.result?.bytes.length ?? 0) > togetherBytesMax) return this.#tellOne(attempt, ending);
    return new Promise((resolve, reject) => {
      this.#gathered.push({ attempt, ending, resolve, reject });
      if (this.#gathered.length === 1) setImmediate(() => this.#send());
    });
  }

  #send(): void {
    const gathered = this.#gathered;
    this.#gathered = [];
    for (let at = 0; at < gathered.length; at += batchItemsMax) {
      const some = gathered.slice(at, at + batchItemsMax);
      const [first] = some;
      if (some.length === 1 && first)
        this.#tellOne(first.attempt, first.ending).then(first.resolve, first.reject);
      else void this.#tellTogether(some);
    }
  }

  async #tellOne({ task, attempt, token }: ClaimedAttempt, { result, error }: Ending): Promise<void> {
    const path = `/v1/tasks/${encodeURIComponent(task)}/attempts/${attempt}:${result ? "done" : "fail"}`;
    await this.#connection.ask(path, {
      method: "POST",
      // The same said twice is said once.
      isRepeatable: true,
      body: result?.bytes ?? Buffer.from(JSON.stringify(error)),
      headers: { "Yard-Token": token, "Content-Type": result?.contentType ?? "application/json" },
    });
  }

  async #tellTogether(some: readonly Said[]): Promise<void> {
    try {
      const { items } = await this.#connection.json<{ items: Answer[] }>("/v1/attempts:batch", {
        method: "POST",
        isRepeatable: true,
        body: Buffer.from(some.map((said) => `${JSON.stringify(lineOf(said))}\n`).join("")),
        headers: { "Content-Type": "application/x-ndjson" },
      });
      for (const [at, said] of some.entries()) settle(said, items[at]);
    } catch (fault) {
      for (const { reject } of some) reject(fault);
    }
  }
}

function lineOf({ attempt: { task, attempt, token }, ending: { result, error } }: Said) {
  const said = result
    ? { ...textOrBase64("result", result.bytes), contentType: result.contentType }
    : { error };
  return { task, attempt, token, ...said };
}

function settle({ resolve, reject }: Said, answer: Answer | undefined): void {
  if (answer === undefined)
    reject(new YardError("unexpected_answer", "the dispatcher answered for fewer attempts than told"));
  else if ("id" in answer) resolve();
  else reject(new RefusedError(answer.status ?? 0, answer.code, answer.detail ?? answer.code));
}
