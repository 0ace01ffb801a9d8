// Watches that the store's files are still those that are open: after every commit, before it is
// acknowledged, and once a second while there are no commits. If its files were deleted, a
// dispatcher would acknowledge tasks that nothing keeps.

import { closeSync, openSync } from "node:fs";
import { FilePlace } from "./file-place.js";
import type { Journal } from "./journal.js";
import { StoreFault } from "./store-faults.js";

const lookMs = 1000;

export interface StoreWatchOptions {
  /** The path of the store's file. */
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

  /**
   * The fault if the store's file is gone. A missing journal alone may mean that another owner has
   * taken it.
   */
  get missingStore(): StoreFault | undefined {
    return this.#isStopped || this.#store.isInPlace ? undefined : goneFault(this.#store.path);
  }

  /** Throws StoreFault `gone`. Call it only if the journal was not taken over. */
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
