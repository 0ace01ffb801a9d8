// Messages on the doors, decoded, for whoever listens: what the wire tap shows, gathered for a moment and sent to all at
// once. What is more than can be shown is counted. While nobody listens the tap is closed, and a message costs nothing.

import type { Instant, Moment } from "@yardmaster/core";
import type { FastifyReply } from "fastify";
import type { Port } from "../door-kit/door.js";
import type { Tap, TappedMessage } from "../door-kit/tap.js";
import { eventText, Listeners } from "./listeners.js";
import { timeJson } from "./task-json.js";

const gatherMs = 100;
/** More than anybody reads; below what one listener's buffer holds. */
const gatheredBytesMax = 131_072;
/** Of one message. */
const contentLengthMax = 4_096;

/** Those who listen to one door, or to all. */
interface Audience {
  readonly door: string;
  readonly listeners: Listeners;
  gathered: string[];
  bytes: number;
  skipped: number;
}

export class WireFeed {
  readonly #port: Port;
  readonly #tap: Tap;
  /** By door; "" is all doors. There are no more of these than doors. */
  readonly #audiences = new Map<string, Audience>();
  #untap: (() => void) | undefined;
  #gatherAt: Instant | undefined;

  constructor(port: Port, tap: Tap) {
    this.#port = port;
    this.#tap = tap;
  }

  get listeners(): number {
    let sum = 0;
    for (const { listeners } of this.#audiences.values()) sum += listeners.size;
    return sum;
  }

  add(reply: FastifyReply, door = ""): void {
    let audience = this.#audiences.get(door);
    if (audience === undefined) {
      const listeners = new Listeners({ catchUp: () => behind, onLeft: () => this.#left() });
      audience = { door, listeners, gathered: [], bytes: 0, skipped: 0 };
      this.#audiences.set(door, audience);
    }
    audience.listeners.add(reply, Buffer.from(":\n\n"), this.#port.now());
    this.#untap ??= this.#tap.listen((message) => this.#take(message));
    this.#gatherAt ??= (this.#port.now().instant + gatherMs) as Instant;
    // A connection that was gone before it was added has left already.
    this.#left();
  }

  handleTimeout(now: Moment): void {
    if (this.#gatherAt === undefined || this.#gatherAt > now.instant) return;
    this.#gatherAt = (now.instant + gatherMs) as Instant;
    for (const audience of this.#audiences.values()) flush(audience, now);
  }

  nextDeadline(): Instant | undefined {
    return this.#gatherAt;
  }

  close(): void {
    for (const { listeners } of this.#audiences.values()) listeners.close();
    this.#audiences.clear();
    this.#rest();
  }

  #left(): void {
    for (const [door, { listeners }] of this.#audiences) {
      if (listeners.size === 0) this.#audiences.delete(door);
    }
    if (this.#audiences.size === 0) this.#rest();
  }

  #rest(): void {
    this.#untap?.();
    this.#untap = undefined;
    this.#gatherAt = undefined;
  }

  #take(message: TappedMessage): void {
    let text: string | undefined;
    for (const audience of this.#audiences.values()) {
      if (audience.door !== "" && audience.door !== message.door) continue;
      if (audience.bytes >= gatheredBytesMax) {
        audience.skipped += 1;
        continue;
      }
      text ??= eventText("message", messageJson(message, timeJson(this.#port.now().wall)));
      audience.gathered.push(text);
      audience.bytes += text.length;
    }
  }
}

const behind = Buffer.from(eventText("skipped", '{"messages":null}'));

function flush(audience: Audience, now: Moment): void {
  const { listeners, gathered, skipped } = audience;
  if (skipped > 0) gathered.push(eventText("skipped", JSON.stringify({ messages: skipped })));
  // Order is kept: whoever is written to later is behind by a turn, not by a message.
  if (gathered.length > 0) void listeners.send(Buffer.from(gathered.join("")), now);
  else void listeners.keepAwake(now);
  audience.gathered = [];
  audience.bytes = 0;
  audience.skipped = 0;
}

function messageJson({ content, ...message }: TappedMessage, at: string): string {
  const shown = JSON.stringify(content, showBytes) ?? "null";
  const bounded =
    shown.length > contentLengthMax ? JSON.stringify(`${shown.slice(0, contentLengthMax)}…`) : shown;
  return `${JSON.stringify({ at, ...message }).slice(0, -1)},"content":${bounded}}`;
}

/** Bytes as base64; large numbers as text. */
function showBytes(_name: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (isBufferJson(value)) return Buffer.from(value.data.slice(0, contentLengthMax)).toString("base64");
  if (value instanceof Uint8Array) return Buffer.from(value.subarray(0, contentLengthMax)).toString("base64");
  return value;
}

/** A Buffer has made itself JSON before anybody is asked. */
function isBufferJson(value: unknown): value is { readonly data: readonly number[] } {
  const { type, data } = (value ?? {}) as { type?: unknown; data?: unknown };
  return type === "Buffer" && Array.isArray(data);
}
