// One object and its owners. There may be millions of objects, most of them small. A small object
// is stored as one string, which costs only its bytes; a slice of a buffer would cost about a
// hundred bytes and keep the whole buffer alive. A large object is in the engine, and its bytes are
// in memory only while they are written or needed.

import { createHash } from "node:crypto";
import type { WireFrames } from "../wire-frames.js";
import { none } from "./frames.js";
import type { Identified } from "./id-table.js";
import type { MadeObjects } from "./made-objects.js";
import type { StoredPlace } from "./stored-bytes.js";

/** [scaler 5.7] Memory of an object in addition to its id, name and bytes. */
const objectOverheadBytes = 256;
/**
 * Maximum size of id, name and bytes together for an object that is kept as a string. A larger one
 * is cheaper to keep as a buffer, ready to be sent.
 */
const smallBytesMax = 1024;

export interface ObjectContent {
  readonly name: Buffer;
  readonly bytes: Buffer;
}

/** A client, or the door itself, with the objects that it owns, oldest first. */
export class ObjectOwner {
  /** Undefined once it is gone. It may come back, as another owner, before all is released. */
  key: string | undefined;
  first: Ownership | undefined = undefined;
  last: Ownership | undefined = undefined;

  constructor(key: string) {
    this.key = key;
  }

  detach(): void {
    this.key = undefined;
  }
}

/** Links one owner to one object. It is an element of the owner's list and of the object's list. */
export class Ownership {
  readonly owner: ObjectOwner;
  readonly object: ScalerObject;
  previous: Ownership | undefined;
  next: Ownership | undefined = undefined;
  /** Next ownership of the same object. */
  other: Ownership | undefined;

  constructor(owner: ObjectOwner, object: ScalerObject) {
    this.owner = owner;
    this.object = object;
    this.previous = owner.last;
    if (owner.last === undefined) owner.first = this;
    else owner.last.next = this;
    owner.last = this;
    this.other = object.ownership;
    object.ownership = this;
  }

  /** Removes it from both lists. */
  end(): void {
    if (this.previous === undefined) this.owner.first = this.next;
    else this.previous.next = this.next;
    if (this.next === undefined) this.owner.last = this.previous;
    else this.next.previous = this.previous;
    const { object } = this;
    if (object.ownership === this) object.ownership = this.other;
    else
      for (let each = object.ownership; each !== undefined; each = each.other)
        if (each.other === this) each.other = this.other;
  }
}

export class ScalerObject implements Identified<ScalerObject> {
  readonly idHash: number;
  nextOfHash: ScalerObject | undefined = undefined;
  /**
   * The id, followed by name and bytes if the object exists and is small. One character per byte.
   */
  #text: string;
  readonly #idLength: number;
  #nameLength = 0;
  /** Set only for an object that is not small. */
  #name: Buffer | undefined = undefined;
  /** Set only for an object that is not small, while its bytes are in memory. */
  #bytes: Buffer | undefined = undefined;
  /** Where the bytes are in the engine; undefined while they are only in memory. */
  place: StoredPlace | undefined = undefined;
  /** False while tasks need the object but it was not created yet. */
  isThere = false;
  ownership: Ownership | undefined = undefined;
  /** Number of tasks and graphs that need it. */
  needs = 0;
  /**
   * The list of unnamed results that contains it, and the owner; undefined once a result has named
   * it.
   */
  made: MadeObjects | undefined = undefined;
  madeFor: string | undefined = undefined;
  previousMade: ScalerObject | undefined = undefined;
  nextMade: ScalerObject | undefined = undefined;

  constructor(idHash: number, text: string, idLength = text.length) {
    this.idHash = idHash;
    this.#idLength = idLength;
    this.#text = text;
  }

  hasId(bytes: Uint8Array, from: number, to: number): boolean {
    if (to - from !== this.#idLength) return false;
    const text = this.#text;
    for (let i = from; i < to; i++) if (text.charCodeAt(i - from) !== bytes[i]) return false;
    return true;
  }

  /** The id as text, one character per byte. */
  get idText(): string {
    return this.#text.length === this.#idLength ? this.#text : this.#text.slice(0, this.#idLength);
  }

  get id(): Buffer {
    return Buffer.from(this.idText, "latin1");
  }

  /** Empty while the object does not exist. */
  get name(): Buffer {
    if (this.#name !== undefined) return this.#name;
    return Buffer.from(this.#text.slice(this.#idLength, this.#idLength + this.#nameLength), "latin1");
  }

  /**
   * The object's bytes. Undefined while it does not exist, and while the bytes are only in the
   * engine.
   */
  get bytes(): Buffer | undefined {
    if (!this.isThere || this.#name !== undefined) return this.#bytes;
    return Buffer.from(this.#text.slice(this.#idLength + this.#nameLength), "latin1");
  }

  /** Size of its bytes, in memory or in the engine. */
  get size(): number {
    if (this.#name !== undefined) return this.place?.size ?? this.#bytes?.length ?? 0;
    return this.#text.length - this.#idLength - this.#nameLength;
  }

  /** True if its bytes must be read from the engine before use. */
  get isOutOfLine(): boolean {
    return this.place !== undefined && this.#bytes === undefined;
  }

  /** The engine now has all its bytes. */
  store(place: StoredPlace): void {
    this.place = place;
  }

  /** Frees the bytes of an object that the engine has. */
  dropBytes(): void {
    if (this.place !== undefined) this.#bytes = undefined;
  }

  /** Puts the bytes back into memory for a while. */
  lendBytes(bytes: Buffer): void {
    if (this.isOutOfLine) this.#bytes = bytes;
  }

  /** Bytes that count against the limit. */
  get cost(): number {
    return this.isThere ? this.costWith(this.#nameLength + this.size) : 0;
  }

  costWith(contentBytes: number): number {
    return this.#idLength + contentBytes + objectOverheadBytes;
  }

  /** True if its name and bytes are these two frames. */
  isSame(frames: WireFrames, nameAt: number, bytesAt: number): boolean {
    if (!this.isThere || this.size !== frames.lengthOf(bytesAt) || !frames.is(nameAt, this.name))
      return false;
    const own = this.bytes;
    if (own !== undefined) return frames.is(bytesAt, own);
    const digest = createHash("sha256").update(frames.slice(bytesAt)).digest();
    return this.place?.digest.equals(digest) === true;
  }

  /** Copies its id, name and bytes, which are three frames, into memory of its own. */
  keep(frames: WireFrames, idAt: number, nameAt: number, bytesAt: number): void {
    const nameLength = frames.lengthOf(nameAt);
    this.isThere = true;
    this.#nameLength = nameLength;
    this.#name = undefined;
    this.#bytes = undefined;
    this.place = undefined;
    if (this.#idLength + nameLength + frames.lengthOf(bytesAt) <= smallBytesMax) {
      let end = frames.copyTo(scratch, 0, idAt);
      end = frames.copyTo(scratch, end, nameAt);
      end = frames.copyTo(scratch, end, bytesAt);
      this.#text = scratch.toString("latin1", 0, end);
    } else {
      this.#text = textOf(frames, idAt);
      this.#name = kept(frames.slice(nameAt));
      this.#bytes = kept(frames.slice(bytesAt));
    }
  }

  /** The same for content that the engine has. */
  keepStored(name: Buffer, place: StoredPlace): void {
    this.isThere = true;
    this.#nameLength = name.length;
    this.#name = kept(name);
    this.place = place;
  }

  *owners(): Generator<string> {
    for (let each = this.ownership; each !== undefined; each = each.other)
      if (each.owner.key !== undefined) yield each.owner.key;
  }

  ownershipOf(key: string): Ownership | undefined {
    let each = this.ownership;
    while (each !== undefined && each.owner.key !== key) each = each.other;
    return each;
  }
}

function textOf(frames: WireFrames, frame: number): string {
  return frames.bufferOf(frame).toString("latin1", frames.startOf(frame), frames.endOf(frame));
}

const scratch = Buffer.allocUnsafeSlow(2 * smallBytesMax);

/** A copy: a slice would keep the whole read buffer alive. */
function kept(bytes: Buffer): Buffer {
  if (bytes.length === 0) return none;
  if (bytes.length === bytes.buffer.byteLength) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}
