// The journal: the write-ahead log in which a batch first becomes durable. Appending costs one
// synced write, whatever is in the batch. The store takes batches over later, many at a time. See
// docs/decisions/0008.
//
// Two files take turns. A file is overwritten from its start once the store has everything in it.

import { basename, join } from "node:path";
import { diskFiles, type JournalFiles, type JournalWriter } from "./journal-files.js";

/** Maximum size of one of the two files. A larger batch is written all the same. */
const fileBytesMax = 8_388_608;

const journalNames = /^yard\.journal-\d+-[01](\.taken|\.repaired)?$/;
const taken = ".taken";

interface JournalFile {
  readonly path: string;
  readonly writer: JournalWriter;
  /** Offset of the next entry. */
  at: number;
  /** The number of the last batch in it; 0 while there is none. */
  last: number;
}

/** What the next start must find after an unclean shutdown. */
export interface JournalMark {
  readonly epoch: number;
  /** The least size of its files; 0 if it is not known. */
  readonly bytes: number;
}

export interface JournalOptions {
  readonly folder: string;
  readonly epoch: number;
  readonly durability: "fsync" | "memory";
  /** Makes the store take over all batches up to this one. */
  readonly store: (through: number) => Promise<void>;
  /** Called when the disk is full. Returns true if there is room now. */
  readonly makeRoom: () => boolean;
  readonly files?: JournalFiles;
  /** For tests: maximum size of one of the two files. */
  readonly fileBytes?: number;
}

export class Journal {
  readonly #files: readonly [JournalFile, JournalFile];
  readonly #epoch: number;
  readonly #store: JournalOptions["store"];
  readonly #makeRoom: JournalOptions["makeRoom"];
  readonly #disk: JournalFiles;
  readonly #fileBytes: number;
  #active: JournalFile;
  #other: JournalFile;
  #stored = 0;

  constructor({ folder, epoch, durability, store, makeRoom, ...options }: JournalOptions) {
    this.#epoch = epoch;
    this.#store = store;
    this.#makeRoom = makeRoom;
    this.#disk = options.files ?? diskFiles;
    this.#fileBytes = options.fileBytes ?? fileBytesMax;
    const open = (name: string): JournalFile => {
      const path = join(folder, `yard.journal-${epoch}-${name}`);
      return { path, writer: this.#disk.open(path, durability, this.#fileBytes), at: 0, last: 0 };
    };
    this.#files = [open("0"), open("1")];
    this.#disk.syncFolder(folder);
    [this.#active, this.#other] = this.#files;
  }

  /** The path of the file that is being written. */
  get path(): string {
    return this.#active.path;
  }

  /** The least size of the files. A shorter one was cut. */
  get mark(): JournalMark {
    const bytes = Math.min(...this.#files.map(({ writer }) => writer.bytes));
    return { epoch: this.#epoch, bytes };
  }

  /** Resolves when the entry is durable. One append may be under way at a time. */
  async append(bytes: Buffer, length: number, number: number): Promise<void> {
    if (this.#active.at > 0 && this.#active.at + length > this.#fileBytes) await this.#change();
    const file = this.#active;
    try {
      await file.writer.write(bytes, length, file.at);
    } catch (error) {
      if (!isFull(error) || !this.#makeRoom()) throw error;
      // This entry was not acknowledged, so it may be written again from its first byte.
      await file.writer.write(bytes, length, file.at);
    }
    file.at += length;
    file.last = number;
  }

  /** The store has the batches up to this one. */
  stored(through: number): void {
    this.#stored = through;
  }

  /**
   * True if no other process has taken over the folder. A new owner renames the journals before it
   * reads them, so it reads everything that was written while they still had their names.
   */
  get isOurs(): boolean {
    return this.#files.every(({ writer }) => writer.isInPlace);
  }

  /** `isClean`: the store has everything, so the files are deleted. */
  close(isClean: boolean): void {
    const isOurs = isClean && this.isOurs;
    for (const { writer, path } of this.#files) {
      writer.close();
      if (isOurs) this.#disk.remove(path);
    }
  }

  async #change(): Promise<void> {
    [this.#active, this.#other] = [this.#other, this.#active];
    if (this.#active.last > this.#stored) await this.#store(this.#active.last);
    this.#active.at = 0;
  }
}

/**
 * Renames the journals of earlier owners, so that nothing those write from now on counts. Returns
 * the paths.
 */
export function takeJournals(folder: string, files: JournalFiles = diskFiles): string[] {
  return journalsIn(folder, files).map((path) => {
    if (path.endsWith(taken) || path.endsWith(".repaired")) return path;
    files.rename(path, path + taken);
    return path + taken;
  });
}

/** The names of an epoch's journals that are not among these paths. */
export function missingJournals(epoch: number, paths: readonly string[]): string[] {
  const names = paths.map((path) => basename(path).replace(/\.(taken|repaired)$/, ""));
  return ["0", "1"].map((each) => `yard.journal-${epoch}-${each}`).filter((name) => !names.includes(name));
}

export function journalsIn(folder: string, files: JournalFiles = diskFiles): string[] {
  return files
    .list(folder)
    .filter((name) => journalNames.test(name))
    .map((name) => join(folder, name));
}

function isFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOSPC" || code === "EDQUOT";
}
