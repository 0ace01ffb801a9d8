// Whether an open file still lies where it was opened. A file that was deleted, moved or replaced goes on taking writes, and
// nobody finds them again.

import { fstatSync, readlinkSync, statSync } from "node:fs";

export class FilePlace {
  readonly path: string;
  readonly #descriptor: number;
  readonly #inode: number;
  /** What the system calls it, where that can be asked. */
  readonly #name: string | undefined;

  constructor(path: string, descriptor: number) {
    this.path = path;
    this.#descriptor = descriptor;
    this.#inode = fstatSync(descriptor).ino;
    this.#name = nameOf(descriptor);
  }

  /** About 2 µs. */
  get isKept(): boolean {
    // After a `stat` the next write gives a file a new time, which is one more block to be written.
    if (this.#name !== undefined) return nameOf(this.#descriptor) === this.#name;
    return statSync(this.path, { throwIfNoEntry: false })?.ino === this.#inode;
  }
}

/** Follows a file that is renamed or removed. Only Linux has this. */
function nameOf(descriptor: number): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return undefined;
  }
}
