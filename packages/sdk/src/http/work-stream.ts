// The stream on which a worker receives its tasks. A cut stream is reopened with a list of the
// attempts that the worker still holds.

import type { IncomingMessage } from "node:http";
import { RefusedError, UnreachableError, YardError } from "../errors.js";
import { pause } from "../pause.js";
import { duration, type HttpConnection, refusal } from "./connection.js";
import { LineSplitter } from "./lines.js";

export interface AttemptLine {
  readonly type: "attempt";
  readonly task: string;
  readonly attempt: number;
  readonly contentType: string;
  readonly payload?: string;
  readonly payloadBase64?: string;
  /** The tasks that it depends on. */
  readonly after?: readonly string[];
  /** Where the stream serves several queues. */
  readonly queue?: string;
}

type Line =
  | AttemptLine
  | { readonly type: "open"; readonly token: string; readonly beatMs: number }
  | { readonly type: "cancel"; readonly attempt: number; readonly reason: string }
  | { readonly type: "beat" }
  | { readonly type: "end"; readonly reason: string; readonly message: string };

export interface StreamOptions {
  /** At least one. */
  readonly queues: readonly [string, ...string[]];
  readonly name: string;
  readonly slots: number;
  readonly leaseMs: number;
  /** The attempts that the worker holds when the stream is reopened. */
  readonly held: () => Iterable<{ readonly task: string; readonly attempt: number }>;
  /** The token is valid for every attempt of this stream. */
  readonly onOpen: (token: string) => void;
  readonly onAttempt: (line: AttemptLine) => void;
  readonly onCancel: (attempt: number, reason: string) => void;
  /** The stream is cut and will be reopened. */
  readonly onAway: (fault: unknown) => void;
}

/** The dispatcher drained the worker; the stream was closed; the dispatcher has no streams. */
export type StreamEnd = "drained" | "closed" | "unsupported";

/**
 * The dispatcher gives up a worker whose stream is cut for two seconds, so the first retry is
 * immediate.
 */
const pausesMs = [0, 100, 250];
const pauseMsMax = 5_000;
/** Number of missing beats after which the connection counts as dead. */
const beatsMissedMax = 3;

export class WorkStream {
  readonly #connection: HttpConnection;
  readonly #options: StreamOptions;
  readonly #closing = new AbortController();
  #lastHeardAt = 0;
  #end: Extract<Line, { type: "end" }> | undefined;
  #isOpen = false;

  constructor(connection: HttpConnection, options: StreamOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  /** True if another process works under this worker's name. */
  get isReplaced(): boolean {
    return this.#end?.reason === "replaced";
  }

  close(): void {
    this.#closing.abort();
  }

  /** Rejects when the dispatcher refuses this worker for good. */
  async run(): Promise<StreamEnd> {
    for (let tries = 0; !this.#closing.signal.aborted; tries += 1) {
      const fault = await this.#once().catch((error: unknown) => error);
      if (this.#closing.signal.aborted) break;
      if (fault instanceof RefusedError && (fault.status === 404 || fault.status === 405))
        return "unsupported";
      if (fault !== undefined && !isPassing(fault)) throw fault;
      if (this.#isOpen) tries = 0;
      this.#isOpen = false;
      const end = this.#end;
      if (end?.reason === "drained") return "drained";
      if (this.isReplaced && end)
        throw new YardError("replaced", `another worker works as ${this.#options.name}: ${end.message}`);
      const cut = new Error(end?.message ?? "the stream was cut");
      this.#options.onAway(fault ?? new UnreachableError(this.#connection.where, cut));
      await pause(pausesMs[tries] ?? Math.min(250 * 2 ** (tries - 2), pauseMsMax), this.#closing.signal);
    }
    return "closed";
  }

  /** Resolves when the stream has ended, for any reason. */
  async #once(): Promise<void> {
    this.#end = undefined;
    const { queues, name, slots, leaseMs, held } = this.#options;
    const [queue, ...others] = queues;
    const also = others.length === 0 ? undefined : others.join(",");
    const lines = Array.from(held(), ({ task, attempt }) => `${JSON.stringify({ task, attempt })}\n`);
    const response = await this.#connection.open(`/v1/queues/${encodeURIComponent(queue)}:work`, {
      method: "POST",
      query: { worker: name, slots, lease: duration(leaseMs), also },
      body: Buffer.from(lines.join("")),
      headers: { "Content-Type": "application/x-ndjson" },
      signal: this.#closing.signal,
      isRepeatable: true,
    });
    if (response.statusCode !== 200) {
      const body: Buffer[] = [];
      for await (const chunk of response as AsyncIterable<Buffer>) body.push(chunk);
      throw refusal(response.statusCode ?? 0, Buffer.concat(body), this.#connection.where);
    }
    await this.#read(response);
  }

  #read(response: IncomingMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      const splitter = new LineSplitter();
      let watch: NodeJS.Timeout | undefined;
      response.on("data", (chunk: Buffer) => {
        this.#lastHeardAt = performance.now();
        try {
          for (const line of splitter.push(chunk)) {
            const beatMs = this.#take(line);
            if (beatMs !== undefined) watch = this.#watch(response, beatMs);
          }
        } catch (fault) {
          reject(fault);
          response.destroy();
        }
      });
      response.on("error", () => {});
      response.on("close", () => {
        clearInterval(watch);
        resolve();
      });
    });
  }

  /** Ends a stream that has gone silent. */
  #watch(response: IncomingMessage, beatMs: number): NodeJS.Timeout {
    return setInterval(() => {
      if (performance.now() - this.#lastHeardAt > beatsMissedMax * beatMs) response.destroy();
    }, beatMs);
  }

  /** Returns the interval of beats if this is the first line. */
  #take(text: string): number | undefined {
    if (text === "") return undefined;
    const line = parsed(text, this.#connection.where);
    switch (line.type) {
      case "attempt":
        this.#options.onAttempt(line);
        break;
      case "cancel":
        this.#options.onCancel(line.attempt, line.reason);
        break;
      case "open":
        this.#isOpen = true;
        this.#options.onOpen(line.token);
        return line.beatMs;
      case "end":
        this.#end = line;
        break;
      default:
      // A beat, or a line of a newer dispatcher.
    }
    return undefined;
  }
}

function parsed(text: string, where: string): Line {
  try {
    return JSON.parse(text) as Line;
  } catch (cause) {
    throw new YardError("unexpected_answer", `${where} sent a line that is not JSON`, { cause });
  }
}

/** True if the fault is temporary, so that a retry can succeed. */
export function isPassing(fault: unknown): boolean {
  if (fault instanceof UnreachableError) return true;
  const passing = [
    "not_ready",
    "not_owner",
    "queue_full",
    "quota_reached",
    "too_many_logins",
    "internal_error",
    "unexpected_answer",
    "request_timeout",
  ];
  return fault instanceof YardError && passing.includes(fault.code);
}
