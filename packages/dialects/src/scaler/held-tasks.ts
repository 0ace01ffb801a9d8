// The tasks that a worker holds, by their wire id and by the core's task number.

import type { AttemptNumber, Body, TaskId } from "@yardmaster/core";
import { type Identified, IdTable } from "./id-table.js";
import { copyOfId, type IdBytes, isId } from "./packed-messages.js";

export class HeldAttempt implements Identified<HeldAttempt> {
  readonly idHash: number;
  nextOfHash: HeldAttempt | undefined = undefined;
  /** Next entry in the same hash slot of the table by number. */
  nextOfNumber: HeldAttempt | undefined = undefined;
  readonly task: TaskId;
  readonly attempt: AttemptNumber;
  /** Set only for a task that another door accepted. */
  readonly payload: Body | undefined;
  readonly #id: IdBytes;
  isRecalled = false;
  isRevoked = false;
  /**
   * [scaler 3.9] Not sent yet: the worker must first confirm that it does not still hold the task.
   */
  isDeferred = false;
  /** The worker's answer comes from a run that began before this attempt. */
  isOfBefore = false;

  constructor(task: TaskId, attempt: AttemptNumber, payload: Body | undefined, idHash: number, id: IdBytes) {
    this.task = task;
    this.attempt = attempt;
    this.payload = payload;
    this.idHash = idHash;
    this.#id = id;
  }

  hasId(bytes: Uint8Array, from: number, to: number): boolean {
    return isId(this.#id, bytes, from, to);
  }

  /** A copy. */
  get id(): Buffer {
    return copyOfId(this.#id);
  }
}

const placesMin = 8;

export class HeldTasks {
  readonly #byId = new IdTable<HeldAttempt>();
  /** Entries are linked through their own fields, as in the table by id. */
  #byNumber: (HeldAttempt | undefined)[] = new Array(placesMin).fill(undefined);

  get size(): number {
    return this.#byId.size;
  }

  get(hash: number, bytes: Uint8Array, from: number, to: number): HeldAttempt | undefined {
    return this.#byId.get(hash, bytes, from, to);
  }

  ofTask(task: TaskId): HeldAttempt | undefined {
    let held = this.#byNumber[this.#placeOf(task)];
    while (held !== undefined && held.task !== task) held = held.nextOfNumber;
    return held;
  }

  /** The id and the task must not be in the table. */
  add(held: HeldAttempt): void {
    if (this.size >= this.#byNumber.length) this.#grow();
    this.#byId.add(held);
    this.#link(held);
  }

  /** The entry must be in the table. */
  delete(held: HeldAttempt): void {
    this.#byId.delete(held);
    const place = this.#placeOf(held.task);
    let before: HeldAttempt | undefined;
    for (let at = this.#byNumber[place]; at !== held; at = at.nextOfNumber) {
      if (at === undefined) return;
      before = at;
    }
    if (before === undefined) this.#byNumber[place] = held.nextOfNumber;
    else before.nextOfNumber = held.nextOfNumber;
    held.nextOfNumber = undefined;
  }

  /** Iterates by number. The order by id depends on the secret and would differ from run to run. */
  *values(): Generator<HeldAttempt> {
    for (const first of this.#byNumber)
      for (let held = first; held !== undefined; held = held.nextOfNumber) yield held;
  }

  clear(): void {
    this.#byId.clear();
    this.#byNumber = new Array(placesMin).fill(undefined);
  }

  // Task numbers are consecutive, so tasks that are sent together fall into different slots.
  #placeOf(task: TaskId): number {
    return task % this.#byNumber.length;
  }

  #link(held: HeldAttempt): void {
    const place = this.#placeOf(held.task);
    held.nextOfNumber = this.#byNumber[place];
    this.#byNumber[place] = held;
  }

  #grow(): void {
    const old = this.#byNumber;
    this.#byNumber = new Array(old.length * 4).fill(undefined);
    for (const first of old) {
      for (let held = first; held !== undefined; ) {
        const next: HeldAttempt | undefined = held.nextOfNumber;
        this.#link(held);
        held = next;
      }
    }
  }
}
