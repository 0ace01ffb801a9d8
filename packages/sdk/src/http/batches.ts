// Many tasks over http: in batches of bounded size, several under way, answered in order. Where a queue is full its items
// are handed in again until there is room, which holds back the source.

import { bodyOf } from "../body.js";
import type { SubmitItem, SubmitManyOptions, SubmitOptions, SubmittedItem } from "../client.js";
import { RefusedError, YardError } from "../errors.js";
import { inOrder } from "../in-order.js";
import { pause } from "../pause.js";
import type { Task } from "../task.js";
import type { HttpConnection } from "./connection.js";
import { parametersOf, queuePart, textOrBase64 } from "./submission.js";

const itemsDefault = 1_000;
const inFlightDefault = 4;
/** A batch is sent when it is so large, however few its items. */
const batchBytes = 4 * 1024 * 1024;

const fullPauseMs = 100;
const fullPauseMsMax = 5_000;

interface Line {
  readonly index: number;
  readonly text: string;
  readonly isKeyed: boolean;
}

interface Batch {
  readonly queue: string;
  readonly lines: readonly Line[];
}

export async function* submitInBatches(
  connection: HttpConnection,
  items: Iterable<SubmitItem> | AsyncIterable<SubmitItem>,
  { batch = itemsDefault, inFlight = inFlightDefault, signal, ...common }: SubmitManyOptions,
): AsyncGenerator<SubmittedItem> {
  const batches = inOrder(batchesOf(items, common, batch), inFlight, (one) => send(connection, one, signal));
  for await (const answers of batches) yield* answers;
}

async function* batchesOf(
  items: Iterable<SubmitItem> | AsyncIterable<SubmitItem>,
  common: SubmitOptions,
  itemsMax: number,
): AsyncGenerator<Batch> {
  let lines: Line[] = [];
  let bytes = 0;
  let queue = "";
  let index = 0;
  for await (const { payload, ...own } of items) {
    const options = { ...common, ...own };
    const its = queuePart(options.queue);
    const text = JSON.stringify(itemOf(payload, options));
    const isOther = its !== queue || bytes + text.length > batchBytes;
    if (lines.length > 0 && (isOther || lines.length >= itemsMax)) {
      yield { queue, lines };
      lines = [];
      bytes = 0;
    }
    queue = its;
    lines.push({ index, text, isKeyed: options.key !== undefined });
    bytes += text.length;
    index += 1;
  }
  if (lines.length > 0) yield { queue, lines };
}

function itemOf(payload: SubmitItem["payload"], options: SubmitOptions) {
  const { bytes, contentType } = bodyOf(payload);
  return {
    ...textOrBase64("payload", bytes),
    contentType: options.contentType ?? contentType,
    ...parametersOf(options),
  };
}

type Item = Task | { readonly code: string; readonly status?: number; readonly detail?: string };

async function send(
  connection: HttpConnection,
  { queue, lines }: Batch,
  signal: AbortSignal | undefined,
): Promise<SubmittedItem[]> {
  const answers = new Map<number, SubmittedItem>();
  let open = lines;
  for (let pauseMs = fullPauseMs; ; pauseMs = Math.min(pauseMs * 2, fullPauseMsMax)) {
    signal?.throwIfAborted();
    const items = await post(connection, queue, open, signal);
    open = open.filter((line, at) => {
      const item = items[at];
      if (item !== "full") answers.set(line.index, answerOf(line.index, item));
      return item === "full";
    });
    if (open.length === 0) return lines.map(({ index }) => answers.get(index) as SubmittedItem);
    await pause(pauseMs, signal);
  }
}

async function post(
  connection: HttpConnection,
  queue: string,
  lines: readonly Line[],
  signal: AbortSignal | undefined,
): Promise<readonly (Item | "full" | undefined)[]> {
  try {
    const { items } = await connection.json<{ items: Item[] }>(`/v1/queues/${queue}/tasks:batch`, {
      method: "POST",
      body: Buffer.from(lines.map(({ text }) => `${text}\n`).join("")),
      headers: { "Content-Type": "application/x-ndjson" },
      signal,
      isRepeatable: lines.every(({ isKeyed }) => isKeyed),
    });
    return items.map((item) => ("code" in item && item.code === "queue_full" ? "full" : item));
  } catch (fault) {
    if (!(fault instanceof YardError) || fault.code !== "queue_full") throw fault;
    return lines.map(() => "full");
  }
}

function answerOf(index: number, item: Item | undefined): SubmittedItem {
  if (item === undefined) {
    return {
      index,
      error: new YardError("unexpected_answer", "the dispatcher answered for fewer tasks than asked"),
    };
  }
  if ("id" in item) return { index, id: item.id, isAcknowledged: true };
  return { index, error: new RefusedError(item.status ?? 0, item.code, item.detail ?? item.code) };
}
