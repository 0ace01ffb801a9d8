// The journal's files, as the journal uses them. The simulator has its own, which lose and tear
// what was not synced.

import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  write,
} from "node:fs";
import { FilePlace } from "./file-place.js";
import { privateFileMode } from "./private-modes.js";
import { StoreFault } from "./store-faults.js";
import { syncPath } from "./sync-path.js";

/** One file that is open for writing. */
export interface JournalWriter {
  /** Resolves when the bytes are durable. */
  write(bytes: Buffer, length: number, position: number): Promise<void>;
  /** The size that the file was given, so that a shorter one shows that it was cut. */
  readonly bytes: number;
  /** False once the file was renamed, deleted or replaced. */
  readonly isInPlace: boolean;
  close(): void;
}

export interface JournalFiles {
  /** Empties the file if it exists, and gives it this size, if the system allows. */
  open(path: string, durability: "fsync" | "memory", bytes: number): JournalWriter;
  /** Makes the names in a folder durable. */
  syncFolder(folder: string): void;
  /** Names only. Empty if there is no such folder. */
  list(folder: string): string[];
  read(path: string): Buffer;
  rename(from: string, to: string): void;
  remove(path: string): void;
}

export const diskFiles: JournalFiles = {
  open: (path, durability, bytes) => new DiskWriter(path, durability, bytes),
  syncFolder: (folder) => syncPath(folder),
  list: (folder) => (existsSync(folder) ? readdirSync(folder) : []),
  read: (path) => readFileSync(path),
  rename: (from, to) => renameSync(from, to),
  remove: (path) => rmSync(path, { force: true }),
};

/**
 * With this flag a write returns when its data is on the disk: one system call instead of a write
 * and a sync. Undefined if the system has no such flag.
 */
const syncedWrites: number | undefined = constants.O_DSYNC ?? constants.O_SYNC;

class DiskWriter implements JournalWriter {
  readonly #descriptor: number;
  readonly #place: FilePlace;
  readonly bytes: number;

  constructor(path: string, durability: "fsync" | "memory", bytes: number) {
    const { O_CREAT, O_TRUNC, O_WRONLY } = constants;
    if (durability === "fsync" && syncedWrites === undefined) {
      throw new StoreFault(
        "failed",
        "This system has no synced writes (O_DSYNC): run with `durability: memory`",
      );
    }
    const flags = O_CREAT | O_TRUNC | O_WRONLY | (durability === "fsync" ? (syncedWrites ?? 0) : 0);
    this.#descriptor = openSync(path, flags, privateFileMode);
    this.#place = new FilePlace(path, this.#descriptor);
    this.bytes = this.#extend(bytes) ? bytes : 0;
    if (durability === "fsync") fsyncSync(this.#descriptor);
  }

  /** No blocks are used, so a full disk does not matter. A limit on the size of files does. */
  #extend(bytes: number): boolean {
    try {
      ftruncateSync(this.#descriptor, bytes);
      return true;
    } catch {
      return false;
    }
  }

  get isInPlace(): boolean {
    return this.#place.isInPlace;
  }

  /** A write may be cut short when the disk is full. The next one then fails with the reason. */
  write(bytes: Buffer, length: number, position: number): Promise<void> {
    const descriptor = this.#descriptor;
    return new Promise((resolve, reject) => {
      const go = (done: number) => {
        write(descriptor, bytes, done, length - done, position + done, (error, written) => {
          if (error !== null) reject(error);
          else if (done + written < length) go(done + written);
          else resolve();
        });
      };
      go(0);
    });
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}
