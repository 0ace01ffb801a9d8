// Those who listen to a stream of events (SSE). What is sent is written once and shared by all of them; each has a buffer
// of bounded size, and one that falls behind is left out until it has caught up, and then told where things stand.

import type { ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Moment } from "@yardmaster/core";
import type { FastifyReply } from "fastify";

export interface ListenersOptions {
  /** What one that fell behind is sent when it has read all there was. One buffer for all, while it is the same. */
  readonly catchUp: () => Buffer;
  /** Somebody left. */
  readonly onLeft: () => void;
}

/** What may lie unread for one listener, beside what catches it up. */
const unreadBytesMax = 262_144;
/** First texts and catch-ups that listeners have not taken; each counts once, however many are to take it. */
const untakenBytesMax = 67_108_864;
/** One that reads nothing for so long is not there any more. */
const behindMsMax = 60_000;
/** So long without a word, and what is between the two ends may take the connection for dead. */
const quietMsMax = 15_000;

/** Some milliseconds' worth. */
const listenersPerTurn = 500;

interface Listener {
  readonly response: ServerResponse;
  /** Since when it is behind; 0 while it is not. */
  behindSince: number;
}

export class Listeners {
  readonly #options: ListenersOptions;
  readonly #all = new Set<Listener>();
  readonly #untaken = new UntakenTexts(untakenBytesMax);
  #lastSentAt = 0;

  constructor(options: ListenersOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#all.size;
  }

  /** Bytes that wait to be read, of the one for whom most do. */
  get unreadBytes(): number {
    let most = 0;
    for (const { response } of this.#all) most = Math.max(most, response.writableLength);
    return most;
  }

  /** Takes over the answer; `first` is what this one is sent before all else. */
  add(reply: FastifyReply, first: Buffer, now: Moment): void {
    reply.hijack();
    const response = reply.raw;
    const listener: Listener = { response, behindSince: 0 };
    const { socket } = reply.request.raw;
    // It says nothing more, and rightly so.
    socket.setTimeout(0);
    socket.setNoDelay(true);
    response.on("error", () => {});
    response.on("close", () => {
      if (this.#all.delete(listener)) this.#options.onLeft();
    });
    if (socket.destroyed) {
      this.#options.onLeft();
      return;
    }
    this.#all.add(listener);
    // It has no end but that of the connection, so no part of it needs a length.
    response.useChunkedEncodingByDefault = false;
    response.writeHead(200, streamHeaders);
    if (!this.#untaken.write(response, first)) {
      // It is caught up when there is room: until then it only hears that we are here.
      listener.behindSince = Math.max(1, now.instant);
      response.write(stillHere);
    }
  }

  /** Resolves when it is written to all, a part of them in each turn: ten thousand would hold everybody up. */
  async send(bytes: Buffer, now: Moment): Promise<void> {
    this.#lastSentAt = now.instant;
    let left = listenersPerTurn;
    // Whoever comes meanwhile knows of it already.
    for (const listener of [...this.#all]) {
      this.#sendTo(listener, bytes, now.instant);
      if (--left > 0) continue;
      await nextTurn();
      left = listenersPerTurn;
    }
  }

  /** Says that we are still there, if nothing has been said for a while. */
  async keepAwake(now: Moment): Promise<void> {
    if (this.#all.size > 0 && now.instant - this.#lastSentAt >= quietMsMax) await this.send(stillHere, now);
  }

  close(): void {
    for (const { response } of this.#all) response.end();
    this.#all.clear();
  }

  #sendTo(listener: Listener, bytes: Buffer, at: number): void {
    const { response } = listener;
    if (response.destroyed) return;
    if (listener.behindSince > 0) {
      if (response.writableLength === 0) {
        if (this.#untaken.write(response, this.#options.catchUp())) listener.behindSince = 0;
      } else if (at - listener.behindSince > behindMsMax) response.destroy();
      return;
    }
    if (response.writableLength + bytes.length > unreadBytesMax && response.writableLength > 0) {
      listener.behindSince = Math.max(1, at);
      return;
    }
    response.write(bytes);
  }
}

/** Texts on their way to listeners. One text is one piece of memory, however many it is on its way to. */
class UntakenTexts {
  readonly #bytesMax: number;
  readonly #takers = new Map<Buffer, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Writes it, and counts it until it has been taken, or never will be; false when there is no room. */
  write(response: ServerResponse, text: Buffer): boolean {
    const takers = this.#takers.get(text) ?? 0;
    if (takers === 0 && this.#bytes + text.length > this.#bytesMax) return false;
    if (takers === 0) this.#bytes += text.length;
    this.#takers.set(text, takers + 1);
    let isHeld = true;
    const over = () => {
      if (!isHeld) return;
      isHeld = false;
      response.off("close", over);
      this.#release(text);
    };
    response.once("close", over);
    response.write(text, over);
    return true;
  }

  #release(text: Buffer): void {
    const takers = (this.#takers.get(text) ?? 0) - 1;
    if (takers > 0) this.#takers.set(text, takers);
    else if (this.#takers.delete(text)) this.#bytes -= text.length;
  }
}

const stillHere = Buffer.from(":\n\n");

const streamHeaders = {
  "Content-Type": "text/event-stream; charset=utf-8",
  "Cache-Control": "no-store",
  // A proxy that gathers answers before it passes them on would gather this one for ever.
  "X-Accel-Buffering": "no",
  Connection: "close",
};

/** One event, as it goes over the wire. JSON has no line breaks of its own. */
export function eventText(event: string, json: string, id?: string): string {
  return id === undefined
    ? `event: ${event}\ndata: ${json}\n\n`
    : `id: ${id}\nevent: ${event}\ndata: ${json}\n\n`;
}
