// Objects: what tasks are made of and what they leave. Each has owners, the clients that created it, and is there as long as
// it has one, or as long as a task or graph that was accepted needs it. All of it is in memory, so all of it is counted
// against one limit.

import { hashOf, type IdSecret, IdTable } from "./id-table.js";
import type { PackedFrames } from "./packed-frames.js";
import { type ObjectContent, Owner, Ownership, ScalerObject } from "./scaler-object.js";

export interface ObjectsHost {
  /** It is there, or has other owners than before. `isNew`: its content is, too. */
  written(object: ScalerObject, isNew: boolean): void;
  /** Its content is about to be another. */
  replaced(object: ScalerObject): void;
  /** It is no more: nobody owns it, and nothing needs it. */
  gone(object: ScalerObject): void;
}

/** [scaler 5.9] Places of objects that tasks name and nobody has created; beyond it tasks are refused. */
const placeBytesMax = 64 * 1024 * 1024;

export type CreateOutcome = "stored" | "no_room" | "taken";

export class ScalerObjects {
  readonly #bytesMax: number;
  readonly #secret: IdSecret;
  readonly #host: ObjectsHost;
  readonly #objects = new IdTable<ScalerObject>();
  readonly #owners = new Map<string, Owner>();
  #bytes = 0;
  /** Of places of objects that are needed and not there: they cost, too, and a task may name thousands. */
  #placeBytes = 0;

  constructor(bytesMax: number, secret: IdSecret, host: ObjectsHost) {
    this.#bytesMax = bytesMax;
    this.#secret = secret;
    this.#host = host;
  }

  get size(): number {
    return this.#objects.size;
  }

  /** What counts against the limit. */
  get bytes(): number {
    return this.#bytes;
  }

  /** False while too many objects are named that nobody has created. */
  get hasRoomForPlaces(): boolean {
    return this.#placeBytes < placeBytesMax;
  }

  get(id: Buffer): ScalerObject | undefined {
    return this.find(id, 0, id.length);
  }

  /** The object whose id is bytes from..to. */
  find(bytes: Uint8Array, from: number, to: number): ScalerObject | undefined {
    return this.#objects.get(hashOf(this.#secret, bytes, from, to), bytes, from, to);
  }

  /**
   * [scaler 5.1] Adds an owner. One that is an owner already may put other content in its place; anybody else can only
   * become an owner of what is there. `isOurs`: the door made it, and cannot do without it.
   */
  create(owner: string, id: Buffer, content: ObjectContent, isOurs = false): CreateOutcome {
    const known = this.get(id);
    const object = known ?? new ScalerObject(hashOf(this.#secret, id, 0, id.length), keyOf(id));
    const isOwner = object.ownershipOf(owner) !== undefined;
    const isNew = !object.isSame(content);
    if (isNew && object.isThere && !isOwner && object.ownership !== undefined) return "taken";
    if (isNew) {
      const cost = object.costWith(content.name.length + content.bytes.length);
      if (!isOurs && this.#bytes - object.cost + cost > this.#bytesMax) return "no_room";
      if (object.isThere) this.#host.replaced(object);
      else if (known !== undefined) this.#placeBytes -= object.costWith(0);
      this.#bytes += cost - object.cost;
      object.keep(content);
    } else if (isOwner) return "stored";
    if (known === undefined) this.#objects.add(object);
    if (!isOwner) this.#own(owner, object);
    this.#host.written(object, isNew);
    return "stored";
  }

  /** The same for the usual case, a small object that nobody has spoken of: undefined where it is not that. */
  createSmall(owner: string, frames: PackedFrames, first: number): ScalerObject | undefined {
    const from = frames.starts[first] as number;
    const to = frames.ends[first] as number;
    const hash = hashOf(this.#secret, frames.bytes, from, to);
    if (this.#objects.get(hash, frames.bytes, from, to) !== undefined) return undefined;
    const object = ScalerObject.small(hash, frames, first);
    if (this.#bytes + object.cost > this.#bytesMax) return undefined;
    this.#bytes += object.cost;
    this.#objects.add(object);
    this.#own(owner, object);
    this.#host.written(object, true);
    return object;
  }

  /** As it was before a restart. */
  restore(owners: readonly string[], id: Buffer, content: ObjectContent): ScalerObject {
    const object = new ScalerObject(hashOf(this.#secret, id, 0, id.length), keyOf(id));
    object.keep(content);
    this.#bytes += object.cost;
    this.#objects.add(object);
    for (const owner of owners) this.#own(owner, object);
    return object;
  }

  disown(owner: string, id: Buffer): void {
    this.disownObject(owner, this.get(id));
  }

  disownObject(owner: string, object: ScalerObject | undefined): void {
    const ownership = object?.ownershipOf(owner);
    if (ownership !== undefined) this.#endOwnership(ownership);
  }

  /** All that an owner had. */
  disownAll(key: string): void {
    const owner = this.#owners.get(key);
    while (owner?.first !== undefined) this.#endOwnership(owner.first);
  }

  /** What an owner has, the newest first. */
  *newestOf(key: string): Generator<ScalerObject> {
    for (let at = this.#owners.get(key)?.last; at !== undefined; at = at.previous) yield at.object;
  }

  owners(): IterableIterator<string> {
    return this.#owners.keys();
  }

  /** Keeps it from being dropped, or its place free where it is not there yet; `release` undoes that. */
  need(id: Buffer): ScalerObject {
    return this.needAt(id, 0, id.length);
  }

  /** The same, of the object whose id is bytes from..to. */
  needAt(bytes: Buffer, from: number, to: number): ScalerObject {
    const hash = hashOf(this.#secret, bytes, from, to);
    let object = this.#objects.get(hash, bytes, from, to);
    if (object === undefined) {
      object = new ScalerObject(hash, bytes.toString("latin1", from, to));
      this.#objects.add(object);
      this.#placeBytes += object.costWith(0);
    }
    object.needs += 1;
    return object;
  }

  release(object: ScalerObject): void {
    object.needs -= 1;
    this.dropIfUnused(object);
  }

  /** When nobody owns it and nothing needs it. */
  dropIfUnused(object: ScalerObject): void {
    if (object.ownership !== undefined || object.needs > 0) return;
    if (!this.#objects.delete(object)) return;
    object.made?.remove(object);
    this.#bytes -= object.cost;
    if (object.isThere) this.#host.gone(object);
    else this.#placeBytes -= object.costWith(0);
  }

  #own(key: string, object: ScalerObject): void {
    let owner = this.#owners.get(key);
    if (owner === undefined) {
      owner = new Owner(key);
      this.#owners.set(key, owner);
    }
    new Ownership(owner, object);
  }

  #endOwnership(ownership: Ownership): void {
    const { object, owner } = ownership;
    ownership.end();
    if (owner.first === undefined) this.#owners.delete(owner.key);
    if (object.ownership !== undefined || object.needs > 0) this.#host.written(object, false);
    this.dropIfUnused(object);
  }
}

export function keyOf(id: Buffer): string {
  return id.toString("latin1");
}
