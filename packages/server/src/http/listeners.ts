// Those who listen to a stream of events (SSE). What is sent is written once and shared by all of them; each has a buffer
// of bounded size, and one that falls behind is left out until it has caught up, and then told where things stand.

import type { ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Moment } from "@yardmaster/core";
import type { FastifyReply } from "fastify";

export interface ListenersOptions {
  /** What one that fell behind is sent when it has read all there was. */
  readonly catchUp: () => string;
  /** Somebody left. */
  readonly onLeft: () => void;
}

/** What may lie unread for one listener, beside what catches it up. */
const unreadBytesMax = 262_144;
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
  add(reply: FastifyReply, first: string): void {
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
    response.write(first);
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
        listener.behindSince = 0;
        response.write(this.#options.catchUp());
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
