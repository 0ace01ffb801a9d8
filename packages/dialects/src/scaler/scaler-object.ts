// One object, and who owns it. There may be millions, most of them small: a small one is one string, which costs its bytes
// and nothing more, and no slice of a buffer, which would cost a hundred bytes and keep the buffer.

import { none } from "./frames.js";
import type { Identified } from "./id-table.js";
import type { MadeObjects } from "./made-objects.js";
import type { PackedFrames } from "./packed-frames.js";

/** [scaler 5.7] What an object costs beside its id, name and bytes. */
const objectOverheadBytes = 256;
/** Id, name and bytes of an object that is kept as a string: larger ones are cheaper to keep as they are handed out. */
const smallBytesMax = 1024;

export interface ObjectContent {
  readonly name: Buffer;
  readonly bytes: Buffer;
}

/** A client, or the door itself, and what it owns, oldest first. */
export class Owner {
  readonly key: string;
  first: Ownership | undefined = undefined;
  last: Ownership | undefined = undefined;

  constructor(key: string) {
    this.key = key;
  }
}

/** That somebody owns an object: one of both the owner's and the object's list. */
export class Ownership {
  readonly owner: Owner;
  readonly object: ScalerObject;
  previous: Ownership | undefined;
  next: Ownership | undefined = undefined;
  /** The same object's next. */
  other: Ownership | undefined;

  constructor(owner: Owner, object: ScalerObject) {
    this.owner = owner;
    this.object = object;
    this.previous = owner.last;
    if (owner.last === undefined) owner.first = this;
    else owner.last.next = this;
    owner.last = this;
    this.other = object.ownership;
    object.ownership = this;
  }

  /** Takes it out of both lists. */
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
  /** Its id, and behind it, of a small one that is there, its name and bytes: a character for each byte. */
  #text: string;
  readonly #idLength: number;
  #nameLength = 0;
  /** Of one that is not small. */
  #content: ObjectContent | undefined = undefined;
  /** False while it is only needed, and not there yet. */
  isThere = false;
  ownership: Ownership | undefined = undefined;
  /** Tasks and graphs that would miss it. */
  needs = 0;
  /** While it has not been named by a result: among whose, and for which owner. */
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

  /** A character for each byte of its id. */
  get idText(): string {
    return this.#text.length === this.#idLength ? this.#text : this.#text.slice(0, this.#idLength);
  }

  get id(): Buffer {
    return Buffer.from(this.idText, "latin1");
  }

  get content(): ObjectContent | undefined {
    if (!this.isThere || this.#content !== undefined) return this.#content;
    const all = Buffer.from(this.#text.slice(this.#idLength), "latin1");
    return { name: all.subarray(0, this.#nameLength), bytes: all.subarray(this.#nameLength) };
  }

  /** The bytes of its content; undefined while it is not there. */
  get bytes(): Buffer | undefined {
    if (!this.isThere || this.#content !== undefined) return this.#content?.bytes;
    return Buffer.from(this.#text.slice(this.#idLength + this.#nameLength), "latin1");
  }

  /** What counts against the limit of bytes. */
  get cost(): number {
    if (!this.isThere) return 0;
    const { name, bytes } = this.#content ?? { name: none, bytes: none };
    return this.#text.length + name.length + bytes.length + objectOverheadBytes;
  }

  costWith(contentBytes: number): number {
    return this.#idLength + contentBytes + objectOverheadBytes;
  }

  isSame({ name, bytes }: ObjectContent): boolean {
    const { content } = this;
    return content?.bytes.equals(bytes) === true && content.name.equals(name);
  }

  /** Takes content into memory of its own. */
  keep({ name, bytes }: ObjectContent): void {
    const id = this.idText;
    this.isThere = true;
    this.#nameLength = name.length;
    this.#content = undefined;
    if (id.length + name.length + bytes.length <= smallBytesMax) {
      scratch.write(id, "latin1");
      scratch.set(name, id.length);
      scratch.set(bytes, id.length + name.length);
      this.#text = scratch.toString("latin1", 0, id.length + name.length + bytes.length);
    } else {
      this.#text = id;
      this.#content = { name: kept(name), bytes: kept(bytes) };
    }
  }

  /** One that is there: its id, name and bytes are three frames of a message, from `first` on. */
  static small(idHash: number, frames: PackedFrames, first: number): ScalerObject {
    let at = 0;
    for (let frame = first; frame < first + 3; frame++) {
      const end = frames.ends[frame] as number;
      for (let i = frames.starts[frame] as number; i < end; i++) scratch[at++] = frames.bytes[i] as number;
    }
    const idLength = frames.lengthOf(first);
    const object = new ScalerObject(idHash, scratch.toString("latin1", 0, at), idLength);
    object.#nameLength = frames.lengthOf(first + 1);
    object.isThere = true;
    return object;
  }

  *owners(): Generator<string> {
    for (let each = this.ownership; each !== undefined; each = each.other) yield each.owner.key;
  }

  ownershipOf(key: string): Ownership | undefined {
    let each = this.ownership;
    while (each !== undefined && each.owner.key !== key) each = each.other;
    return each;
  }
}

const scratch = Buffer.allocUnsafeSlow(2 * smallBytesMax);

/** In memory of its own: a slice would keep the whole read it came in. */
function kept(bytes: Buffer): Buffer {
  if (bytes.length === 0) return none;
  if (bytes.length === bytes.buffer.byteLength) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}
