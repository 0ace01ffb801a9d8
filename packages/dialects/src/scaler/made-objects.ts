// Objects that a worker made and no result has named yet, oldest first: linked through themselves.

import type { ScalerObjects } from "./objects.js";
import type { ScalerObject } from "./scaler-object.js";

/** More than any worker makes ahead of its answers. */
const madeMax = 10_000;

export class MadeObjects {
  readonly #objects: ScalerObjects;
  #first: ScalerObject | undefined = undefined;
  #last: ScalerObject | undefined = undefined;
  #size = 0;

  constructor(objects: ScalerObjects) {
    this.#objects = objects;
  }

  /** The oldest is forgotten where there are too many. */
  add(object: ScalerObject, owner: string): void {
    object.made?.remove(object);
    object.made = this;
    object.madeFor = owner;
    object.previousMade = this.#last;
    if (this.#last === undefined) this.#first = object;
    else this.#last.nextMade = object;
    this.#last = object;
    this.#size += 1;
    if (this.#size > madeMax && this.#first !== undefined) this.remove(this.#first);
  }

  /** Only of one that is here. */
  remove(object: ScalerObject): void {
    if (object.previousMade === undefined) this.#first = object.nextMade;
    else object.previousMade.nextMade = object.nextMade;
    if (object.nextMade === undefined) this.#last = object.previousMade;
    else object.nextMade.previousMade = object.previousMade;
    object.previousMade = undefined;
    object.nextMade = undefined;
    object.made = undefined;
    object.madeFor = undefined;
    this.#size -= 1;
  }

  /** A result has named it. */
  name(object: ScalerObject | undefined): void {
    if (object?.made === this) this.remove(object);
  }

  nameAll(ids: readonly Buffer[]): void {
    if (this.#size > 0) for (const id of ids) this.name(this.#objects.get(id));
  }

  /** [scaler 5.8] It was made for an attempt that no longer counts. */
  drop(ids: readonly Buffer[]): void {
    for (const id of ids) {
      const object = this.#objects.get(id);
      if (object?.made === this) this.#unmake(object);
    }
  }

  /** [scaler 5.8] Whoever made them is gone. */
  dropAll(): void {
    while (this.#first !== undefined) this.#unmake(this.#first);
  }

  #unmake(object: ScalerObject): void {
    const owner = object.madeFor;
    this.remove(object);
    if (owner !== undefined) this.#objects.disownObject(owner, object);
  }
}
