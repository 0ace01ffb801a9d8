// What a worker holds, by the id it is told and by the core's number.

import type { AttemptNumber, Body, TaskId } from "@yardmaster/core";
import { areBytes, type Identified, IdTable } from "./id-table.js";

export class Held implements Identified<Held> {
  readonly idHash: number;
  nextOfHash: Held | undefined = undefined;
  /** The next whose number falls into the same place. */
  nextOfNumber: Held | undefined = undefined;
  readonly task: TaskId;
  readonly attempt: AttemptNumber;
  /** Of a task that came in by another door. */
  readonly payload: Body | undefined;
  // Where its id lies.
  readonly #bytes: Buffer;
  readonly #from: number;
  readonly #to: number;
  isRecalled = false;
  isRevoked = false;
  /** [scaler 3.9] The worker has not been sent it: first it has to say that it does not hold it from before. */
  isDeferred = false;
  /** It is answered by what the worker held from before. */
  isOfBefore = false;

  constructor(
    task: TaskId,
    attempt: AttemptNumber,
    payload: Body | undefined,
    id: { readonly hash: number; readonly bytes: Buffer; readonly from: number; readonly to: number },
  ) {
    this.task = task;
    this.attempt = attempt;
    this.payload = payload;
    this.idHash = id.hash;
    this.#bytes = id.bytes;
    this.#from = id.from;
    this.#to = id.to;
  }

  hasId(bytes: Uint8Array, from: number, to: number): boolean {
    return to - from === this.#to - this.#from && areBytes(this.#bytes, this.#from, bytes, from, to);
  }

  get id(): Buffer {
    return this.#bytes.subarray(this.#from, this.#to);
  }
}

const placesMin = 8;

export class HeldTasks {
  readonly #byId = new IdTable<Held>();
  /** Linked through themselves, as those by id are. */
  #byNumber: (Held | undefined)[] = new Array(placesMin).fill(undefined);

  get size(): number {
    return this.#byId.size;
  }

  get(hash: number, bytes: Uint8Array, from: number, to: number): Held | undefined {
    return this.#byId.get(hash, bytes, from, to);
  }

  ofTask(task: TaskId): Held | undefined {
    let held = this.#byNumber[this.#placeOf(task)];
    while (held !== undefined && held.task !== task) held = held.nextOfNumber;
    return held;
  }

  /** One whose id and task are not here. */
  add(held: Held): void {
    if (this.size >= this.#byNumber.length) this.#grow();
    this.#byId.add(held);
    this.#link(held);
  }

  /** One that is here. */
  delete(held: Held): void {
    this.#byId.delete(held);
    const place = this.#placeOf(held.task);
    let before: Held | undefined;
    for (let at = this.#byNumber[place]; at !== held; at = at.nextOfNumber) {
      if (at === undefined) return;
      before = at;
    }
    if (before === undefined) this.#byNumber[place] = held.nextOfNumber;
    else before.nextOfNumber = held.nextOfNumber;
    held.nextOfNumber = undefined;
  }

  values(): Generator<Held> {
    return this.#byId.values();
  }

  clear(): void {
    this.#byId.clear();
    this.#byNumber = new Array(placesMin).fill(undefined);
  }

  // Numbers follow one another: any that are given out together fall into different places.
  #placeOf(task: TaskId): number {
    return task % this.#byNumber.length;
  }

  #link(held: Held): void {
    const place = this.#placeOf(held.task);
    held.nextOfNumber = this.#byNumber[place];
    this.#byNumber[place] = held;
  }

  #grow(): void {
    const old = this.#byNumber;
    this.#byNumber = new Array(old.length * 4).fill(undefined);
    for (const first of old) {
      for (let held = first; held !== undefined; ) {
        const next: Held | undefined = held.nextOfNumber;
        this.#link(held);
        held = next;
      }
    }
  }
}
