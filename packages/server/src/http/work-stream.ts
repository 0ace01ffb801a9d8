// The stream of one worker: a line for each attempt that it is given or has to give up. Lines are
// written only when there is room, so a slow reader costs a bounded amount of memory. Until then
// its assignments wait here.

import { isUtf8 } from "node:buffer";
import type { ServerResponse } from "node:http";
import { type AttemptNumber, type Body, Deadline, type TaskId } from "@yardmaster/core";
import { asBuffer } from "./context.js";
import type { Assignment } from "./exchange.js";

/** Maximum unread bytes of one worker, beside one line. */
const unreadBytesMax = 262_144;
/** A worker fetches a larger payload when it is ready for it. */
const lineBytesMax = 262_144;

export interface OpenLine {
  readonly worker: string;
  readonly token: string;
  readonly slots: number;
  readonly leaseMs: number;
}

/** After this much silence the stream sends a beat. */
export const beatMs = 5_000;

export type EndReason = "drained" | "stopping" | "replaced" | "queue_full";

export interface WorkStreamOptions {
  readonly response: ServerResponse;
  readonly traceparentOf: ((task: TaskId, attempt: AttemptNumber) => string | undefined) | undefined;
  /**
   * Reads a small out-of-line payload; undefined if it cannot be read, which is already handled.
   */
  readonly read: (assignment: Assignment) => Promise<Body | undefined>;
  /** The door of this stream. Payloads that were submitted through it can be fetched unchanged. */
  readonly door: string;
  /** True if it serves several queues, so that each line says which one its task is of. */
  readonly namesQueue: boolean;
}

export class WorkStream {
  readonly deadline: Deadline<WorkStream> = new Deadline<WorkStream>(this);
  readonly #options: WorkStreamOptions;
  readonly #unwritten: Assignment[] = [];
  /** Assignments whose payloads are being read, and the size of those payloads. */
  readonly #reading = new Set<Assignment>();
  #readingBytes = 0;
  /** The lines of this turn. */
  #lines = "";
  /** True if anything was written since the last check. */
  #hasWritten = false;

  constructor(options: WorkStreamOptions) {
    this.#options = options;
    options.response.on("drain", () => this.flush());
  }

  open(line: OpenLine): void {
    const { response } = this.#options;
    const { socket } = response.req;
    // The worker sends nothing more on this connection, so it must not time out.
    socket.setTimeout(0);
    socket.setNoDelay(true);
    response.on("error", () => {});
    // The stream ends with its connection, so no part of it needs a length.
    response.useChunkedEncodingByDefault = false;
    response.writeHead(200, headers);
    this.#lines += `${JSON.stringify({ type: "open", ...line, beatMs })}\n`;
  }

  push(assignment: Assignment): void {
    this.#unwritten.push(assignment);
  }

  cancel(task: TaskId, attempt: AttemptNumber, reason: string): void {
    this.#lines += `{"type":"cancel","task":"${task}","attempt":${attempt},"reason":"${reason}"}\n`;
  }

  /** True if this attempt was not written yet. It is then never written. */
  withdraw(attempt: AttemptNumber): boolean {
    const isIt = (one: Assignment) => one.attempt === attempt;
    const at = this.#unwritten.findIndex(isIt);
    if (at >= 0) this.#unwritten.splice(at, 1);
    const reading = [...this.#reading].find(isIt);
    if (reading !== undefined) this.#reading.delete(reading);
    return at >= 0 || reading !== undefined;
  }

  /** The assignments that were not written, and never will be. */
  takeUnwritten(): readonly Assignment[] {
    const reading = [...this.#reading];
    this.#reading.clear();
    return [...reading, ...this.#unwritten.splice(0)];
  }

  /** Writes as many lines as there is room for, at once. */
  flush(): void {
    const { response } = this.#options;
    if (response.destroyed || response.writableEnded) return;
    while (this.#unwritten.length > 0 && this.#hasRoom)
      this.#lines += this.#lineOf(this.#unwritten.shift() as Assignment);
    if (this.#lines === "") return;
    this.#hasWritten = true;
    response.write(this.#lines);
    this.#lines = "";
  }

  get #hasRoom(): boolean {
    return this.unreadBytes + this.#lines.length + this.#readingBytes < unreadBytesMax;
  }

  get unreadBytes(): number {
    return this.#options.response.writableLength;
  }

  /** Called twice per `beatMs`. */
  beatIfQuiet(): void {
    // A worker with unread lines needs no beat: those lines show that we are alive.
    if (!this.#hasWritten && this.#options.response.writableLength === 0) this.#lines += '{"type":"beat"}\n';
    this.flush();
    this.#hasWritten = false;
  }

  end(reason: EndReason, message: string): void {
    this.#lines += `${JSON.stringify({ type: "end", reason, message })}\n`;
    this.flush();
    this.#options.response.end();
  }

  destroy(): void {
    this.#options.response.destroy();
  }

  /** The line of an attempt; empty if its payload must be read first. */
  #lineOf(assignment: Assignment): string {
    const { payload } = assignment.task;
    const isHere = payload.bytes !== undefined || payload.size === 0;
    // A payload that another door translated is available only here, so it is sent inline.
    const isOwn = assignment.task.door === this.#options.door;
    if (payload.size > lineBytesMax && (isOwn || !isHere))
      return this.#line(assignment, payload, `"payloadBytes":${payload.size}`);
    if (isHere) return this.#line(assignment, payload, payloadJson(asBuffer(payload.bytes)));
    void this.#readFirst(assignment);
    return "";
  }

  async #readFirst(assignment: Assignment): Promise<void> {
    const { size } = assignment.task.payload;
    this.#reading.add(assignment);
    this.#readingBytes += size;
    const payload = await this.#options.read(assignment);
    this.#readingBytes -= size;
    const isWanted = this.#reading.delete(assignment);
    if (isWanted && payload !== undefined)
      this.#lines += this.#line(assignment, payload, payloadJson(asBuffer(payload.bytes)));
    this.flush();
  }

  #line({ task, attempt }: Assignment, { mediaType }: Body, payload: string): string {
    const traceparent = this.#options.traceparentOf?.(task.id, attempt);
    const trace = traceparent === undefined ? "" : `,"traceparent":"${traceparent}"`;
    const after = task.relations?.after ?? [];
    const depends = after.length === 0 ? "" : `,"after":${JSON.stringify(after.map(String))}`;
    const queue = this.#options.namesQueue ? `,"queue":${JSON.stringify(task.queue)}` : "";
    return `{"type":"attempt","task":"${task.id}","attempt":${attempt},"contentType":${JSON.stringify(mediaType)},${payload}${trace}${depends}${queue}}\n`;
  }
}

function payloadJson(bytes: Buffer): string {
  return isUtf8(bytes)
    ? `"payload":${JSON.stringify(bytes.toString("utf8"))}`
    : `"payloadBase64":"${bytes.toString("base64")}"`;
}

const headers = {
  "Content-Type": "application/x-ndjson",
  "Cache-Control": "no-store",
  // A buffering proxy would hold this answer back forever.
  "X-Accel-Buffering": "no",
  Connection: "close",
};
