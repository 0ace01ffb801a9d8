// Messages on the doors, as the page holds them: the last 20,000, newest last, and how many were
// left out.

import type { WireMessage } from "./api-shapes.js";
import { EventStream } from "./event-stream.js";

const keptMax = 20_000;

export interface WireRow extends WireMessage {
  readonly number: number;
  readonly atMs: number;
}

export interface WireFilter {
  readonly door?: string | undefined;
  readonly peer?: string | undefined;
  readonly type?: string | undefined;
  readonly task?: string | undefined;
}

export class WireLog {
  readonly since = Date.now();
  rows: WireRow[] = [];
  skipped = 0;
  shown = 0;
  fault = "";
  readonly #stream: EventStream;
  #number = 0;

  constructor(filter: WireFilter) {
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries(filter)) if (value) query.set(key, value);
    // More a second than a person can read only costs; a filter shows all of its own.
    if (query.size === 0) query.set("max", "20");
    this.#stream = new EventStream(`v1/wire?${query}`, {
      onOpen: () => {
        this.fault = "";
      },
      onEvents: (events) => {
        for (const { event, data } of events) {
          if (event === "message") this.#add(JSON.parse(data));
          else if (event === "skipped") this.skipped += JSON.parse(data).messages ?? 0;
        }
      },
      onLost: () => {
        this.fault = "the stream was interrupted; reconnecting";
      },
      onRefused: (refusal) => {
        this.fault = refusal.message;
      },
    });
  }

  open(): void {
    this.#stream.open();
  }

  close(): void {
    this.#stream.close();
  }

  #add(message: WireMessage): void {
    this.#number += 1;
    this.shown += 1;
    this.rows.push({ ...message, number: this.#number, atMs: Date.parse(message.at) });
    // A tenth at a time: to take the first off a long list moves all the others.
    if (this.rows.length > keptMax) this.rows = this.rows.slice(keptMax / 10);
  }
}
