// Objects that a worker created and that no result has named yet, oldest first. Entries are linked
// through their own fields.

import type { ScalerObjects } from "./objects.js";
import { endAt, nextAt, type PackedResult } from "./packed-messages.js";
import type { ScalerObject } from "./scaler-object.js";

/** More than any worker creates ahead of its answers. */
const madeMax = 10_000;

export class MadeObjects {
  readonly #objects: ScalerObjects;
  #first: ScalerObject | undefined = undefined;
  #last: ScalerObject | undefined = undefined;
  #size = 0;

  constructor(objects: ScalerObjects) {
    this.#objects = objects;
  }

  /** If there are too many, the oldest is dropped. */
  add(object: ScalerObject, owner: string): void {
    object.made?.remove(object);
    object.made = this;
    object.madeFor = owner;
    object.previousMade = this.#last;
    if (this.#last === undefined) this.#first = object;
    else {
      this.#last.nextMade = object;
      // Workers name a result right after creating it. The bytes of an object that was not named
      // are read back if it is named later.
      this.#last.dropBytes();
    }
    this.#last = object;
    this.#size += 1;
    if (this.#size > madeMax && this.#first !== undefined) this.remove(this.#first);
  }

  /** The object must be in this list. */
  remove(object: ScalerObject): void {
    if (object.previousMade === undefined) this.#first = object.nextMade;
    else object.previousMade.nextMade = object.nextMade;
    if (object.nextMade === undefined) this.#last = object.previousMade;
    else object.nextMade.previousMade = object.previousMade;
    object.dropBytes();
    object.previousMade = undefined;
    object.nextMade = undefined;
    object.made = undefined;
    object.madeFor = undefined;
    this.#size -= 1;
  }

  /** Takes the object out, because a result named it. */
  name(object: ScalerObject | undefined): void {
    if (object?.made === this) this.remove(object);
  }

  nameAll({ bytes, resultAt }: PackedResult): void {
    if (this.#size === 0) return;
    for (let at = resultAt; at < bytes.length; at = nextAt(bytes, at))
      this.name(this.#objects.find(bytes, at, endAt(bytes, at)));
  }

  /** [scaler 5.8] Drops objects that were made for an attempt that no longer counts. */
  drop({ results }: PackedResult): void {
    for (const id of results) {
      const object = this.#objects.get(id);
      if (object?.made === this) this.#unmake(object);
    }
  }

  /** [scaler 5.8] The worker that made them is gone. */
  dropAll(): void {
    while (this.#first !== undefined) this.#unmake(this.#first);
  }

  #unmake(object: ScalerObject): void {
    const owner = object.madeFor;
    this.remove(object);
    if (owner !== undefined) this.#objects.disownObject(owner, object);
  }
}
