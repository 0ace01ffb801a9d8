// One direction of a connection: items come out in order, once, after a delay, and are read in the
// reader's own time. A cut loses items in transit. Items that have arrived but were not read are
// lost too, if the caller says so.

import { Process, type World } from "./world.js";

export type Item<Reason> =
  | { readonly type: "came" }
  | { readonly type: "message"; readonly frames: Buffer[] }
  | { readonly type: "gone"; readonly reason: Reason };

export interface Reader<Reason> {
  /** The process that reads it. */
  readonly process: Process;
  take(item: Item<Reason>): void;
}

/** Wires do not die. */
const wire = new Process("wire");

export class Pipe<Reason> {
  readonly #world: World;
  readonly #reader: Reader<Reason>;
  readonly #delayMs: () => number;
  #underWay: Item<Reason>[] = [];
  #arrived: Item<Reason>[] = [];
  #lastArrivalAt = 0;
  /** Arrivals planned before the last cut deliver nothing. */
  #cuts = 0;
  #isHeld = false;
  #isEnded = false;

  constructor(world: World, reader: Reader<Reason>, delayMs: () => number) {
    this.#world = world;
    this.#reader = reader;
    this.#delayMs = delayMs;
  }

  /** Number of items not read yet. */
  get pending(): number {
    return this.#underWay.length + this.#arrived.length;
  }

  put(item: Item<Reason>): void {
    if (this.#isEnded) return;
    this.#send(item, this.#delayMs());
  }

  /** The last item, after everything that was put before. */
  end(reason: Reason): void {
    this.put({ type: "gone", reason });
    this.#isEnded = true;
  }

  /** Nothing more gets through; the reader notices after `ms`. */
  cut(reason: Reason, ms: number, losesArrived: boolean): void {
    if (this.#isEnded) return;
    this.#lose();
    if (losesArrived) this.#arrived = this.#arrived.filter(({ type }) => type === "came");
    this.#send({ type: "gone", reason }, ms);
    this.#isEnded = true;
  }

  /** The reader wants no more. */
  drop(): void {
    this.#lose();
    this.#arrived = [];
    this.#isEnded = true;
  }

  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    for (let count = this.#arrived.length; count > 0; count -= 1) this.#readSoon();
  }

  #lose(): void {
    this.#cuts += 1;
    this.#underWay = [];
    this.#lastArrivalAt = this.#world.time;
  }

  #send(item: Item<Reason>, ms: number): void {
    const cuts = this.#cuts;
    this.#underWay.push(item);
    // A stream: an item cannot overtake a delayed one.
    this.#lastArrivalAt = Math.max(this.#lastArrivalAt, this.#world.time + ms);
    this.#world.plan(wire, this.#lastArrivalAt - this.#world.time, () => {
      if (cuts !== this.#cuts) return;
      const arrived = this.#underWay.shift();
      if (arrived === undefined) return;
      this.#arrived.push(arrived);
      this.#readSoon();
    });
  }

  #readSoon(): void {
    this.#world.plan(this.#reader.process, 0, () => {
      if (this.#isHeld) return;
      const item = this.#arrived.shift();
      if (item !== undefined) this.#reader.take(item);
    });
  }
}
