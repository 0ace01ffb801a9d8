// A component's end of the dialect: writes its messages, matches answers to its questions by their
// pid, and tracks the question it is working on. The source of ids is injected.

import type { Moment } from "@yardmaster/core";
import { hashId } from "./codec.js";
import type { MoniqueContent } from "./content.js";
import {
  formShapes,
  type MessageType,
  type MoniqueForm,
  type MoniqueHeader,
  type MoniqueMessage,
  ownSpecs,
} from "./messages.js";
import type { MonitoringReport } from "./monitoring.js";

export interface ComponentOptions {
  readonly creator: string;
  readonly form: MoniqueForm;
  /** [monique 1.7] Returns 40 letters and digits, never used before, for the newest form. */
  readonly makeId: () => string;
}

export interface ComponentMessage {
  readonly spec: string;
  readonly data: Buffer;
  readonly encoding?: string;
  /** [monique 5.1] 0 means never. */
  readonly expiresAt?: number;
  /** The message that this one follows; empty if none. */
  readonly pid?: string;
}

/** [monique 2.1] True if a tag can hold this creator. */
export function isCreator(creator: string): boolean {
  return creator !== "" && !creator.includes(":");
}

export class MoniqueComponentSession<Waiter> {
  readonly #options: ComponentOptions;
  readonly #waiting = new Map<string, Waiter>();
  #lastCreatedAt = 0;

  constructor(options: ComponentOptions) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** [monique 3.1] */
  ask(said: ComponentMessage, waiter: Waiter, now: Moment): MoniqueMessage {
    const message = this.#make("config", said.pid ?? "", said, now);
    this.#waiting.set(message.id, waiter);
    return message;
  }

  /** [monique 3.4] The waiter for this answer; undefined if there is none any more. */
  take({ type, pid }: MoniqueHeader): Waiter | undefined {
    if (type !== "result" && type !== "error") return undefined;
    const waiter = this.#waiting.get(pid);
    this.#waiting.delete(pid);
    return waiter;
  }

  /** Drops the waiter of this question. */
  forget(id: string): void {
    this.#waiting.delete(id);
  }

  /** Removes and returns all waiters. */
  takeAll(): Waiter[] {
    const waiters = [...this.#waiting.values()];
    this.#waiting.clear();
    return waiters;
  }

  /** [monique 3.3] */
  answer(
    question: MoniqueHeader,
    data: Buffer,
    encoding: string,
    now: Moment,
    expiresAt = 0,
  ): MoniqueMessage {
    return this.#make("result", question.id, { spec: question.spec, data, encoding, expiresAt }, now);
  }

  /** [monique 3.7] Under the question's own spec, as the document has it. */
  fail(question: MoniqueHeader, code: number, message: string, now: Moment): MoniqueMessage {
    const data = Buffer.from(JSON.stringify({ code, message }));
    return this.#make("error", question.id, { spec: question.spec, data }, now);
  }

  /** [monique 3.5] */
  publish(said: ComponentMessage, now: Moment): MoniqueMessage {
    return this.#make("data", said.pid ?? "", said, now);
  }

  /** [monique 6.1] */
  report({ name, isAlive, message }: Omit<MonitoringReport, "syncTime">, now: Moment): MoniqueMessage {
    const report = { sync_time: Math.floor(now.wall), name, is_alive: isAlive, message };
    return this.#make(
      "data",
      "",
      { spec: ownSpecs.monitoring, data: Buffer.from(JSON.stringify(report)) },
      now,
    );
  }

  /** [monique 6.4] */
  kill(id: string, now: Moment): MoniqueMessage {
    const data = Buffer.from(JSON.stringify({ task_id: id }));
    return this.#make("config", "", { spec: ownSpecs.kill, data }, now);
  }

  #make(type: MessageType, pid: string, said: ComponentMessage, now: Moment): MoniqueMessage {
    const { spec, data, encoding = "JSON", expiresAt = 0 } = said;
    const { creator, form, makeId } = this.#options;
    // Older forms derive ids from the time, so no two messages may share a millisecond.
    this.#lastCreatedAt = Math.max(this.#lastCreatedAt + 1, Math.floor(now.wall));
    const about = { creator, createdAt: this.#lastCreatedAt, spec };
    const id = form === "d3" ? makeId() : hashId(about);
    return { ...about, type, id, pid, expiresAt, encoding, data };
  }
}

/**
 * [monique 2.7] The subscription prefix for these messages. In the older forms a tag has a header
 * of its own.
 */
export function prefixOf(form: MoniqueForm, type: MessageType, spec: string): string {
  return formShapes[form].wrapsTag ? "" : `${type}:${spec}:`;
}

/** The data of a message. */
export function dataIn({ dataStart, dataEnd }: MoniqueContent, frame: Buffer): Buffer {
  return frame.subarray(dataStart, dataEnd);
}
