// Batches on their way from the journal to the store, where they are found and asked for. They are durable already, so
// they go many at a time: what a task went through in between is then written once. And they go ahead of time: the store
// takes over a group when it has those after it, which tell it what is about to settle.

import type { StoreLink } from "./store-link.js";
import { type BatchGroup, groupBytes, type StoredBatch } from "./store-messages.js";

/**
 * How long a batch stays here for company, and how many bytes may gather. A task costs the store less in a larger group: so
 * the store is to work for a quarter of the time, and where that is not enough, groups grow until it is, or to the most.
 */
const gatherMsMin = 20;
const gatherMsMax = 100;
const workShare = 1 / 4;
const gatherBytesUsual = 1_048_576;

export interface StoreFeedOptions {
  readonly link: StoreLink;
  /** The store has the batches up to this one. */
  readonly onStored: (through: number) => void;
  readonly gatherBytes?: number | undefined;
}

export class StoreFeed {
  readonly #link: StoreLink;
  readonly #onStored: (through: number) => void;
  readonly #gatherBytes: number;
  #gathered: StoredBatch[] = [];
  #bytes = Buffer.from(new SharedArrayBuffer(groupBytes));
  #gatheredBytes = 0;
  #gatherMs = gatherMsMin;
  #timer: NodeJS.Timeout | undefined;
  /** It has gathered for long enough. */
  #isDue = false;
  /** Groups the store has not answered for. */
  #underWay = 0;
  /** The store was given batches that it has not taken over. */
  #isAhead = false;
  #last = Promise.resolve();
  #spare: Buffer<SharedArrayBuffer> | undefined;
  /** Why the store did not take what it was given. It is safe in the journal, but nothing more is to go there. */
  fault: unknown;

  constructor({ link, onStored, gatherBytes = gatherBytesUsual }: StoreFeedOptions) {
    this.#link = link;
    this.#onStored = onStored;
    this.#gatherBytes = gatherBytes;
  }

  /** The batch lies in these bytes from `start` up to `end`, and is copied out of them. */
  add(number: number, bytes: Buffer, start: number, end: number): void {
    const at = this.#gatheredBytes;
    this.#gatheredBytes += end - start;
    this.#reserve(at);
    bytes.copy(this.#bytes, at, start, end);
    this.#gathered.push({ number, start: at, end: this.#gatheredBytes });
    if (this.#gatheredBytes >= this.#gatherBytes) this.#sendWhenIdle();
    else if (!this.#isDue) this.#sendSoon();
  }

  /** Has everything taken over: what the store is asked after this is answered with it. */
  send(): void {
    if (this.#gathered.length > 0 || this.#isAhead) this.#send(true);
  }

  #send(isAll: boolean): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isDue = false;
    const bytes = this.#bytes;
    const group = this.#takeGroup();
    this.#underWay += 1;
    this.#isAhead = !isAll && (this.#isAhead || group !== undefined);
    const sentAt = performance.now();
    this.#last = this.#link.ask({ op: "commit", group, isAll }).then(
      (answer) => {
        this.#underWay -= 1;
        const gatherMs = (performance.now() - sentAt) / workShare;
        this.#gatherMs = Math.min(gatherMsMax, Math.max(gatherMsMin, gatherMs));
        if (group !== undefined && bytes.length === groupBytes) this.#spare = bytes;
        if (answer.type === "committed" && answer.through > 0) this.#onStored(answer.through);
        if (this.#underWay > 0) return;
        if (this.#isDue) this.#sendWhenIdle();
        else if (this.#isAhead) this.#sendSoon();
      },
      (error: unknown) => {
        this.#underWay -= 1;
        this.fault ??= error;
      },
    );
  }

  /** Resolves when the store has all that was added so far; throws what it found instead. */
  async flush(): Promise<void> {
    this.send();
    await this.#last;
    if (this.fault !== undefined) throw this.fault;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #sendSoon(): void {
    this.#timer ??= setTimeout(() => this.#sendWhenIdle(), this.#gatherMs).unref();
  }

  /** While the store works, more gathers: the busier it is, the larger its groups. */
  #sendWhenIdle(): void {
    this.#isDue = true;
    // With nothing new there is nothing to look ahead to.
    if (this.#underWay === 0) this.#send(this.#gathered.length === 0);
  }

  /** What has gathered; the next gathers elsewhere. */
  #takeGroup(): BatchGroup | undefined {
    const batches = this.#gathered;
    if (batches.length === 0) return undefined;
    const bytes = this.#bytes.buffer;
    this.#gathered = [];
    this.#gatheredBytes = 0;
    this.#bytes = this.#spare ?? Buffer.from(new SharedArrayBuffer(groupBytes));
    this.#spare = undefined;
    return { bytes, batches };
  }

  /** Makes room for all that gathers, of which so much is here. */
  #reserve(here: number): void {
    if (this.#gatheredBytes <= this.#bytes.length) return;
    const grown = Buffer.from(new SharedArrayBuffer(2 * this.#gatheredBytes));
    this.#bytes.copy(grown, 0, 0, here);
    this.#bytes = grown;
  }
}
