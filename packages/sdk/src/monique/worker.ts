// Answers the questions of one spec, one after the other: those a controller gives it, or those it hears.

import { monique } from "@yardmaster/dialects";
import { Pull } from "@yardmaster/zmtp";
import { now } from "../time.js";

export interface MoniqueTimes {
  /** Milliseconds since 1970; 0 where the content cannot be read. */
  readonly createdAt: number;
  /** [monique 5.1] 0 is never. */
  readonly expiresAt: number;
}

export interface MoniqueQuestion extends monique.MoniqueHeader, MoniqueTimes {
  readonly encoding: string;
  readonly data: Buffer;
}

export interface MoniqueReply {
  readonly data: Uint8Array | string;
  /** The question's own if absent. */
  readonly encoding?: string;
  /** After this long the answer has no meaning any more. */
  readonly expiresMs?: number;
}

export interface MoniqueWorkerOptions {
  readonly spec: string;
  /** What it throws is answered as an error: with its own `code` where that is a number, else with 500. */
  readonly work: (
    question: MoniqueQuestion,
    signal: AbortSignal,
  ) => Promise<MoniqueReply | Uint8Array | string> | MoniqueReply | Uint8Array | string;
  /** The controller's address, tcp://host:port. */
  readonly controller?: string;
  readonly onError?: (error: unknown) => void;
}

interface Surroundings {
  readonly session: monique.MoniqueComponentSession<unknown>;
  readonly send: (message: monique.MoniqueMessage) => void;
}

/** What one that hears everything may have before it; more is missed, as by any subscriber that is behind. */
const queuedMax = 1_000;

export class MoniqueWorker {
  readonly spec: string;
  /** By a controller, instead of hearing what everybody hears. */
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
    this.#pull = new Pull({ onPeer: () => connected(), onMessage: (_peer, frames) => this.#receive(frames) });
    this.#pull.connect(options.controller);
  }

  take(question: MoniqueQuestion): void {
    if (this.#isStopped || this.#queue.length >= queuedMax) return;
    this.#queue.push(question);
    if (this.#current === undefined) this.#running = this.#workOff();
  }

  /** The question need not be answered any more. */
  kill(id: string): void {
    if (this.#current?.id === id) this.#current.abort.abort();
    const at = this.#queue.findIndex((question) => question.id === id);
    const [killed] = at < 0 ? [] : this.#queue.splice(at, 1);
    if (killed !== undefined) this.#fail(killed, killedError);
  }

  /** Lets what it works on finish. What it has not begun goes back by the closed connection. */
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
      // A worker that was told to stop answers all the same: until then it is taken for busy.
      this.#fail(question, signal.aborted ? killedError : error);
      if (!signal.aborted) this.#options.onError?.(error);
    }
  }

  #fail(question: MoniqueQuestion, error: unknown): void {
    const { code, message } = error as { code?: unknown; message?: unknown };
    const number = typeof code === "number" && Number.isInteger(code) ? code : monique.errorCodes.component;
    const text = typeof message === "string" ? message : String(error);
    this.#options.send(this.#options.session.fail(question, number, text, now()));
  }
}

export function timesIn(content: monique.MoniqueContent | undefined): MoniqueTimes {
  return { createdAt: content?.createdAt ?? 0, expiresAt: content?.expiresAt ?? 0 };
}

const killedError = { code: monique.errorCodes.killed, message: monique.killedMessage };

function replyOf(reply: MoniqueReply | Uint8Array | string): MoniqueReply {
  return typeof reply === "string" || reply instanceof Uint8Array ? { data: reply } : reply;
}
