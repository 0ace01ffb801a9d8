// One direction of a connection: what is put in comes out in order, once, after a while, and is read in the reader's own
// time. A cut loses what is under way; what has arrived but was not read yet is lost with it or not, as the caller says.

import { Process, type World } from "./world.js";

export type Item<Reason> =
  | { readonly type: "came" }
  | { readonly type: "message"; readonly frames: Buffer[] }
  | { readonly type: "gone"; readonly reason: Reason };

export interface Reader<Reason> {
  /** Whose time it is read in. */
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
  /** Arrivals planned before the last cut bring nothing. */
  #cuts = 0;
  #isHeld = false;
  #isEnded = false;

  constructor(world: World, reader: Reader<Reason>, delayMs: () => number) {
    this.#world = world;
    this.#reader = reader;
    this.#delayMs = delayMs;
  }

  /** What was put and not read yet. */
  get pending(): number {
    return this.#underWay.length + this.#arrived.length;
  }

  put(item: Item<Reason>): void {
    if (this.#isEnded) return;
    this.#send(item, this.#delayMs());
  }

  /** The last thing to come out, behind everything that was put before. */
  end(reason: Reason): void {
    this.put({ type: "gone", reason });
    this.#isEnded = true;
  }

  /** Nothing more gets through; the reader hears of it after so long. */
  cut(reason: Reason, ms: number, losesArrived: boolean): void {
    if (this.#isEnded) return;
    this.#lose();
    if (losesArrived) this.#arrived = this.#arrived.filter(({ type }) => type === "came");
    this.#send({ type: "gone", reason }, ms);
    this.#isEnded = true;
  }

  /** The reader wants no more of it. */
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
    // A stream: what comes later cannot overtake what is late.
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
