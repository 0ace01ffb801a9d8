// Listeners of a stream of server-sent events. Bytes are made once and shared by all of them. Each
// listener has a bounded buffer. One that falls behind is skipped until it has read everything, and
// then receives the current state.

import type { ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Moment } from "@yardmaster/core";
import type { FastifyReply } from "fastify";

export interface ListenersOptions {
  /**
   * The bytes for a listener that fell behind and has read everything. The same buffer for all,
   * while it does not change.
   */
  readonly catchUp: () => Buffer;
  /** A listener disconnected. */
  readonly onLeft: () => void;
}

/** Maximum unread bytes per listener, besides a catch-up. */
const unreadBytesMax = 262_144;
/**
 * Maximum bytes of first texts and catch-ups that were not read. Each counts once, however many
 * listeners share it.
 */
const untakenBytesMax = 67_108_864;
/** A listener that reads nothing for this long is disconnected. */
const behindMsMax = 60_000;
/** After this long without data, a proxy in between may drop the connection. */
const quietMsMax = 15_000;

/** A few milliseconds of work. */
const listenersPerTurn = 500;

interface Listener {
  readonly response: ServerResponse;
  /** When it fell behind; 0 while it has not. */
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

  /** Unread bytes of the listener that is furthest behind. */
  get unreadBytes(): number {
    let most = 0;
    for (const { response } of this.#all) most = Math.max(most, response.writableLength);
    return most;
  }

  /** Takes over the response; `first` is sent before anything else. */
  add(reply: FastifyReply, first: Buffer, now: Moment): void {
    reply.hijack();
    const response = reply.raw;
    const listener: Listener = { response, behindSince: 0 };
    const { socket } = reply.request.raw;
    // A listener sends nothing more, so it must not time out.
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
    // The stream ends with its connection, so no part of it needs a length.
    response.useChunkedEncodingByDefault = false;
    response.writeHead(200, streamHeaders);
    if (!this.#untaken.write(response, first)) {
      // There is no room for the first text, so it counts as behind. Until there is room it only
      // receives keep-alives.
      listener.behindSince = Math.max(1, now.instant);
      response.write(stillHere);
    }
  }

  /**
   * Resolves when the bytes were written to all listeners. Each turn serves a part of them: ten
   * thousand at once would delay everything else.
   */
  async send(bytes: Buffer, now: Moment): Promise<void> {
    this.#lastSentAt = now.instant;
    let left = listenersPerTurn;
    // A listener that connects meanwhile already has this in its snapshot.
    for (const listener of [...this.#all]) {
      this.#sendTo(listener, bytes, now.instant);
      if (--left > 0) continue;
      await nextTurn();
      left = listenersPerTurn;
    }
  }

  /** Sends a keep-alive if nothing was sent for a while. */
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

/** Texts being sent to listeners. A text is one buffer, however many listeners it is sent to. */
class UntakenTexts {
  readonly #bytesMax: number;
  readonly #takers = new Map<Buffer, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /**
   * Writes the text, and counts it until it was read or abandoned. Returns false if there is no
   * room.
   */
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
  // A proxy that buffers answers would hold this one back forever.
  "X-Accel-Buffering": "no",
  Connection: "close",
};

/** One event in wire format. JSON contains no line breaks. */
export function eventText(event: string, json: string, id?: string): string {
  return id === undefined
    ? `event: ${event}\ndata: ${json}\n\n`
    : `id: ${id}\nevent: ${event}\ndata: ${json}\n\n`;
}
