// Batches submissions that are made one by one. Submissions of one tick go in one request. While
// requests are open, the next request gathers submissions for a bounded time. Each task gets the
// answer it would have got alone.

import { type Bodylike, bodyOf } from "../body.js";
import type { SubmitOptions, Submitted } from "../client.js";
import { RefusedError, UnreachableError, YardError } from "../errors.js";
import { pause } from "../pause.js";
import type { HttpConnection, HttpRequest } from "./connection.js";
import { minimal, parametersOf, textOrBase64 } from "./submission.js";

/** A larger payload gets a request of its own. */
const togetherBytesMax = 65_536;
const batchItemsMax = 1_000;
/** Maximum length of one request's lines, in characters. */
const batchLengthMax = 1_048_576;
/** Delays before retries of tasks with a key, after a connection died. */
const retryPausesMs = [0, 250];

interface Item {
  readonly payload: Bodylike;
  readonly options: SubmitOptions;
  resolve(submitted: Submitted): void;
  reject(fault: unknown): void;
}

type BatchItemAnswer =
  | { readonly id: string }
  | { readonly code: string; readonly status?: number; readonly detail?: string };

export class Submissions {
  readonly #connection: HttpConnection;
  readonly #delayMs: number;
  /** By the queue's part of the path. An idle lane is not kept. */
  readonly #lanes = new Map<string, Lane>();

  /** `delayMs`: maximum time that a task waits for others while a request is open. */
  constructor(connection: HttpConnection, delayMs: number) {
    this.#connection = connection;
    this.#delayMs = delayMs;
  }

  submit(queue: string, payload: Bodylike, options: SubmitOptions): Promise<Submitted> {
    return new Promise((resolve, reject) => {
      const item = { payload, options, resolve, reject };
      const line = lineOf(item);
      if (line.length > togetherBytesMax) void sendAlone(this.#connection, queue, item);
      else this.#laneOf(queue).add(item, line);
    });
  }

  #laneOf(queue: string): Lane {
    let lane = this.#lanes.get(queue);
    if (lane === undefined) {
      const onIdle = () => this.#lanes.delete(queue);
      lane = new Lane(this.#connection, { queue, delayMs: this.#delayMs, onIdle });
      this.#lanes.set(queue, lane);
    }
    return lane;
  }
}

interface LaneOptions {
  readonly queue: string;
  readonly delayMs: number;
  readonly onIdle: () => void;
}

/** The tasks for one queue. */
class Lane {
  readonly #connection: HttpConnection;
  readonly #options: LaneOptions;
  #gathered: Item[] = [];
  #lines = "";
  #inFlight = 0;
  #isPlanned = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(connection: HttpConnection, options: LaneOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  add(item: Item, line: string): void {
    if (this.#gathered.length >= batchItemsMax || this.#lines.length + line.length > batchLengthMax)
      this.#flush();
    this.#gathered.push(item);
    this.#lines += line;
    this.#plan();
  }

  /**
   * Sends at the end of this tick if no request is open; otherwise with the next answer, or when
   * the delay is over.
   */
  #plan(): void {
    if (this.#isPlanned) return;
    if (this.#inFlight > 0 && this.#options.delayMs > 0) {
      this.#timer ??= setTimeout(() => this.#flush(), this.#options.delayMs);
      return;
    }
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      this.#flush();
    });
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#gathered.length === 0) return;
    const items = this.#gathered;
    const lines = this.#lines;
    this.#gathered = [];
    this.#lines = "";
    this.#inFlight += 1;
    void sendTogether(this.#connection, this.#options.queue, items, lines).finally(() => {
      this.#inFlight -= 1;
      if (this.#gathered.length > 0) {
        clearTimeout(this.#timer);
        this.#timer = undefined;
        this.#inFlight === 0 ? this.#plan() : this.#flush();
      } else if (this.#inFlight === 0) this.#options.onIdle();
    });
  }
}

/** Never rejects. */
async function sendTogether(
  connection: HttpConnection,
  queue: string,
  items: readonly Item[],
  lines: string,
): Promise<void> {
  const [first] = items;
  if (items.length === 1 && first) {
    await sendAlone(connection, queue, first);
    return;
  }
  try {
    const answer = await connection.json<{ items: BatchItemAnswer[] }>(`/v1/queues/${queue}/tasks:batch`, {
      method: "POST",
      body: Buffer.from(lines),
      headers: { ...minimal, "Content-Type": "application/x-ndjson" },
      isRepeatable: items.every(({ options }) => options.key !== undefined),
    });
    await settleAll(connection, queue, items, answer.items);
  } catch (fault) {
    await settleFault(connection, queue, items, fault);
  }
}

/** A batch may be too large although its tasks are not. Unread tasks are then sent alone. */
async function settleAll(
  connection: HttpConnection,
  queue: string,
  items: readonly Item[],
  answers: readonly BatchItemAnswer[],
): Promise<void> {
  const last = answers.at(-1);
  const isCutShort = last !== undefined && "code" in last && last.code === "payload_too_large";
  const read = isCutShort ? answers.length - 1 : answers.length;
  const unread: Item[] = [];
  for (const [at, item] of items.entries()) {
    const answer = answers[at];
    if (isCutShort && at >= read) unread.push(item);
    else if (answer === undefined)
      item.reject(
        new YardError("unexpected_answer", "the dispatcher answered for fewer tasks than submitted"),
      );
    else if ("id" in answer) item.resolve({ id: answer.id, isAcknowledged: true });
    else item.reject(refusedAlone(answer));
  }
  for (const item of unread) await sendAlone(connection, queue, item);
}

/**
 * Tasks with a key are submitted again, which is safe. For the others it is not known whether they
 * were accepted.
 */
async function settleFault(
  connection: HttpConnection,
  queue: string,
  items: readonly Item[],
  fault: unknown,
): Promise<void> {
  if (fault instanceof YardError && fault.code === "payload_too_large") {
    for (const item of items) await sendAlone(connection, queue, item);
    return;
  }
  if (!(fault instanceof UnreachableError)) {
    for (const { reject } of items) reject(fault);
    return;
  }
  const keyed = items.filter(({ options }) => options.key !== undefined);
  for (const { options, reject } of items) if (options.key === undefined) reject(fault);
  await Promise.all(keyed.map((item) => sendAlone(connection, queue, item)));
}

/** Never rejects. */
async function sendAlone(connection: HttpConnection, queue: string, item: Item): Promise<void> {
  try {
    const { id } = await submitAlone<{ id: string }>(connection, queue, item, { headers: minimal });
    item.resolve({ id, isAcknowledged: true });
  } catch (fault) {
    item.reject(fault);
  }
}

/**
 * Submits one task in a request of its own, with additional parameters. With a key, it is retried
 * after a dead connection.
 */
export async function submitAlone<Value>(
  connection: HttpConnection,
  queue: string,
  { payload, options }: Pick<Item, "payload" | "options">,
  { query = {}, headers = {}, signal }: Pick<HttpRequest, "query" | "headers" | "signal">,
): Promise<Value> {
  const isKeyed = options.key !== undefined;
  const body = bodyOf(payload);
  for (let tries = 0; ; tries += 1) {
    try {
      return await connection.json<Value>(`/v1/queues/${queue}/tasks`, {
        method: "POST",
        query: { ...parametersOf(options), after: options.after?.join(","), ...query },
        body: body.bytes,
        headers: { ...headers, "Content-Type": options.contentType ?? body.contentType },
        signal,
        isRepeatable: isKeyed,
      });
    } catch (fault) {
      const pauseMs = retryPausesMs[tries];
      if (!isKeyed || !(fault instanceof UnreachableError) || pauseMs === undefined) throw fault;
      await pause(pauseMs, signal);
    }
  }
}

/** Ends with a line feed. The common case is a text without further options. */
function lineOf({ payload, options }: Item): string {
  const isText = typeof payload === "string";
  if (isText && isPlain(options)) return `{"payload":${JSON.stringify(payload)}}\n`;
  const { bytes, contentType } = bodyOf(payload);
  const said = {
    ...(isText ? { payload } : textOrBase64("payload", bytes)),
    contentType: options.contentType ?? contentType,
    ...parametersOf(options),
    after: options.after,
  };
  return `${JSON.stringify(said)}\n`;
}

function isPlain(options: SubmitOptions): boolean {
  for (const name in options) if (name !== "queue") return false;
  return true;
}

/** The refusal without the line number, as if the task had been submitted alone. */
function refusedAlone({
  code,
  status = 0,
  detail = code,
}: Extract<BatchItemAnswer, { code: string }>): RefusedError {
  return new RefusedError(status, code, detail.replace(/^line \d+: /, ""));
}
