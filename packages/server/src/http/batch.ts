// A batch. Its items are read and answered one by one as they arrive, and the answers are put in
// the same order. An item that cannot be read is answered with a problem that names its line; the
// others continue.

import type { IncomingMessage } from "node:http";
import { isNestedDeeper } from "@yardmaster/dialects";
import type * as z from "zod";
import { type Bodies, tooLarge } from "./bodies.js";
import { rightSized } from "./context.js";
import { HeldBody } from "./held-body.js";
import { type BatchItem, type Cut, ItemSplitter } from "./item-splitter.js";
import { CutValue, type OpenedItem, openLargeItem } from "./large-items.js";
import { Problem, type ProblemOf } from "./problems.js";
import { explainIssue } from "./validation.js";

/**
 * Maximum number of items. Their answers are kept until the last is there, which takes some
 * megabytes.
 */
export const batchItemsMax = 10_000;

/**
 * JSON in an item is written again, which needs stack for each level. Real data is not nested
 * deeper.
 */
export const nestingMax = 1000;

/** Takes the answer to one item, as JSON text. */
export type PutAnswer = (json: string) => void;

/** A large item that was scanned, or the problem found in it. */
export interface LargeItem {
  readonly line: number;
  readonly text: "";
  readonly opened: OpenedItem | Problem;
}

function asProblem(fault: unknown): Problem {
  if (fault instanceof Problem) return fault;
  throw fault;
}

export interface BatchReading {
  readonly bodies: Bodies;
  readonly bytesMax: number;
  /** Ensures that the item is answered, now or later. An exception becomes the answer. */
  readonly take: (item: BatchItem | LargeItem, put: PutAnswer) => void;
  readonly problemOf: ProblemOf;
}

/** Resolves with the answers, in order, when the whole batch was read and all answers are there. */
export function answerBatch(payload: IncomingMessage, reading: BatchReading): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const batch = new BatchRequest(reading, resolve, payload);
    payload.on("data", (chunk: Buffer) => batch.read(chunk));
    payload.on("end", () => batch.end());
    payload.on("error", (cause) => {
      batch.abandon();
      reject(new Problem("request_timeout", "the client went away", { cause }));
    });
  });
}

class BatchRequest {
  readonly #reading: BatchReading;
  readonly #resolve: (answers: readonly string[]) => void;
  readonly #splitter = new ItemSplitter();
  readonly #answers: string[] = [];
  #open = 1;
  #bytes = 0;
  /** The current item, which counts against the limit for bodies in transit. */
  readonly #held = new HeldBody(this);
  #isOver = false;
  readonly #payload: Pick<IncomingMessage, "pause" | "resume">;
  /** Items that were split off while a large item is scanned, so that the order is kept. */
  #waiting: (() => void)[] | undefined;

  constructor(
    reading: BatchReading,
    resolve: (answers: readonly string[]) => void,
    payload: Pick<IncomingMessage, "pause" | "resume">,
  ) {
    this.#reading = reading;
    this.#resolve = resolve;
    this.#payload = payload;
  }

  read(chunk: Buffer): void {
    if (this.#isOver) return;
    if (this.#waiting !== undefined) {
      this.#waiting.push(() => this.read(chunk));
      return;
    }
    this.#bytes += chunk.length;
    if (this.#bytes > this.#reading.bytesMax) {
      this.stop(tooLarge(this.#reading.bytesMax));
      return;
    }
    for (const cut of this.#splitter.push(chunk)) this.#takeInOrder(cut);
    if (this.#waiting !== undefined) return;
    if (!this.#hold(this.#splitter.pendingBytes)) this.stop(this.#reading.bodies.noRoom());
  }

  end(): void {
    if (this.#waiting !== undefined) {
      this.#waiting.push(() => this.end());
      return;
    }
    if (!this.#isOver) for (const cut of this.#splitter.end()) this.#takeInOrder(cut);
    this.#orWait(() => {
      if (!this.#isOver) this.#finish();
    });
  }

  #takeInOrder(cut: Cut): void {
    if (this.#waiting !== undefined) this.#waiting.push(() => this.#takeInOrder(cut));
    else if ("bytes" in cut && !this.#isOver) void this.#takeLarge(cut, cut.bytes);
    else this.#take(cut);
  }

  /** Later items wait meanwhile. They are few, because the connection is not read. */
  async #takeLarge(item: BatchItem, bytes: Buffer): Promise<void> {
    this.#waiting = [];
    this.#payload.pause();
    this.#held.isPaused = true;
    const hasRoom = this.#hold(bytes.length);
    const opened = hasRoom ? await openLargeItem(bytes, item.line, nestingMax).catch(asProblem) : undefined;
    if (opened === undefined) this.stop(this.#reading.bodies.noRoom());
    else this.#take({ line: item.line, text: "", opened });
    // The next chunk may come much later; until then the body would count as large and stalled.
    if (!this.#isOver) this.#hold(this.#splitter.pendingBytes);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    this.#held.isPaused = false;
    for (const go of waiting) this.#orWait(go);
    if (this.#waiting === undefined) this.#payload.resume();
  }

  #orWait(go: () => void): void {
    if (this.#waiting === undefined) go();
    else this.#waiting.push(go);
  }

  abandon(): void {
    this.#isOver = true;
    this.#hold(0);
  }

  #take(cut: Cut | LargeItem): void {
    if (this.#isOver) return;
    if ("fault" in cut) {
      this.stop(new Problem("bad_request", `line ${cut.line}: ${cut.fault}`));
      return;
    }
    const index = this.#answers.length;
    if (index === batchItemsMax) {
      const detail = `line ${cut.line}: a batch has at most ${batchItemsMax} items; the rest is not read`;
      this.stop(new Problem("payload_too_large", detail));
      return;
    }
    this.#answers.push("");
    this.#open += 1;
    const put: PutAnswer = (json) => {
      this.#answers[index] = json;
      this.#close();
    };
    try {
      this.#reading.take(cut, put);
    } catch (fault) {
      put(JSON.stringify(this.#reading.problemOf(fault)));
    }
  }

  /** Reads nothing more. Items read before are answered, and the last answer gives the reason. */
  stop(problem: Problem): void {
    this.#answers.push(JSON.stringify(problem));
    this.#finish();
  }

  #finish(): void {
    this.#isOver = true;
    this.#hold(0);
    this.#close();
  }

  #close(): void {
    this.#open -= 1;
    if (this.#open === 0) this.#resolve(this.#answers);
  }

  #hold(bytes: number): boolean {
    return this.#reading.bodies.hold(this.#held, bytes);
  }
}

/**
 * Parses an item with the schema; throws a problem that names the line. `plain` parses the most
 * frequent form at a fifth of the cost, and leaves everything else, including mistakes, to the
 * schema.
 */
export function readItem<Schema extends z.ZodType>(
  item: BatchItem | LargeItem,
  schema: Schema,
  plain?: (value: unknown) => z.output<Schema> | undefined,
): z.output<Schema> {
  if (!("opened" in item)) return readText(item, schema, plain);
  const { line, opened } = item;
  if (opened instanceof Problem) throw opened;
  const data = readText({ line, text: opened.text }, schema);
  // The schema validated a placeholder for this value.
  return Object.assign(data as object, Object.fromEntries(opened.cut)) as z.output<Schema>;
}

function readText<Schema extends z.ZodType>(
  { line, text }: BatchItem,
  schema: Schema,
  plain?: (value: unknown) => z.output<Schema> | undefined,
): z.output<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const detail = `line ${line}: not JSON: ${(cause as Error).message.slice(0, 200)}`;
    throw new Problem("bad_request", detail, { cause });
  }
  // Each level takes two characters, so most items are too short to be too deep.
  if (text.length > 2 * nestingMax && isNestedDeeper(value, nestingMax)) {
    const detail = `line ${line}: nested deeper than ${nestingMax} levels; send it as base64`;
    throw new Problem("bad_request", detail);
  }
  const data = plain?.(value);
  if (data !== undefined) return data;
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const fault = explainIssue(parsed.error.issues[0], { schema, data: value, what: "property" });
  throw new Problem("bad_request", `line ${line}: ${fault}`);
}

/**
 * The bytes of `NAME` or `NAMEBase64` of an item, with their media type unless the item gives
 * another.
 */
export function bytesOf(text: unknown, base64: string | undefined, mediaType: string | undefined) {
  const cut: unknown = base64 ?? text;
  if (cut instanceof CutValue) return cutBody(cut, base64 !== undefined, mediaType);
  if (base64 !== undefined)
    return body(Buffer.from(base64, "base64"), mediaType ?? "application/octet-stream");
  if (text === undefined) return body(Buffer.alloc(0), mediaType ?? "application/octet-stream");
  if (typeof text === "string") return body(Buffer.from(text), mediaType ?? "text/plain; charset=utf-8");
  return body(Buffer.from(JSON.stringify(text)), mediaType ?? "application/json");
}

/** Not a copy, which would double the memory; the rest of the item is small. */
function cutBody({ bytes, isText }: CutValue, isBase64: boolean, mediaType: string | undefined) {
  const usual = isBase64
    ? "application/octet-stream"
    : isText
      ? "text/plain; charset=utf-8"
      : "application/json";
  return { mediaType: mediaType ?? usual, size: bytes.length, bytes };
}

function body(bytes: Buffer, mediaType: string) {
  return { mediaType, size: bytes.length, bytes: rightSized(bytes) };
}
