// Submits many tasks over http in batches of bounded size, several at a time, with answers in
// order. Items of a full queue are submitted again until there is room, which slows down the
// source.

import type { BatchAnswer, SubmitItem, SubmitManyOptions, SubmitOptions, SubmittedItem } from "../client.js";
import { RefusedError, YardError } from "../errors.js";
import { inOrder, noticingPauses, untilAborted } from "../in-order.js";
import { pause } from "../pause.js";
import type { Task } from "../task.js";
import type { HttpConnection } from "./connection.js";
import { checkOptions, itemOf, minimal, queuePart } from "./submission.js";

const itemsDefault = 1_000;
const inFlightDefault = 4;
/** A batch is sent when it reaches this size, however few items it has. */
const batchBytes = 4 * 1024 * 1024;

/** The status of `queue_full`. */
const tooMany = 429;
const fullPauseMs = 100;
const fullPauseMsMax = 5_000;

interface BatchLine {
  readonly index: number;
  readonly text: string;
  readonly isKeyed: boolean;
}

interface SubmitBatch {
  readonly queue: string;
  readonly lines: readonly BatchLine[];
}

export async function* submitInBatches(
  connection: HttpConnection,
  items: Iterable<SubmitItem> | AsyncIterable<SubmitItem>,
  options: SubmitManyOptions,
): AsyncGenerator<SubmittedItem> {
  const { batch = itemsDefault, inFlight = inFlightDefault, signal, stop, roomWaitMs, onAnswered } = options;
  const room = new RoomWait(roomWaitMs, stop);
  const batches = untilAborted(batchesOf(items, common(options), batch), room.ended);
  const answered = inOrder(batches, inFlight, (one) => send(connection, one, { signal, room, onAnswered }));
  for await (const answers of answered) yield* answers;
}

function common({
  batch: _batch,
  inFlight: _inFlight,
  signal: _signal,
  stop: _stop,
  roomWaitMs: _roomWaitMs,
  onAnswered: _onAnswered,
  ...options
}: SubmitManyOptions): SubmitOptions {
  return options;
}

/** Shared by the batches of one call: while any of them is accepted, none gives up. */
class RoomWait {
  /** Fires when waiting for room ends, because it took too long or the caller stops. */
  readonly ended: AbortSignal;
  readonly #late = new AbortController();
  readonly #waitMs: number;
  /** Time of the first refusal since the last acceptance. */
  #fullSince: number | undefined;

  constructor(waitMs = Number.POSITIVE_INFINITY, stop?: AbortSignal) {
    this.#waitMs = waitMs;
    this.ended = AbortSignal.any([this.#late.signal, ...(stop ? [stop] : [])]);
  }

  answered({ accepted, full }: BatchAnswer): void {
    if (accepted > 0) this.#fullSince = undefined;
    if (full === 0) return;
    this.#fullSince ??= performance.now();
    if (this.#leftMs <= 0) this.#late.abort();
  }

  /** Waits before the next try. */
  async pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    await pause(Math.min(ms, this.#leftMs), AbortSignal.any([this.ended, ...(signal ? [signal] : [])]));
  }

  get #leftMs(): number {
    return this.#waitMs - (performance.now() - (this.#fullSince ?? performance.now()));
  }
}

/** A source that pauses longer than this gets no fuller batch: what is there is submitted. */
const quietMs = 20;

async function* batchesOf(
  items: Iterable<SubmitItem> | AsyncIterable<SubmitItem>,
  common: SubmitOptions,
  itemsMax: number,
): AsyncGenerator<SubmitBatch> {
  let lines: BatchLine[] = [];
  let bytes = 0;
  let queue = "";
  let index = 0;
  for await (const item of noticingPauses(items, quietMs)) {
    if (item === undefined) {
      if (lines.length > 0) yield { queue, lines };
      lines = [];
      bytes = 0;
      continue;
    }
    const { payload, ...own } = item;
    const options = { ...common, ...own };
    checkOptions(options);
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

type ItemAnswer =
  | Pick<Task, "id">
  | { readonly code: string; readonly status?: number; readonly detail?: string };

interface Sending {
  readonly signal: AbortSignal | undefined;
  readonly room: RoomWait;
  readonly onAnswered: SubmitManyOptions["onAnswered"];
}

async function send(
  connection: HttpConnection,
  { queue, lines }: SubmitBatch,
  { signal, room, onAnswered }: Sending,
): Promise<SubmittedItem[]> {
  const answers = new Map<number, SubmittedItem>();
  let open = lines;
  for (let pauseMs = fullPauseMs; ; pauseMs = Math.min(pauseMs * 2, fullPauseMsMax)) {
    signal?.throwIfAborted();
    const items = await post(connection, queue, open, signal);
    let accepted = 0;
    open = open.filter((line, at) => {
      const item = items[at];
      if (item === "full") return true;
      const answer = answerOf(line.index, item);
      if (answer.error === undefined) accepted += 1;
      answers.set(line.index, answer);
      return false;
    });
    const answer = { queue: decodeURIComponent(queue), accepted, full: open.length };
    room.answered(answer);
    onAnswered?.(answer);
    if (open.length > 0 && !room.ended.aborted) await room.pause(pauseMs, signal);
    if (open.length === 0 || room.ended.aborted)
      return lines.map(({ index }) => answers.get(index) ?? noRoom(index, answer.queue));
  }
}

/** Refusals that pass: a limit of the queue, or a quota of the principal. */
const fullCodes: ReadonlySet<string> = new Set(["queue_full", "quota_reached"]);

function noRoom(index: number, queue: string): SubmittedItem {
  return { index, error: new RefusedError(tooMany, "queue_full", `queue ${queue} is full`) };
}

async function post(
  connection: HttpConnection,
  queue: string,
  lines: readonly BatchLine[],
  signal: AbortSignal | undefined,
): Promise<readonly (ItemAnswer | "full" | undefined)[]> {
  try {
    const { items } = await connection.json<{ items: ItemAnswer[] }>(`/v1/queues/${queue}/tasks:batch`, {
      method: "POST",
      body: Buffer.from(lines.map(({ text }) => `${text}\n`).join("")),
      headers: { ...minimal, "Content-Type": "application/x-ndjson" },
      signal,
      isRepeatable: lines.every(({ isKeyed }) => isKeyed),
    });
    return items.map((item) => ("code" in item && fullCodes.has(item.code) ? "full" : item));
  } catch (fault) {
    if (!(fault instanceof YardError) || !fullCodes.has(fault.code)) throw fault;
    return lines.map(() => "full");
  }
}

function answerOf(index: number, item: ItemAnswer | undefined): SubmittedItem {
  if (item === undefined) {
    return {
      index,
      error: new YardError("unexpected_answer", "the dispatcher answered for fewer tasks than asked"),
    };
  }
  if ("id" in item) return { index, id: item.id, isAcknowledged: true };
  return { index, error: new RefusedError(item.status ?? 0, item.code, item.detail ?? item.code) };
}
