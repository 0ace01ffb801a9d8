// Numbers the events and keeps the latest, for listeners that reconnect.

import type { About, EventFilter } from "./event-filter.js";
import { eventText } from "./listeners.js";

const keptBytesMax = 4 * 1024 * 1024;
/** What an event costs besides its text. */
const entryBytes = 128;

export interface FeedEvent extends About {
  readonly number: number;
  readonly text: string;
}

export class KeptEvents {
  /** Differs between processes, so that an id of an earlier process is recognised. */
  readonly #series: string;
  readonly #kept: FeedEvent[] = [];
  #bytes = 0;
  #number = 0;

  constructor(series: string) {
    this.#series = series;
  }

  /** The id of the last event. */
  get lastId(): string {
    return `${this.#series}-${this.#number}`;
  }

  add(name: string, json: string, about: About): FeedEvent {
    this.#number += 1;
    const event = { ...about, number: this.#number, text: eventText(name, json, this.lastId) };
    this.#keep(event);
    return event;
  }

  /** Uses a number for no event. A listener that has seen it was there after this moment. */
  mark(): number {
    this.#number += 1;
    this.#keep({ type: "task", queues: [], number: this.#number, text: "" });
    return this.#number;
  }

  #keep(event: FeedEvent): void {
    this.#kept.push(event);
    this.#bytes += entryBytes + event.text.length;
    if (this.#bytes > keptBytesMax) this.#forgetOldest();
  }

  /** Drops the kept events: there is a gap after them, so no listener may continue from them. */
  forget(): void {
    this.#number += 1;
    this.#kept.length = 0;
    this.#bytes = 0;
  }

  /**
   * The wanted events after this one; undefined if they are no longer kept, or if the last one was
   * before `from`.
   */
  since(lastId: string | undefined, filter: EventFilter, from = 0): string | undefined {
    const [, series, written] = /^([\w.]+)-(\d{1,15})$/.exec(lastId ?? "") ?? [];
    if (series !== this.#series) return undefined;
    const last = Number(written);
    const first = this.#kept[0]?.number ?? this.#number + 1;
    if (last < from || last < first - 1 || last > this.#number) return undefined;
    const missed = this.#kept.slice(last + 1 - first).filter((event) => filter.takes(event));
    return missed.map(({ text }) => text).join("");
  }

  /** Drops half at a time, because removing the first element of a long array moves all others. */
  #forgetOldest(): void {
    for (const { text } of this.#kept.splice(0, Math.ceil(this.#kept.length / 2)))
      this.#bytes -= entryBytes + text.length;
  }
}
