// The wire tap: it counts the messages of every door, and decodes them for listeners. Without
// listeners a message costs its count and one comparison: callers check `isOpen` before they
// decode. The task of an incoming message is found through the event that its door posts while
// handling it, and the task of an outgoing message through the effect that the door is carrying
// out.

import type { TaskId, YardEvent } from "@yardmaster/core";
import type { WireField } from "./wire-fields.js";

export interface TappedMessage {
  readonly door: string;
  readonly direction: "in" | "out";
  readonly peer: string;
  /** The message's type in the dialect's own terms. */
  readonly type: string;
  readonly bytes: number;
  /** The content, short enough to be shown, or a function that makes it if a listener wants it. */
  readonly content: unknown | (() => unknown);
  /** Whether the peer is a client or a worker; absent if not known. */
  readonly side?: Side | undefined;
  readonly task?: TaskId | undefined;
  /** Why the message was refused, if it was. */
  readonly fault?: string;
  /** The message as it is on the wire. Do not keep it. */
  readonly raw?: readonly Uint8Array[];
  /** The positions of its fields in `raw`. */
  readonly fields?: () => readonly WireField[];
}

export type Side = "client" | "worker";

export type TapListener = (message: TappedMessage) => void;

/** Messages of one type at one door, in one direction. */
export interface Traffic {
  readonly door: string;
  readonly direction: "in" | "out";
  readonly type: string;
  messages: number;
  bytes: number;
}

/**
 * A dialect has a handful of types. Types beyond these share one counter.
 */
const typesMax = 64;
const otherTypes = "other";

export class Tap {
  readonly #listeners = new Set<TapListener>();
  /** The last incoming message, while its door handles it. */
  #held: TappedMessage | undefined;
  #delivered: TaskId | undefined;
  readonly #in = new Map<string, Map<string, Traffic>>();
  readonly #out = new Map<string, Map<string, Traffic>>();
  /** The types of a door whose peers may write anything in their place. */
  readonly #typesOf = new Map<string, ReadonlySet<string>>();

  /** The counter used last, because messages of one type come in runs. */
  #recentIn: Traffic | undefined;
  #recentOut: Traffic | undefined;

  get isOpen(): boolean {
    return this.#listeners.size > 0;
  }

  /**
   * At this door all other types share one counter. Otherwise a peer that makes up types would use
   * up the counters before the real types have come.
   */
  countOnly(door: string, types: readonly string[]): void {
    this.#typesOf.set(door, new Set(types));
  }

  show(message: TappedMessage): void {
    this.#release();
    if (message.task !== undefined) return this.#tell(message);
    if (message.direction === "out") return this.#tell({ ...message, task: this.#delivered });
    // Its task is known once its door has handled it.
    this.#held = message;
    queueMicrotask(() => this.#release());
  }

  /** The door posted an event about this task. */
  about(door: string, task: TaskId | undefined): void {
    if (task === undefined || this.#held?.door !== door) return;
    const held = this.#held;
    this.#held = undefined;
    this.#tell({ ...held, task });
  }

  /** Messages sent from now on are about this task, or about none. */
  delivering(task: TaskId | undefined): void {
    this.#delivered = task;
  }

  #release(): void {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) this.#tell(held);
  }

  #tell(message: TappedMessage): void {
    for (const listener of this.#listeners) listener(message);
  }

  /** Listens until the returned function is called. */
  listen(listener: TapListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Counts a message, even without listeners. Allocates only for the first message of a type. */
  count(door: string, direction: "in" | "out", type: string, bytes: number): void {
    const recent = direction === "in" ? this.#recentIn : this.#recentOut;
    const isIt = recent?.type === type && recent.door === door;
    const traffic = isIt ? recent : this.counter(door, direction, type);
    traffic.messages += 1;
    traffic.bytes += bytes;
  }

  /** The name under which a type is counted that has not been counted yet. */
  #nameOf(door: string, type: string, count: number): string {
    const isKnown = this.#typesOf.get(door)?.has(type) ?? count < typesMax;
    return isKnown ? type : otherTypes;
  }

  /** The counter of one type, for a caller that counts very many. */
  counter(door: string, direction: "in" | "out", type: string): Traffic {
    const doors = direction === "in" ? this.#in : this.#out;
    const types = doors.get(door) ?? newTypes(doors, door);
    const traffic =
      types.get(type) ?? newTraffic(types, door, direction, this.#nameOf(door, type, types.size));
    if (direction === "in") this.#recentIn = traffic;
    else this.#recentOut = traffic;
    return traffic;
  }

  *traffic(): Generator<Readonly<Traffic>> {
    for (const doors of [this.#in, this.#out]) {
      for (const types of doors.values()) yield* types.values();
    }
  }
}

function newTypes(doors: Map<string, Map<string, Traffic>>, door: string): Map<string, Traffic> {
  const types = new Map<string, Traffic>();
  doors.set(door, types);
  return types;
}

function newTraffic(
  types: Map<string, Traffic>,
  door: string,
  direction: "in" | "out",
  type: string,
): Traffic {
  const known = types.get(type);
  if (known !== undefined) return known;
  const traffic = { door, direction, type, messages: 0, bytes: 0 };
  types.set(type, traffic);
  return traffic;
}

/** The task that an event is about. `accepted` is the task that the event created, if it did. */
export function taskOf(event: YardEvent, accepted: TaskId | undefined): TaskId | undefined {
  return "task" in event ? event.task : accepted;
}
