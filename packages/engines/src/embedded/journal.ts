// The journal: where a batch is durable first. Appending to a file costs one write and one sync, whatever the batch is
// about; the store takes batches over later, many at a time. See docs/decisions/0014.
//
// Two files take turns. One is begun again when the store has all that is in it.

import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  write,
} from "node:fs";
import { basename, join } from "node:path";
import { FilePlace } from "./file-place.js";
import { privateFileMode } from "./private-modes.js";
import { StoreFault } from "./store-faults.js";

/** So much goes into one of the two files before it is the other's turn. A larger batch is written all the same. */
const fileBytesMax = 8_388_608;

const journalNames = /^yard\.journal-\d+-[01](\.taken|\.repaired)?$/;
const taken = ".taken";

interface JournalFile {
  readonly path: string;
  readonly descriptor: number;
  readonly place: FilePlace;
  /** Where the next entry goes. */
  at: number;
  /** The last batch in it; 0 while it has none. */
  last: number;
}

export interface JournalOptions {
  readonly folder: string;
  readonly epoch: number;
  readonly durability: "fsync" | "memory";
  /** Has the batches up to this one taken over by the store. */
  readonly store: (through: number) => Promise<void>;
  /** A write found no room on the disk: whether there is some now. */
  readonly makeRoom: () => boolean;
}

export class Journal {
  readonly #files: readonly [JournalFile, JournalFile];
  readonly #store: JournalOptions["store"];
  readonly #makeRoom: JournalOptions["makeRoom"];
  #active: JournalFile;
  #other: JournalFile;
  #stored = 0;

  constructor({ folder, epoch, durability, store, makeRoom }: JournalOptions) {
    this.#store = store;
    this.#makeRoom = makeRoom;
    const files = ["0", "1"].map((name) =>
      openFile(join(folder, `yard.journal-${epoch}-${name}`), durability),
    );
    syncFolder(folder);
    this.#files = files as unknown as [JournalFile, JournalFile];
    [this.#active, this.#other] = this.#files;
  }

  /** Of the file that is written to. */
  get path(): string {
    return this.#active.path;
  }

  /** Resolves when the entry is durable. One at a time. */
  async append(bytes: Buffer, length: number, number: number): Promise<void> {
    if (this.#active.at > 0 && this.#active.at + length > fileBytesMax) await this.#change();
    const file = this.#active;
    try {
      await writeAll(file.descriptor, bytes, length, file.at);
    } catch (error) {
      if (!isFull(error) || !this.#makeRoom()) throw error;
      // Nobody was told of this entry: it is written once more, from its first byte.
      await writeAll(file.descriptor, bytes, length, file.at);
    }
    file.at += length;
    file.last = number;
  }

  /** The store has the batches up to this one. */
  stored(through: number): void {
    this.#stored = through;
  }

  /**
   * Whether nobody has taken the folder over. Who does so takes the journal away before reading it: what was written while
   * it was still here, they have read.
   */
  get isOurs(): boolean {
    return this.#files.every(({ place }) => place.isKept);
  }

  /** `isClean`: the store has everything, and the files go. */
  close(isClean: boolean): void {
    const isOurs = isClean && this.isOurs;
    for (const { descriptor, path } of this.#files) {
      closeSync(descriptor);
      if (isOurs) rmSync(path, { force: true });
    }
  }

  async #change(): Promise<void> {
    [this.#active, this.#other] = [this.#other, this.#active];
    if (this.#active.last > this.#stored) await this.#store(this.#active.last);
    this.#active.at = 0;
  }
}

/** Takes the journals of earlier owners away from them, so that nothing they write from now on counts; where they are. */
export function takeJournals(folder: string): string[] {
  return journalsIn(folder).map((path) => {
    if (path.endsWith(taken) || path.endsWith(".repaired")) return path;
    renameSync(path, path + taken);
    return path + taken;
  });
}

/** The journals of an epoch that are not among these. */
export function missingJournals(epoch: number, paths: readonly string[]): string[] {
  const names = paths.map((path) => basename(path).replace(/\.(taken|repaired)$/, ""));
  return ["0", "1"].map((each) => `yard.journal-${epoch}-${each}`).filter((name) => !names.includes(name));
}

export function journalsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => journalNames.test(name))
    .map((name) => join(folder, name));
}

/**
 * With this a write that returns is on the disk: one way into the system and back for what would be two. A system that
 * knows no such thing must not be taken for one that does.
 */
const syncedWrites: number | undefined = constants.O_DSYNC ?? constants.O_SYNC;

function openFile(path: string, durability: JournalOptions["durability"]): JournalFile {
  const { O_CREAT, O_TRUNC, O_WRONLY } = constants;
  if (durability === "fsync" && syncedWrites === undefined) {
    throw new StoreFault(
      "failed",
      "This system has no synced writes (O_DSYNC): run with `durability: memory`",
    );
  }
  const flags = O_CREAT | O_TRUNC | O_WRONLY | (durability === "fsync" ? (syncedWrites ?? 0) : 0);
  const descriptor = openSync(path, flags, privateFileMode);
  return { path, descriptor, place: new FilePlace(path, descriptor), at: 0, last: 0 };
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function isFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOSPC" || code === "EDQUOT";
}

/** A write may be cut short where room runs out; the rest then fails with the reason. */
function writeAll(descriptor: number, bytes: Buffer, length: number, position: number): Promise<void> {
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
