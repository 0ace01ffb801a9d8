// Answers the questions of one spec, one after the other: those that a controller sends, or all
// that are published.

import { monique } from "@yardmaster/dialects";
import { type ConnectSecurity, Pull } from "@yardmaster/zmtp";
import { messageOf } from "../failure.js";
import { now } from "../time.js";

/** The times that a message carries. */
export interface MoniqueTimes {
  /** Milliseconds since 1970; 0 if the content cannot be read. */
  readonly createdAt: number;
  /** [monique 5.1] 0 means never. */
  readonly expiresAt: number;
}

/** A question, as its worker gets it. */
export interface MoniqueQuestion extends monique.MoniqueHeader, MoniqueTimes {
  readonly encoding: string;
  readonly data: Buffer;
}

/** What a worker answers with. */
export interface MoniqueReply {
  readonly data: Uint8Array | string;
  /** Default: that of the question. */
  readonly encoding?: string;
  /** After this time the answer is no longer of interest. */
  readonly expiresMs?: number;
}

/** Options of a monique worker. */
export interface MoniqueWorkerOptions {
  readonly spec: string;
  /**
   * An exception is answered as an error, with its `code` if that is a number, otherwise with 500.
   */
  readonly work: (
    question: MoniqueQuestion,
    signal: AbortSignal,
  ) => Promise<MoniqueReply | Uint8Array | string> | MoniqueReply | Uint8Array | string;
  /** The controller's address, tcp://host:port. */
  readonly controller?: string;
  /** Credentials, if the controller wants any. */
  readonly security?: ConnectSecurity;
  readonly onError?: (error: unknown) => void;
}

interface Surroundings {
  readonly session: monique.MoniqueComponentSession<unknown>;
  readonly send: (message: monique.MoniqueMessage) => void;
}

/**
 * Queue limit of a worker that subscribes to questions. It misses more, like any subscriber that is
 * behind.
 */
const queuedMax = 1_000;

/** A worker of one spec at its controller. */
export class MoniqueWorker {
  readonly spec: string;
  /** True if a controller sends it questions; false if it subscribes to them. */
  readonly isGiven: boolean;
  readonly connected: Promise<void>;
  readonly #options: MoniqueWorkerOptions & Surroundings;
  readonly #pull: Pull | undefined;
  readonly #queue: MoniqueQuestion[] = [];
  #current: { readonly id: string; readonly abort: AbortController } | undefined;
  #running: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: MoniqueWorkerOptions & Surroundings) {
    this.#options = options;
    this.spec = options.spec;
    this.isGiven = options.controller !== undefined;
    let connected = () => {};
    this.connected = this.isGiven
      ? new Promise((resolve) => {
          connected = resolve;
        })
      : Promise.resolve();
    if (options.controller === undefined) return;
    const { security } = options;
    this.#pull = new Pull({
      ...(security && { security }),
      onPeer: () => connected(),
      onMessage: (_peer, frames) => this.#receive(frames),
    });
    this.#pull.connect(options.controller);
  }

  take(question: MoniqueQuestion): void {
    if (this.#isStopped || this.#queue.length >= queuedMax) return;
    this.#queue.push(question);
    if (this.#current === undefined) this.#running = this.#workOff();
  }

  /** The question no longer needs an answer. */
  kill(id: string): void {
    if (this.#current?.id === id) this.#current.abort.abort();
    const at = this.#queue.findIndex((question) => question.id === id);
    const [killed] = at < 0 ? [] : this.#queue.splice(at, 1);
    if (killed !== undefined) this.#fail(killed, killedError);
  }

  /**
   * Lets the current question finish. Questions that it has not begun are returned when the
   * connection closes.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#queue.length = 0;
    await this.#running;
    await this.#pull?.close();
  }

  #receive(frames: Buffer[]): void {
    const reading = monique.readMessage(frames);
    const [, frame] = frames;
    if (!reading.ok || frame === undefined || reading.header.type !== "config") return;
    const { header, content } = reading;
    const data = content === undefined ? frame : monique.dataIn(content, frame);
    const encoding = content?.encoding ?? "";
    this.take({ ...monique.plainHeader(header), ...timesIn(content), encoding, data });
  }

  async #workOff(): Promise<void> {
    for (let question = this.#queue.shift(); question !== undefined; question = this.#queue.shift()) {
      const abort = new AbortController();
      this.#current = { id: question.id, abort };
      await this.#work(question, abort.signal);
      this.#current = undefined;
    }
  }

  async #work(question: MoniqueQuestion, signal: AbortSignal): Promise<void> {
    try {
      const reply = await this.#options.work(question, signal);
      const { data, encoding = question.encoding || "JSON", expiresMs } = replyOf(reply);
      const bytes =
        typeof data === "string" ? Buffer.from(data) : Buffer.from(data.buffer, data.byteOffset, data.length);
      const expiresAt = expiresMs === undefined ? 0 : Math.ceil(now().wall + expiresMs);
      this.#options.send(this.#options.session.answer(question, bytes, encoding, now(), expiresAt));
    } catch (error) {
      // A worker that was told to stop still answers, because it counts as busy until then.
      this.#fail(question, signal.aborted ? killedError : error);
      if (!signal.aborted) this.#options.onError?.(error);
    }
  }

  #fail(question: MoniqueQuestion, error: unknown): void {
    const code = numberOf(error) ?? monique.errorCodes.component;
    this.#options.send(this.#options.session.fail(question, code, messageOf(error), now()));
  }
}

/** The times in a message. */
export function timesIn(content: monique.MoniqueContent | undefined): MoniqueTimes {
  return { createdAt: content?.createdAt ?? 0, expiresAt: content?.expiresAt ?? 0 };
}

/** The `code` of an error, if it is a number of the dialect. */
function numberOf(error: unknown): number | undefined {
  try {
    const { code } = error as { readonly code?: unknown };
    return typeof code === "number" && Number.isInteger(code) ? code : undefined;
  } catch {
    return undefined;
  }
}

const killedError = { code: monique.errorCodes.killed, message: monique.killedMessage };

function replyOf(reply: MoniqueReply | Uint8Array | string): MoniqueReply {
  return typeof reply === "string" || reply instanceof Uint8Array ? { data: reply } : reply;
}
