// Reads of memos on behalf of the scaler door: a few at a time, however many peers ask for large
// objects.

/** Enough to keep a disk busy. Each is a piece of an object, of at most 1 MiB. */
const readsMax = 4;

interface MemoRead {
  readonly name: string;
  readonly take: (bytes: Uint8Array | undefined) => void;
}

export class MemoReads {
  readonly #read: (name: string) => Promise<Uint8Array | undefined>;
  readonly #onFault: (error: unknown) => void;
  readonly #waiting: MemoRead[] = [];
  #reading = 0;

  constructor(read: (name: string) => Promise<Uint8Array | undefined>, onFault: (error: unknown) => void) {
    this.#read = read;
    this.#onFault = onFault;
  }

  /** `take` gets undefined where there is no such memo, or where it cannot be read. */
  read(name: string, take: MemoRead["take"]): void {
    this.#waiting.push({ name, take });
    this.#next();
  }

  #next(): void {
    while (this.#reading < readsMax) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#reading += 1;
      void this.#fill(next);
    }
  }

  async #fill({ name, take }: MemoRead): Promise<void> {
    let bytes: Uint8Array | undefined;
    try {
      bytes = await this.#read(name);
    } catch (error) {
      this.#onFault(error);
    }
    this.#reading -= 1;
    take(bytes);
    this.#next();
  }
}
