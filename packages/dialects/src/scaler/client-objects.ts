// The objects that a client owns. Each is sent to the scheduler once and kept while anything needs
// it. Objects that are no longer needed are deleted in batches. After a lost connection all kept
// objects are sent again.

import type { Instant, Moment } from "@yardmaster/core";
import { contentId } from "./ids.js";
import type { ClientMessage } from "./messages.js";
import { keyOf } from "./objects.js";

interface OwnObject {
  readonly id: Buffer;
  readonly name: Buffer;
  readonly bytes: Buffer;
  /** Number of tasks and other holders. At 0 the object is deleted with the next batch. */
  holders: number;
}

/** Maximum number of objects in one message: the receiver limits frames and bytes. */
const batchObjectsMax = 256;
const batchBytesMax = 1024 * 1024;
/** How long a deletion may wait so that several leave in one message. */
const deleteAfterMs = 50;

export class ClientObjects {
  readonly #source: Buffer;
  readonly #send: (message: ClientMessage) => void;
  readonly #owned = new Map<string, OwnObject>();
  #untold: OwnObject[] = [];
  /** Objects to delete: our own without a holder, and results that were read. */
  readonly #unwanted = new Map<string, Buffer>();
  #deleteAt: Instant | undefined;

  constructor(source: Buffer, send: (message: ClientMessage) => void) {
    this.#source = source;
    this.#send = send;
  }

  get size(): number {
    return this.#owned.size;
  }

  /**
   * Returns the id of an object with these bytes. The object stays until `release` was called once
   * for every `hold`.
   */
  hold(name: string, bytes: Buffer, id: Buffer = contentId(this.#source, bytes)): Buffer {
    const key = keyOf(id);
    this.#unwanted.delete(key);
    const owned = this.#owned.get(key);
    if (owned !== undefined) owned.holders += 1;
    else {
      const added = { id, name: Buffer.from(name), bytes, holders: 1 };
      this.#owned.set(key, added);
      this.#untold.push(added);
    }
    return owned?.id ?? id;
  }

  /** Adds a holder to an object that is held already. */
  holdAgain(id: Buffer): void {
    const owned = this.#owned.get(keyOf(id));
    if (owned !== undefined) owned.holders += 1;
  }

  release(id: Buffer, now: Moment): void {
    const owned = this.#owned.get(keyOf(id));
    if (owned === undefined || owned.holders === 0) return;
    owned.holders -= 1;
    if (owned.holders === 0) this.discard(id, now);
  }

  /** Deletes the object soon, regardless of which client made it. */
  discard(id: Buffer, now: Moment): void {
    this.#unwanted.set(keyOf(id), id);
    this.#deleteAt ??= (now.instant + deleteAfterMs) as Instant;
  }

  /**
   * Sends the objects that the scheduler does not know yet. Call this before sending anything that
   * names them.
   */
  tell(): void {
    let batch: OwnObject[] = [];
    let size = 0;
    for (const one of this.#untold) {
      if (batch.length === batchObjectsMax || (batch.length > 0 && size + one.bytes.length > batchBytesMax)) {
        this.#create(batch);
        batch = [];
        size = 0;
      }
      batch.push(one);
      size += one.bytes.length;
    }
    if (batch.length > 0) this.#create(batch);
    this.#untold = [];
  }

  /**
   * Sends all objects again after a reconnect: the last messages of the old connection may be lost.
   */
  tellAll(): void {
    for (const [key, { holders }] of this.#owned) if (holders === 0) this.#owned.delete(key);
    this.#untold = [...this.#owned.values()];
    this.tell();
  }

  nextDeadline(): Instant | undefined {
    return this.#deleteAt;
  }

  handleTimeout(now: Moment): void {
    if (this.#deleteAt === undefined || now.instant < this.#deleteAt) return;
    this.#deleteAt = undefined;
    this.#untold = this.#untold.filter(({ holders }) => holders > 0);
    const ids = [...this.#unwanted.values()];
    this.#unwanted.clear();
    for (const id of ids) this.#owned.delete(keyOf(id));
    for (let at = 0; at < ids.length; at += batchObjectsMax) {
      const some = ids.slice(at, at + batchObjectsMax);
      this.#send({ type: "object-delete", source: this.#source, ids: some, hasSplitCounts: false });
    }
  }

  #create(batch: readonly OwnObject[]): void {
    this.#send({
      type: "object-create",
      source: this.#source,
      ids: batch.map(({ id }) => id),
      names: batch.map(({ name }) => name),
      bytes: batch.map(({ bytes }) => bytes),
      hasSplitCounts: false,
    });
  }
}
