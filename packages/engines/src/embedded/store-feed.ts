// Feeds committed batches to the store. They are durable in the journal already, so they go in
// groups: of all the changes to a task within a group, the store writes only the last. The store
// takes a group over when it has the next two, because those tell it which tasks are about to
// settle (look-ahead.ts).

import { Fifo } from "@yardmaster/core";
import type { EncodedBatch } from "../durable/batch-encoder.js";
import { Batch } from "../durable/batches.js";
import type { Tail } from "../durable/tail.js";
import type { StoreLink } from "./store-link.js";
import { type BatchGroup, groupBytes, type StoredBatch } from "./store-messages.js";

/**
 * Minimum and maximum time that a group gathers. A task costs the store less in a larger group, so
 * the next group gathers four times as long as the store worked on the last one.
 */
const gatherMsMin = 20;
const gatherMsMax = 100;
const workShare = 1 / 4;
const gatherBytesUsual = 1_048_576;
/**
 * With more unstored bytes than this, background work should wait. It is a quarter of one of the
 * journal's two files: when both are full, every commit waits for seconds until the store has one
 * of them.
 */
const backlogBytesMax = 2_097_152;

export interface StoreFeedOptions {
  readonly link: StoreLink;
  /** Holds every batch until the store has it. */
  readonly tail: Tail;
  /** Called when the store has the batches up to this one. */
  readonly onStored: (through: number) => void;
  readonly gatherBytes?: number | undefined;
}

/** Maximum number of buffers kept for reuse. */
const sparesMax = 4;

export class StoreFeed {
  readonly #link: StoreLink;
  readonly #tail: Tail;
  readonly #onStored: (through: number) => void;
  readonly #gatherBytes: number;
  #gathered: StoredBatch[] = [];
  #bytes = Buffer.from(new SharedArrayBuffer(groupBytes));
  #gatheredBytes = 0;
  #gatherMs = gatherMsMin;
  #timer: NodeJS.Timeout | undefined;
  /** True when the group has gathered long enough. */
  #isDue = false;
  /** Number of requests that the store has not answered. */
  #underWay = 0;
  /** True if the store was sent batches that it has not taken over. */
  #isAhead = false;
  #last = Promise.resolve();
  /** Batches that the store has not taken over. */
  readonly #backlog = new Fifo<StoredBatch>();
  #backlogBytes = 0;
  #waiting: (() => void)[] = [];
  /**
   * Groups that the store has not taken over. The tail reads from their memory, so it is not reused
   * yet.
   */
  readonly #groups = new Fifo<{ readonly bytes: Buffer<SharedArrayBuffer>; readonly last: number }>();
  readonly #spares: Buffer<SharedArrayBuffer>[] = [];
  /**
   * Why the store refused a group. Its batches are safe in the journal, but no more may be written
   * there.
   */
  fault: unknown;

  constructor({ link, tail, onStored, gatherBytes = gatherBytesUsual }: StoreFeedOptions) {
    this.#link = link;
    this.#tail = tail;
    this.#onStored = onStored;
    this.#gatherBytes = gatherBytes;
  }

  /** Copies the batch, whose buffer is reused by the next one. */
  add(number: number, { bytes, start, end, lastTask }: EncodedBatch): void {
    const at = this.#gatheredBytes;
    this.#gatheredBytes += end - start;
    this.#reserve(at);
    bytes.copy(this.#bytes, at, start, end);
    const batch = { number, start: at, end: this.#gatheredBytes };
    this.#gathered.push(batch);
    this.#tail.add(new Batch(number, { ...batch, bytes: this.#bytes }), lastTask);
    this.#backlog.push(batch);
    this.#backlogBytes += end - start;
    if (this.#gatheredBytes >= this.#gatherBytes) this.#sendWhenIdle();
    else if (!this.#isDue) this.#sendSoon();
  }

  /** Makes the store take over everything that was added. */
  send(): void {
    if (this.#gathered.length > 0 || this.#isAhead) this.#send(true);
  }

  #send(isAll: boolean): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isDue = false;
    const group = this.#takeGroup();
    this.#underWay += 1;
    this.#isAhead = !isAll && (this.#isAhead || group !== undefined);
    const sentAt = performance.now();
    this.#last = this.#link.ask({ op: "commit", group, isAll }).then(
      (answer) => {
        this.#underWay -= 1;
        const gatherMs = (performance.now() - sentAt) / workShare;
        this.#gatherMs = Math.min(gatherMsMax, Math.max(gatherMsMin, gatherMs));
        if (answer.type === "committed" && answer.through > 0) this.#stored(answer.through);
        if (this.#underWay > 0) return;
        if (this.#isDue) this.#sendWhenIdle();
        else if (this.#isAhead) this.#sendSoon();
      },
      (error: unknown) => {
        this.#underWay -= 1;
        this.fault ??= error;
        this.#wake();
      },
    );
  }

  /** Resolves when the store has everything that was added so far. Throws the store's fault. */
  async flush(): Promise<void> {
    this.send();
    await this.#last;
    if (this.fault !== undefined) throw this.fault;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#wake();
  }

  /** Resolves when the store is not far behind, or has failed. */
  async whenCaughtUp(): Promise<void> {
    if (this.#backlogBytes <= backlogBytesMax || this.fault !== undefined) return;
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #stored(through: number): void {
    for (let first = this.#backlog.first(); first && first.number <= through; first = this.#backlog.first()) {
      this.#backlogBytes -= first.end - first.start;
      this.#backlog.shift();
    }
    this.#tail.stored(through);
    for (let first = this.#groups.first(); first && first.last <= through; first = this.#groups.first()) {
      this.#groups.shift();
      if (first.bytes.length === groupBytes && this.#spares.length < sparesMax)
        this.#spares.push(first.bytes);
    }
    if (this.#backlogBytes <= backlogBytesMax) this.#wake();
    this.#onStored(through);
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #sendSoon(): void {
    this.#timer ??= setTimeout(() => this.#sendWhenIdle(), this.#gatherMs).unref();
  }

  /** Waits while the store works, so that a busy store gets larger groups. */
  #sendWhenIdle(): void {
    this.#isDue = true;
    // Without a new group, nothing more is known about what will settle, so everything is taken
    // over.
    if (this.#underWay === 0) this.#send(this.#gathered.length === 0);
  }

  /** The gathered group. The next one gathers in another buffer. */
  #takeGroup(): BatchGroup | undefined {
    const batches = this.#gathered;
    const last = batches.at(-1);
    if (last === undefined) return undefined;
    const bytes = this.#bytes;
    this.#groups.push({ bytes, last: last.number });
    this.#gathered = [];
    this.#gatheredBytes = 0;
    this.#bytes = this.#spares.pop() ?? Buffer.from(new SharedArrayBuffer(groupBytes));
    return { bytes: bytes.buffer, batches };
  }

  /** Grows the buffer to `#gatheredBytes`. `here`: how many bytes of it are in use. */
  #reserve(here: number): void {
    if (this.#gatheredBytes <= this.#bytes.length) return;
    const grown = Buffer.from(new SharedArrayBuffer(2 * this.#gatheredBytes));
    this.#bytes.copy(grown, 0, 0, here);
    this.#bytes = grown;
  }
}
