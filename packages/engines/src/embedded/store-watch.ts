// Watches that the files of a store are still those that are worked on: after every commit, before anybody is told of it, and
// once a second while nothing is committed. A dispatcher whose files were deleted would go on acknowledging into nothing.

import { closeSync, openSync } from "node:fs";
import { FilePlace } from "./file-place.js";
import type { Journal } from "./journal.js";
import { StoreFault } from "./store-faults.js";

const lookMs = 1000;

export interface StoreWatchOptions {
  /** Of the store's file. */
  readonly path: string;
  readonly journal: Journal;
  readonly onGone: (fault: StoreFault) => void;
}

export class StoreWatch {
  readonly #descriptor: number;
  readonly #store: FilePlace;
  readonly #journal: Journal;
  readonly #timer: NodeJS.Timeout;
  #isStopped = false;

  constructor({ path, journal, onGone }: StoreWatchOptions) {
    this.#descriptor = openSync(path, "r");
    this.#store = new FilePlace(path, this.#descriptor);
    this.#journal = journal;
    this.#timer = setInterval(() => {
      const gone = this.missingStore;
      if (gone === undefined) return;
      this.stop();
      onGone(gone);
    }, lookMs).unref();
  }

  /** What is wrong where the store's own file is gone. A journal alone may be another owner's by now. */
  get missingStore(): StoreFault | undefined {
    return this.#isStopped || this.#store.isKept ? undefined : goneFault(this.#store.path);
  }

  /** Throws StoreFault `gone`. Only for somebody who knows that the journal was not taken over. */
  check(): void {
    const gone = this.missingStore;
    if (gone !== undefined) throw gone;
    if (!this.#isStopped && !this.#journal.isOurs) throw goneFault(this.#journal.path);
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    clearInterval(this.#timer);
    closeSync(this.#descriptor);
  }
}

function goneFault(path: string): StoreFault {
  return new StoreFault(
    "gone",
    `The file ${path} was deleted, moved or replaced while it was in use: nothing more can be kept`,
  );
}
