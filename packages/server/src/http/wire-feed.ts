// Sends decoded messages of the doors, from the wire tap, to listeners. Messages are gathered for a
// moment and sent to all listeners at once; messages beyond the maximum rate are only counted.
// Without listeners the tap is closed, and a message costs nothing.

import type { Instant, Moment, TaskId } from "@yardmaster/core";
import type { FastifyReply } from "fastify";
import type { Principal } from "../access/principal.js";
import type { Port } from "../door-kit/door.js";
import type { Tap, TappedMessage } from "../door-kit/tap.js";
import type { WireField } from "../door-kit/wire-fields.js";
import { eventText, Listeners } from "./listeners.js";
import { timeJson } from "./task-json.js";

const gatherMs = 100;
/** More than a person reads, and less than one listener's buffer. */
const gatheredBytesMax = 131_072;
/** Maximum length of one message's content. */
const contentLengthMax = 4_096;

/** Maximum number of raw bytes shown per message. */
const dataBytesMax = 4_096;

/** The messages that a listener wants. */
export interface WireFilter {
  readonly door?: string | undefined;
  /** The whole name, or only the host. */
  readonly peer?: string | undefined;
  readonly type?: string | undefined;
  readonly task?: TaskId | undefined;
  /** Messages per second; those beyond it are counted. */
  readonly max?: number | undefined;
}

/** Listeners with the same filter. */
interface Audience {
  readonly filter: WireFilter;
  /** The principal that listens; absent where there are none. */
  readonly watcher: Principal | undefined;
  readonly listeners: Listeners;
  gathered: string[];
  /** The task of each gathered message, if a principal listens. */
  tasks: (TaskId | undefined)[];
  /** True while the queues of these tasks are looked up. */
  isChecking: boolean;
  bytes: number;
  skipped: number;
  /**
   * Number of messages that may still be shown. For a rate below one per gathering, fractions add
   * up.
   */
  room: number;
}

export class WireFeed {
  readonly #port: Port;
  readonly #tap: Tap;
  /** Audiences by filter. */
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

  /** `watcher`: if it may not watch all queues, it sees only messages about tasks. */
  add(reply: FastifyReply, filter: WireFilter = {}, watcher?: Principal): void {
    const { door = "", peer = "", type = "", task = "", max = "" } = filter;
    const key = JSON.stringify([door, peer, type, task, max, watcher?.name ?? ""]);
    let audience = this.#audiences.get(key);
    if (audience === undefined) {
      const listeners = new Listeners({ catchUp: () => behind, onLeft: () => this.#left() });
      const room = Math.max(1, roomIn(filter));
      audience = {
        filter,
        watcher,
        listeners,
        gathered: [],
        tasks: [],
        isChecking: false,
        bytes: 0,
        skipped: 0,
        room,
      };
      this.#audiences.set(key, audience);
    }
    audience.listeners.add(reply, Buffer.from(":\n\n"), this.#port.now());
    this.#untap ??= this.#tap.listen((message) => this.#take(message));
    this.#gatherAt ??= (this.#port.now().instant + gatherMs) as Instant;
    // A connection that closed before it was added has left already.
    this.#left();
  }

  handleTimeout(now: Moment): void {
    if (this.#gatherAt === undefined || this.#gatherAt > now.instant) return;
    this.#gatherAt = (now.instant + gatherMs) as Instant;
    for (const audience of this.#audiences.values()) {
      if (audience.watcher === undefined) flush(audience, takeGathered(audience), now);
      else void this.#flushWatched(audience, audience.watcher, now);
    }
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
    for (const [key, { listeners }] of this.#audiences) {
      if (listeners.size === 0) this.#audiences.delete(key);
    }
    if (this.#audiences.size === 0) this.#rest();
  }

  #rest(): void {
    this.#untap?.();
    this.#untap = undefined;
    this.#gatherAt = undefined;
  }

  /** Sends only messages about tasks in queues that the principal may watch. */
  async #flushWatched(audience: Audience, watcher: Principal, now: Moment): Promise<void> {
    if (audience.isChecking) return;
    audience.isChecking = true;
    const { tasks } = audience;
    audience.tasks = [];
    const gathered = takeGathered(audience);
    const queues = new Map<TaskId, string | undefined>();
    const seesAll = watcher.rights.mayForAll("watch");
    for (const id of seesAll ? [] : tasks)
      if (id !== undefined && !queues.has(id)) queues.set(id, (await this.#port.reads.task(id))?.head.queue);
    const isShown = (id: TaskId | undefined) => {
      if (seesAll) return true;
      const queue = id === undefined ? undefined : queues.get(id);
      return queue !== undefined && watcher.may("watch", queue);
    };
    audience.isChecking = false;
    flush(
      audience,
      gathered.filter((_, index) => isShown(tasks[index])),
      now,
    );
  }

  #take(message: TappedMessage): void {
    let text: string | undefined;
    for (const audience of this.#audiences.values()) {
      if (!isWanted(message, audience.filter)) continue;
      if (message.task === undefined && audience.watcher?.rights.mayForAll("watch") === false) continue;
      if (audience.bytes >= gatheredBytesMax || audience.room < 1) {
        audience.skipped += 1;
        continue;
      }
      audience.room -= 1;
      text ??= eventText("message", messageJson(message, timeJson(this.#port.now().wall)));
      audience.gathered.push(text);
      if (audience.watcher !== undefined) audience.tasks.push(message.task);
      audience.bytes += text.length;
    }
  }
}

const behind = Buffer.from(eventText("skipped", '{"messages":null}'));

function takeGathered(audience: Audience): string[] {
  const { gathered } = audience;
  audience.gathered = [];
  audience.bytes = 0;
  return gathered;
}

function flush(audience: Audience, gathered: string[], now: Moment): void {
  const { listeners, skipped } = audience;
  if (skipped > 0) gathered.push(eventText("skipped", JSON.stringify({ messages: skipped })));
  // Order is kept: a listener that is written to later is one turn behind and misses no message.
  if (gathered.length > 0) void listeners.send(Buffer.from(gathered.join("")), now);
  else void listeners.keepAwake(now);
  audience.skipped = 0;
  const more = roomIn(audience.filter);
  // Unused room is not saved, except for a fraction of a message.
  audience.room = Math.min(Math.max(1, more), audience.room + more);
}

/** Maximum number of messages in one gathering. */
function roomIn({ max }: WireFilter): number {
  return max === undefined ? Number.POSITIVE_INFINITY : (max * gatherMs) / 1000;
}

function isWanted({ door, peer, type, task }: TappedMessage, filter: WireFilter): boolean {
  if (filter.door !== undefined && filter.door !== door) return false;
  if (filter.type !== undefined && filter.type !== type) return false;
  if (filter.task !== undefined && filter.task !== task) return false;
  return filter.peer === undefined || peer === filter.peer || peer.startsWith(`${filter.peer}:`);
}

function messageJson(message: TappedMessage, at: string): string {
  const {
    door,
    direction,
    side = null,
    peer,
    type,
    bytes,
    task,
    content,
    raw,
    fields,
    fault = null,
  } = message;
  const made: unknown = typeof content === "function" ? content() : content;
  const shown = JSON.stringify(made, showBytes) ?? "null";
  const bounded =
    shown.length > contentLengthMax ? JSON.stringify(`${shown.slice(0, contentLengthMax)}…`) : shown;
  const about = {
    at,
    door,
    direction,
    side,
    peer,
    type,
    bytes,
    task: task === undefined ? null : String(task),
  };
  const data = raw === undefined ? null : firstBytes(raw).toString("base64");
  const rest = { data, fields: fieldsWithin(fields?.() ?? []), fault };
  return `${JSON.stringify(about).slice(0, -1)},"content":${bounded},${JSON.stringify(rest).slice(1)}`;
}

function firstBytes(parts: readonly Uint8Array[]): Buffer {
  const taken: Uint8Array[] = [];
  let left = dataBytesMax;
  for (const part of parts) {
    if (left === 0) break;
    taken.push(part.subarray(0, left));
    left -= Math.min(left, part.length);
  }
  return Buffer.concat(taken);
}

/** Only the fields within the shown bytes. */
function fieldsWithin(fields: readonly WireField[]): WireField[] {
  return fields
    .filter(({ at }) => at <= dataBytesMax)
    .map((field) => ({ ...field, bytes: Math.min(field.bytes, dataBytesMax - field.at) }));
}

/** Bytes as base64; large numbers as text. */
function showBytes(_name: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (isBufferJson(value)) return Buffer.from(value.data.slice(0, contentLengthMax)).toString("base64");
  if (value instanceof Uint8Array) return Buffer.from(value.subarray(0, contentLengthMax)).toString("base64");
  return value;
}

/** A Buffer converts itself to this form before the replacer sees it. */
function isBufferJson(value: unknown): value is { readonly data: readonly number[] } {
  const { type, data } = (value ?? {}) as { type?: unknown; data?: unknown };
  return type === "Buffer" && Array.isArray(data);
}
