// Tells whether an open file still has the name under which it was opened. A file that was deleted,
// moved or replaced still accepts writes, but they are lost.

import { fstatSync, readlinkSync, statSync } from "node:fs";

export class FilePlace {
  readonly path: string;
  readonly #descriptor: number;
  readonly #inode: number;
  /** Its name as the system reports it; undefined where it does not. */
  readonly #name: string | undefined;

  constructor(path: string, descriptor: number) {
    this.path = path;
    this.#descriptor = descriptor;
    this.#inode = fstatSync(descriptor).ino;
    this.#name = nameOf(descriptor);
  }

  /** Costs about 2 µs. */
  get isInPlace(): boolean {
    // Not with `stat`: after one, the next write updates the file's time, and the synced write
    // takes a sixth longer.
    if (this.#name !== undefined) return nameOf(this.#descriptor) === this.#name;
    return statSync(this.path, { throwIfNoEntry: false })?.ino === this.#inode;
  }
}

/** The present name of an open file. Only Linux reports it. */
function nameOf(descriptor: number): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return undefined;
  }
}
