// The objects that a client owns: each is told to the scheduler once, held for as long as anything needs it, and deleted in batches
// when nothing does. After a lost connection all of them are told again.

import type { Instant, Moment } from "@yardmaster/core";
import { contentId } from "./ids.js";
import type { ClientMessage } from "./messages.js";
import { keyOf } from "./objects.js";

interface OwnObject {
  readonly id: Buffer;
  readonly name: Buffer;
  readonly bytes: Buffer;
  /** How many tasks, and others, need it. At 0 it goes with the next batch. */
  holders: number;
}

/** Of one message: a receiver has limits on frames and on bytes. */
const batchObjectsMax = 256;
const batchBytesMax = 1024 * 1024;
/** A deletion may wait for others to go with it. */
const deleteAfterMs = 50;

export class ClientObjects {
  readonly #source: Buffer;
  readonly #send: (message: ClientMessage) => void;
  readonly #owned = new Map<string, OwnObject>();
  #untold: OwnObject[] = [];
  /** What is to be deleted: objects of ours that nobody holds, and results that were read. */
  readonly #unwanted = new Map<string, Buffer>();
  #deleteAt: Instant | undefined;

  constructor(source: Buffer, send: (message: ClientMessage) => void) {
    this.#source = source;
    this.#send = send;
  }

  get size(): number {
    return this.#owned.size;
  }

  /** The id of an object with these bytes, which is there until it has been released as often as it was held. */
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

  /** Once more, of one that is held already. */
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

  /** Deletes it before long, whoever made it. */
  discard(id: Buffer, now: Moment): void {
    this.#unwanted.set(keyOf(id), id);
    this.#deleteAt ??= (now.instant + deleteAfterMs) as Instant;
  }

  /** Tells what the scheduler does not know yet: before anything that names it. */
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

  /** The connection is new: what the last one carried may be lost. */
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
