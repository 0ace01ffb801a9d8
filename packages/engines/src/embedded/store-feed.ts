// Batches on their way from the journal to the store, where they are found and asked for. They are durable already, so
// they go many at a time: what a task went through in between is then written once.

import type { StoreLink } from "./store-link.js";
import type { StoredBatch } from "./store-messages.js";

/** How long a batch stays here for company, and how many bytes may gather. */
const gatherMs = 50;
const gatherBytes = 1_048_576;
/** Buffers are kept for use again, unless they grew beyond this or there are many. */
const spareBytesMax = 262_144;
const sparesMax = 64;

export class StoreFeed {
  readonly #link: StoreLink;
  readonly #onStored: (through: number) => void;
  #gathered: StoredBatch[] = [];
  #gatheredBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  /** It has gathered for long enough. */
  #isDue = false;
  /** Groups the store has not answered for. */
  #underWay = 0;
  #last = Promise.resolve();
  readonly #spares: ArrayBuffer[] = [];
  /** Why the store did not take what it was given. It is safe in the journal, but nothing more is to go there. */
  fault: unknown;

  constructor(link: StoreLink, onStored: (through: number) => void) {
    this.#link = link;
    this.#onStored = onStored;
  }

  add(batch: StoredBatch): void {
    this.#gathered.push(batch);
    this.#gatheredBytes += batch.length;
    if (this.#gatheredBytes >= gatherBytes) this.#sendWhenIdle();
    else if (!this.#isDue) this.#timer ??= setTimeout(() => this.#sendWhenIdle(), gatherMs).unref();
  }

  /** Sends what has gathered: what the store is asked after this is answered with it. */
  send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isDue = false;
    if (this.#gathered.length === 0) return;
    const batches = this.#gathered;
    this.#gathered = [];
    this.#gatheredBytes = 0;
    this.#underWay += 1;
    const buffers = batches.map(({ bytes }) => bytes);
    this.#last = this.#link.ask({ op: "commit", batches }, buffers).then(
      (answer) => {
        this.#underWay -= 1;
        this.#onStored(batches.at(-1)?.number ?? 0);
        if (answer.type === "committed") for (const bytes of answer.buffers) this.#keep(bytes);
        if (this.#isDue && this.#underWay === 0) this.send();
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

  /** While the store works, more gathers: the busier it is, the larger its groups. */
  #sendWhenIdle(): void {
    this.#isDue = true;
    if (this.#underWay === 0) this.send();
  }

  #keep(bytes: ArrayBuffer): void {
    if (bytes.byteLength <= spareBytesMax && this.#spares.length < sparesMax) this.#spares.push(bytes);
  }
}
