// Batches on their way from the journal to the store, where they are found and asked for. They are durable already, so
// they go many at a time: what a task went through in between is then written once. And they go ahead of time: the store
// takes over a group when it has those after it, which tell it what is about to settle.

import type { StoreLink } from "./store-link.js";
import type { Answer, StoredBatch } from "./store-messages.js";

/**
 * How long a batch stays here for company, and how many bytes may gather. A task costs the store less in a larger group: so
 * the store is to work for a quarter of the time, and where that is not enough, groups grow until it is, or to the most.
 */
const gatherMsMin = 20;
const gatherMsMax = 100;
const workShare = 1 / 4;
const gatherBytesUsual = 1_048_576;
/** Buffers are kept for use again, unless they grew beyond this or there are many. */
const spareBytesMax = 262_144;
const sparesMax = 128;

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
  readonly #spares: ArrayBuffer[] = [];
  /** Why the store did not take what it was given. It is safe in the journal, but nothing more is to go there. */
  fault: unknown;

  constructor({ link, onStored, gatherBytes = gatherBytesUsual }: StoreFeedOptions) {
    this.#link = link;
    this.#onStored = onStored;
    this.#gatherBytes = gatherBytes;
  }

  add(batch: StoredBatch): void {
    this.#gathered.push(batch);
    this.#gatheredBytes += batch.length;
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
    const batches = this.#gathered;
    this.#gathered = [];
    this.#gatheredBytes = 0;
    this.#underWay += 1;
    this.#isAhead = !isAll && (this.#isAhead || batches.length > 0);
    const buffers = batches.map(({ bytes }) => bytes);
    const sentAt = performance.now();
    this.#last = this.#link.ask({ op: "commit", batches, isAll }, buffers).then(
      (answer) => {
        this.#underWay -= 1;
        const gatherMs = (performance.now() - sentAt) / workShare;
        this.#gatherMs = Math.min(gatherMsMax, Math.max(gatherMsMin, gatherMs));
        if (answer.type === "committed") this.#take(answer);
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

  /** A buffer for the next batch, if there is one to use again. */
  takeSpare(): ArrayBuffer | undefined {
    return this.#spares.pop();
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

  #take({ through, buffers }: Extract<Answer, { type: "committed" }>): void {
    if (through > 0) this.#onStored(through);
    for (const bytes of buffers) this.#keep(bytes);
  }

  #keep(bytes: ArrayBuffer): void {
    if (bytes.byteLength <= spareBytesMax && this.#spares.length < sparesMax) this.#spares.push(bytes);
  }
}
