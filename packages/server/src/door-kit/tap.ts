// The wire tap: messages on a door, counted always, and decoded for whoever listens. While nobody does, a message costs
// its count and one comparison: the caller asks `isOpen` before it makes anything to show.

export interface TappedMessage {
  readonly door: string;
  readonly direction: "in" | "out";
  readonly peer: string;
  /** The message's type in its dialect's own word. */
  readonly type: string;
  readonly bytes: number;
  /** What is in it, short enough to be shown. */
  readonly content: unknown;
}

export type TapListener = (message: TappedMessage) => void;

/** Messages of one type on one door, one way. */
export interface Traffic {
  readonly door: string;
  readonly direction: "in" | "out";
  readonly type: string;
  messages: number;
  bytes: number;
}

/** A dialect has a handful of types; what a peer makes up beyond these is counted together. */
const typesMax = 64;
const otherTypes = "other";

export class Tap {
  readonly #listeners = new Set<TapListener>();
  readonly #in = new Map<string, Map<string, Traffic>>();
  readonly #out = new Map<string, Map<string, Traffic>>();

  /** Messages of a kind come in runs. */
  #recentIn: Traffic | undefined;
  #recentOut: Traffic | undefined;

  get isOpen(): boolean {
    return this.#listeners.size > 0;
  }

  show(message: TappedMessage): void {
    for (const listener of this.#listeners) listener(message);
  }

  /** Listens until the function returned is called. */
  listen(listener: TapListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Counts a message, whether or not anybody listens. Makes nothing new but for the first of its type. */
  count(door: string, direction: "in" | "out", type: string, bytes: number): void {
    const recent = direction === "in" ? this.#recentIn : this.#recentOut;
    const isIt = recent?.type === type && recent.door === door;
    const traffic = isIt ? recent : this.counter(door, direction, type);
    traffic.messages += 1;
    traffic.bytes += bytes;
  }

  /** Where messages of a type are counted: for who has a great many of it. */
  counter(door: string, direction: "in" | "out", type: string): Traffic {
    const doors = direction === "in" ? this.#in : this.#out;
    const types = doors.get(door) ?? newTypes(doors, door);
    const traffic = types.get(type) ?? newTraffic(types, door, direction, type);
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
  const name = types.size < typesMax ? type : otherTypes;
  const known = types.get(name);
  if (known !== undefined) return known;
  const traffic = { door, direction, type: name, messages: 0, bytes: 0 };
  types.set(name, traffic);
  return traffic;
}
