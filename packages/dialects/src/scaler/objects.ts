// The objects that tasks take and leave. An object's owners are the clients that created it. It
// exists while it has an owner, or while an accepted task or graph needs it. All objects count
// against one limit, whether their bytes are in memory or in the engine.

import { WireFrames } from "../wire-frames.js";
import { hashOf, type IdSecret, IdTable } from "./id-table.js";
import type { StoredObject } from "./memos.js";
import { type ObjectContent, ObjectOwner, Ownership, ScalerObject } from "./scaler-object.js";

export interface ObjectsHost {
  /** The object was created or its owners changed. `isNew` is true if its content changed too. */
  written(object: ScalerObject, isNew: boolean): void;
  /** The object's content is about to be replaced. */
  replaced(object: ScalerObject): void;
  /** The object was deleted: it has no owner and nothing needs it. */
  gone(object: ScalerObject): void;
}

/**
 * [scaler 5.9] Memory for objects that tasks name but that were never created. Beyond it, tasks are
 * refused.
 */
const placeBytesMax = 64 * 1024 * 1024;

/** The object, or why it was not stored. */
export type CreateOutcome = ScalerObject | "no_room" | "taken";

export class ScalerObjects {
  readonly #bytesMax: number;
  readonly #secret: IdSecret;
  readonly #host: ObjectsHost;
  readonly #objects = new IdTable<ScalerObject>();
  readonly #owners = new Map<string, ObjectOwner>();
  #bytes = 0;
  /**
   * Memory of entries for needed objects that do not exist. They count too, because a task may name
   * thousands.
   */
  #placeBytes = 0;

  constructor(bytesMax: number, secret: IdSecret, host: ObjectsHost) {
    this.#bytesMax = bytesMax;
    this.#secret = secret;
    this.#host = host;
  }

  get size(): number {
    return this.#objects.size;
  }

  /** Bytes that count against the limit. */
  get bytes(): number {
    return this.#bytes;
  }

  /** False while tasks name too many objects that were never created. */
  get hasRoomForMissing(): boolean {
    return this.#placeBytes < placeBytesMax;
  }

  get(id: Buffer): ScalerObject | undefined {
    return this.find(id, 0, id.length);
  }

  /** The object whose id is the bytes from..to. */
  find(bytes: Uint8Array, from: number, to: number): ScalerObject | undefined {
    return this.#objects.get(hashOf(this.#secret, bytes, from, to), bytes, from, to);
  }

  /**
   * [scaler 5.1] Adds an owner of the object whose id, name and bytes are three frames. An existing
   * owner may replace the content; any other client only becomes an owner of the existing content.
   * `isOurs` is true for an object of the door, which is never refused.
   */
  create(
    owner: string,
    frames: WireFrames,
    idAt: number,
    nameAt: number,
    bytesAt: number,
    isOurs = false,
  ): CreateOutcome {
    const buffer = frames.bufferOf(idAt);
    const [from, to] = [frames.startOf(idAt), frames.endOf(idAt)];
    const hash = hashOf(this.#secret, buffer, from, to);
    const known = this.#objects.get(hash, buffer, from, to);
    const object = known ?? new ScalerObject(hash, "", to - from);
    const isOwner = known !== undefined && known.ownershipOf(owner) !== undefined;
    const isNew = known === undefined || !known.isSame(frames, nameAt, bytesAt);
    if (isNew && object.isThere && !isOwner && object.ownership !== undefined) return "taken";
    if (isNew) {
      const cost = object.costWith(frames.lengthOf(nameAt) + frames.lengthOf(bytesAt));
      if (!isOurs && this.#bytes - object.cost + cost > this.#bytesMax) return "no_room";
      if (object.isThere) this.#host.replaced(object);
      else if (known !== undefined) this.#placeBytes -= object.costWith(0);
      this.#bytes += cost - object.cost;
      object.keep(frames, idAt, nameAt, bytesAt);
    } else if (isOwner) return object;
    if (known === undefined) this.#objects.add(object);
    if (!isOwner) this.#own(owner, object);
    this.#host.written(object, isNew);
    return object;
  }

  /** [scaler 5.6] Creates an object of the door's own. */
  make(owner: string, id: Buffer, { name, bytes }: ObjectContent): void {
    this.create(owner, WireFrames.of([id, name, bytes]), 0, 1, 2, true);
  }

  /** Restores an object after a restart. */
  restore({ owners, id, name, content }: StoredObject): ScalerObject {
    const object = new ScalerObject(hashOf(this.#secret, id, 0, id.length), keyOf(id));
    if (Buffer.isBuffer(content)) object.keep(WireFrames.of([id, name, content]), 0, 1, 2);
    else object.keepStored(name, content);
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

  /** Removes everything that an owner has. */
  disownAll(key: string): void {
    const owner = this.#owners.get(key);
    while (owner?.first !== undefined) this.#endOwnership(owner.first);
  }

  /** The client is gone: its objects are no longer its own, and `disownSome` releases them. */
  detach(key: string): ObjectOwner | undefined {
    const owner = this.#owners.get(key);
    this.#owners.delete(key);
    owner?.detach();
    return owner;
  }

  /** Releases up to `max` objects of a detached owner. Returns true if it has more. */
  disownSome(owner: ObjectOwner, max: number): boolean {
    for (let left = max; left > 0 && owner.first !== undefined; left -= 1) this.#endOwnership(owner.first);
    return owner.first !== undefined;
  }

  /** The objects of an owner, newest first. */
  *newestOf(key: string): Generator<ScalerObject> {
    for (let at = this.#owners.get(key)?.last; at !== undefined; at = at.previous) yield at.object;
  }

  owners(): IterableIterator<string> {
    return this.#owners.keys();
  }

  /**
   * Keeps the object from being dropped, or reserves its entry if it does not exist yet. `release`
   * undoes this.
   */
  need(id: Buffer): ScalerObject {
    return this.needAt(id, 0, id.length);
  }

  /** The same for the object whose id is the bytes from..to. */
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

  /** Drops the object if it has no owner and nothing needs it. */
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
      owner = new ObjectOwner(key);
      this.#owners.set(key, owner);
    }
    new Ownership(owner, object);
  }

  #endOwnership(ownership: Ownership): void {
    const { object, owner } = ownership;
    ownership.end();
    if (owner.first === undefined && owner.key !== undefined) this.#owners.delete(owner.key);
    if (object.ownership !== undefined || object.needs > 0) this.#host.written(object, false);
    this.dropIfUnused(object);
  }
}

export function keyOf(id: Buffer): string {
  return id.toString("latin1");
}
