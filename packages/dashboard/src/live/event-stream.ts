// One stream of server-sent events, read by fetch so that it can carry a token. It comes back by
// itself: after 1, 2, 4 … 15 s, from the last event that had an id. While the page is hidden it is
// closed, after a moment. While too many pages of this browser have one, it is open for a moment
// every few seconds. The caller hears what came, and when the stream is there or not.

import { EventParser, type SentEvent } from "../model/sse.js";
import { Refusal, request } from "./session.js";
import { type Release, takeSlot } from "./stream-slots.js";

const retryMsMin = 1_000;
const retryMsMax = 15_000;
/**
 * The dispatcher sends at least a comment within 15 s; a stream that is silent for longer is dead.
 */
const silenceMsMax = 40_000;
/** A page that is hidden for longer gets no events; what it missed is sent or shown as a gap. */
const hiddenMsMax = 30_000;
/** Without a slot: how long the stream is open, and how long it is closed. */
const glanceMs = 200;
const betweenGlancesMs = 3_000;

export interface StreamHandlers {
  onOpen(): void;
  onEvents(events: readonly SentEvent[]): void;
  /** `retryAt`: when it is tried again, by `Date.now`. */
  onLost(retryAt: number): void;
  /** The dispatcher said no, and will again: another filter or a token is needed. */
  onRefused(refusal: Refusal): void;
}

export class EventStream {
  readonly #path: string;
  readonly #handlers: StreamHandlers;
  #stop: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastId: string | undefined;
  #failures = 0;
  #hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #onVisibility = () => this.#visibility();

  constructor(path: string, handlers: StreamHandlers) {
    this.#path = path;
    this.#handlers = handlers;
  }

  open(): void {
    document.addEventListener("visibilitychange", this.#onVisibility);
    this.#visibility();
    this.#connect();
  }

  /** Ends it; `open` goes on from where it was. */
  close(): void {
    document.removeEventListener("visibilitychange", this.#onVisibility);
    clearTimeout(this.#hiddenTimer);
    this.#disconnect();
  }

  /** Starts from the beginning: another reader may see other things. */
  restart(): void {
    this.close();
    this.#lastId = undefined;
    this.open();
  }

  #visibility(): void {
    clearTimeout(this.#hiddenTimer);
    if (document.hidden) this.#hiddenTimer = setTimeout(() => this.#disconnect(), hiddenMsMax);
    else this.#connect();
  }

  #connect(): void {
    if (this.#stop !== undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#stop = new AbortController();
    void this.#run(this.#stop);
  }

  #disconnect(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#stop?.abort();
    this.#stop = undefined;
  }

  async #run(stop: AbortController): Promise<void> {
    let slot: Release | undefined;
    let hasGlanced = false;
    try {
      slot = await takeSlot();
      if (this.#stop === stop) hasGlanced = await this.#read(stop, slot !== undefined);
    } catch (fault) {
      if (this.#stop !== stop) return;
      if (fault instanceof Refusal && fault.status < 500 && fault.status !== 429) {
        this.#stop = undefined;
        this.#handlers.onRefused(fault);
        return;
      }
    } finally {
      slot?.();
    }
    if (this.#stop !== stop) return;
    this.#stop = undefined;
    if (hasGlanced) this.#timer = setTimeout(() => this.#connect(), betweenGlancesMs);
    else this.#retry();
  }

  #retry(): void {
    const waitMs = Math.min(retryMsMax, retryMsMin * 2 ** this.#failures);
    this.#failures += 1;
    this.#timer = setTimeout(() => this.#connect(), waitMs);
    this.#handlers.onLost(Date.now() + waitMs);
  }

  /** True if the stream was closed on purpose, after a glance. */
  async #read(stop: AbortController, mayStay: boolean): Promise<boolean> {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (this.#lastId !== undefined) headers["Last-Event-ID"] = this.#lastId;
    const silence = setTimeout(() => stop.abort(), silenceMsMax);
    let glance: ReturnType<typeof setTimeout> | undefined;
    let hasGlanced = false;
    try {
      const response = await request(this.#path, { headers, signal: stop.signal });
      const reader = response.body?.getReader();
      if (!reader || this.#stop !== stop) return false;
      this.#failures = 0;
      this.#handlers.onOpen();
      if (!mayStay)
        glance = setTimeout(() => {
          hasGlanced = true;
          void reader.cancel();
        }, glanceMs);
      await this.#pump(reader, silence, stop);
      return hasGlanced;
    } finally {
      clearTimeout(silence);
      clearTimeout(glance);
    }
  }

  async #pump(
    reader: ReadableStreamDefaultReader<Uint8Array>,
    first: ReturnType<typeof setTimeout>,
    stop: AbortController,
  ): Promise<void> {
    const parser = new EventParser();
    const decoder = new TextDecoder();
    let silence = first;
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(silence);
        silence = setTimeout(() => stop.abort(), silenceMsMax);
        const events = parser.push(decoder.decode(value, { stream: true }));
        // Closed while these bytes were on their way: they are read again after the next `open`.
        if (this.#stop !== stop) return;
        for (const { id } of events) if (id !== undefined) this.#lastId = id;
        if (events.length > 0) this.#handlers.onEvents(events);
      }
    } finally {
      clearTimeout(silence);
    }
  }
}
