// Objects: what tasks are made of and what they leave. Each has owners, the clients that created it, and is there as long as
// it has one, or as long as a task or graph that was accepted needs it. All of it is in memory, so all of it is counted
// against one limit.

import { none } from "./frames.js";

/** [scaler 5.7] What an object costs beside its name and bytes. */
const objectOverheadBytes = 256;

export interface ObjectContent {
  readonly name: Buffer;
  readonly bytes: Buffer;
}

export class ScalerObject {
  readonly key: string;
  id: Buffer;
  /** Undefined while it is only needed, and not there yet. */
  content: ObjectContent | undefined = undefined;
  owners: readonly string[] = noOwners;
  /** Tasks and graphs that would miss it. */
  needs = 0;

  constructor(key: string, id: Buffer) {
    this.key = key;
    this.id = id;
  }

  /** Takes the content into memory of its own, with the id where both are small: there are a great many of those. */
  keep({ name, bytes }: ObjectContent): void {
    if (bytes.length > sharedBytesMax || name.length > sharedBytesMax) {
      this.id = kept(this.id);
      this.content = { name: kept(name), bytes: kept(bytes) };
      return;
    }
    const { id } = this;
    const nameEnd = id.length + name.length;
    const all = Buffer.allocUnsafeSlow(nameEnd + bytes.length);
    all.set(id);
    all.set(name, id.length);
    all.set(bytes, nameEnd);
    this.id = all.subarray(0, id.length);
    this.content = { name: all.subarray(id.length, nameEnd), bytes: all.subarray(nameEnd) };
  }

  get cost(): number {
    const { content } = this;
    if (content === undefined) return 0;
    return content.name.length + content.bytes.length + this.id.length + objectOverheadBytes;
  }
}

const noOwners: readonly string[] = [];

export interface ObjectsHost {
  /** It is there, or has other owners than before. `isNew`: its content is, too. */
  written(object: ScalerObject, isNew: boolean): void;
  /** Its content is about to be another. */
  replaced(object: ScalerObject): void;
  /** It is no more: nobody owns it, and nothing needs it. */
  gone(object: ScalerObject): void;
}

export type CreateOutcome = "stored" | "no_room" | "taken";

export class ScalerObjects {
  readonly #bytesMax: number;
  readonly #host: ObjectsHost;
  readonly #objects = new Map<string, ScalerObject>();
  readonly #byOwner = new Map<string, Set<ScalerObject>>();
  #bytes = 0;

  constructor(bytesMax: number, host: ObjectsHost) {
    this.#bytesMax = bytesMax;
    this.#host = host;
  }

  get size(): number {
    return this.#objects.size;
  }

  /** What counts against the limit. */
  get bytes(): number {
    return this.#bytes;
  }

  get(id: Buffer): ScalerObject | undefined {
    return this.#objects.get(keyOf(id));
  }

  /**
   * [scaler 5.1] Adds an owner. One that is an owner already may put other content in its place; anybody else can only
   * become an owner of what is there. `isOurs`: the door made it, and cannot do without it.
   */
  create(owner: string, id: Buffer, content: ObjectContent, isOurs = false): CreateOutcome {
    const key = keyOf(id);
    const object = this.#objects.get(key) ?? new ScalerObject(key, id);
    const before = object.content;
    const isOwner = object.owners.includes(owner);
    if (before !== undefined && !isOwner && object.owners.length > 0 && !isSame(before, content))
      return "taken";
    const isNew = before === undefined || !isSame(before, content);
    if (isNew) {
      const cost = content.name.length + content.bytes.length + object.id.length + objectOverheadBytes;
      if (!isOurs && this.#bytes - object.cost + cost > this.#bytesMax) return "no_room";
      if (before !== undefined) this.#host.replaced(object);
      this.#bytes += cost - object.cost;
      object.keep(content);
    } else if (isOwner) return "stored";
    this.#objects.set(object.key, object);
    if (!isOwner) this.#own(owner, object);
    this.#host.written(object, isNew);
    return "stored";
  }

  /** As it was before a restart. */
  restore(owners: readonly string[], id: Buffer, content: ObjectContent): void {
    const object = new ScalerObject(keyOf(id), id);
    object.content = content;
    this.#bytes += object.cost;
    this.#objects.set(object.key, object);
    for (const owner of owners) this.#own(owner, object);
  }

  disown(owner: string, id: Buffer): void {
    const object = this.get(id);
    if (object === undefined || !object.owners.includes(owner)) return;
    this.#byOwner.get(owner)?.delete(object);
    this.#removeOwner(owner, object);
  }

  /** All that an owner had. */
  disownAll(owner: string): void {
    const owned = this.#byOwner.get(owner);
    if (owned === undefined) return;
    this.#byOwner.delete(owner);
    for (const object of owned) this.#removeOwner(owner, object);
  }

  owners(): IterableIterator<string> {
    return this.#byOwner.keys();
  }

  /** Keeps it from being dropped, or its place free where it is not there yet; `release` undoes that. */
  need(id: Buffer): ScalerObject {
    const key = keyOf(id);
    let object = this.#objects.get(key);
    if (object === undefined) {
      object = new ScalerObject(key, kept(id));
      this.#objects.set(key, object);
    }
    object.needs += 1;
    return object;
  }

  release(object: ScalerObject): void {
    object.needs -= 1;
    this.#dropIfUnused(object);
  }

  /** What nobody owned and nothing needed when we were started again. */
  dropUnused(): void {
    for (const object of this.#objects.values()) this.#dropIfUnused(object);
  }

  #own(owner: string, object: ScalerObject): void {
    object.owners = [...object.owners, owner];
    const owned = this.#byOwner.get(owner);
    if (owned === undefined) this.#byOwner.set(owner, new Set([object]));
    else owned.add(object);
  }

  #removeOwner(owner: string, object: ScalerObject): void {
    object.owners = object.owners.filter((other) => other !== owner);
    if (this.#byOwner.get(owner)?.size === 0) this.#byOwner.delete(owner);
    if (object.owners.length > 0 || object.needs > 0) this.#host.written(object, false);
    this.#dropIfUnused(object);
  }

  #dropIfUnused(object: ScalerObject): void {
    if (object.owners.length > 0 || object.needs > 0) return;
    if (!this.#objects.delete(object.key)) return;
    this.#bytes -= object.cost;
    if (object.content !== undefined) this.#host.gone(object);
  }
}

export function keyOf(id: Buffer): string {
  return id.toString("latin1");
}

function isSame(one: ObjectContent, other: ObjectContent): boolean {
  return one.bytes.equals(other.bytes) && one.name.equals(other.name);
}

/** In memory of its own: a slice would keep the whole read it came in. */
function kept(bytes: Buffer): Buffer {
  if (bytes.length === 0) return none;
  if (bytes.length === bytes.buffer.byteLength) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

const sharedBytesMax = 4096;
