// Claims for a dispatcher without worker streams: claims as many tasks as there are free slots, in
// a loop.

import { setImmediate as nextTurn } from "node:timers/promises";
import { RefusedError, YardError } from "../errors.js";
import { pause } from "../pause.js";
import type { ClaimedAttempt } from "./attempt.js";
import { duration, type HttpConnection } from "./connection.js";
import { isPassing } from "./work-stream.js";

/** Duration of one long poll. Proxies take longer silence for a dead connection. */
const claimWaitMs = 25_000;
const firstPauseMs = 100;
const pauseMsMax = 5_000;

export interface ClaimsOptions {
  readonly queue: string;
  readonly name: string;
  readonly leaseMs: number;
  readonly stopping: AbortSignal;
  readonly free: () => number;
  /** Resolves when a slot is free, or the worker stops. */
  readonly untilFree: () => Promise<void>;
  readonly onAttempt: (claimed: ClaimedAttempt) => void;
  /** Called when the dispatcher answered, or with the reason it did not. */
  readonly onContact: (isThere: boolean, fault?: unknown) => void;
}

export class Claims {
  readonly #connection: HttpConnection;
  readonly #options: ClaimsOptions;
  /** True if the dispatcher answered the last claim. */
  #isReached = false;
  /** True after a payload did not fit into JSON. It is then claimed alone and raw. */
  #wantsRaw = false;

  constructor(connection: HttpConnection, options: ClaimsOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  /** Resolves when the worker stops or was drained. */
  async run(): Promise<void> {
    const { stopping, free, untilFree, onAttempt, onContact } = this.#options;
    let pauseMs = firstPauseMs;
    while (!stopping.aborted) {
      if (free() === 0) {
        await untilFree();
        // Handlers that end in the same turn are counted as free in the next, so one claim covers
        // all of them.
        await nextTurn();
        continue;
      }
      try {
        for (const claimed of await this.#claim(free())) onAttempt(claimed);
        this.#isReached = true;
        onContact(true);
        pauseMs = firstPauseMs;
      } catch (fault) {
        if (stopping.aborted) return;
        if (fault instanceof YardError && fault.code === "not_ready" && (await this.#isReady())) return;
        if (!isPassing(fault)) throw fault;
        this.#isReached = fault instanceof RefusedError;
        onContact(this.#isReached, fault);
        await pause(pauseMs, stopping);
        pauseMs = Math.min(pauseMs * 2, pauseMsMax);
      }
    }
  }

  async #claim(max: number): Promise<readonly ClaimedAttempt[]> {
    const raw = max === 1 || this.#wantsRaw;
    const { queue, name, leaseMs, stopping } = this.#options;
    const question = {
      method: "POST",
      query: {
        worker: name,
        max: raw ? 1 : max,
        // The first claim does not wait, so that an unreachable dispatcher is noticed soon.
        wait: duration(this.#isReached ? claimWaitMs : 0),
        lease: duration(leaseMs),
      },
      headers: raw ? { Accept: "application/octet-stream" } : {},
      signal: stopping,
      // Attempts of a claim whose answer was lost return to the queue by themselves.
      isRepeatable: true,
    } as const;
    try {
      const answer = await this.#connection.ask(`/v1/queues/${encodeURIComponent(queue)}:claim`, question);
      const { status, headers, body } = answer;
      this.#wantsRaw = false;
      if (status === 204) return [];
      if (!raw) return (JSON.parse(body.toString("utf8")) as { attempts: ClaimedAttempt[] }).attempts;
      const header = (header: string) => String(headers[header] ?? "");
      return [
        {
          task: header("yard-task"),
          attempt: Number(header("yard-attempt")),
          token: header("yard-token"),
          contentType: header("content-type"),
          payload: body,
          ...(headers["yard-after"] !== undefined && { after: header("yard-after").split(",") }),
        },
      ];
    } catch (fault) {
      if (!(fault instanceof YardError) || fault.code !== "payload_too_large" || raw) throw fault;
      this.#wantsRaw = true;
      return [];
    }
  }

  /** True if the dispatcher serves others: then it refuses this worker because it drains it. */
  async #isReady(): Promise<boolean> {
    return this.#connection.ask("/readyz").then(
      () => true,
      () => false,
    );
  }
}
