// The embedded engine's sides of a migration. The draft of a store is in a folder inside the
// engine's folder; publishing it moves the one file to where dispatchers look for it.

import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from "node:fs";
import { join } from "node:path";
import type { Engine } from "../engine.js";
import { raise } from "../lane-marks.js";
import type { Source, Target } from "../migration/places.js";
import type { Marks } from "../migration/reading.js";
import { RecordReader } from "../records/index.js";
import { EmbeddedEngine } from "./embedded-engine.js";
import { type FolderOwner, ownerFileName, takeFolder } from "./folder-owner.js";
import { makePrivateFolder } from "./private-folder.js";
import { StoreFault, storeFault } from "./store-faults.js";
import { draftFolderName, openStoreFile, storeFileName } from "./store-file.js";
import { readState, writeState } from "./store-state.js";
import { transact } from "./tree-sums.js";

export class FolderSource implements Source {
  readonly name: string;
  readonly engine: Engine;
  readonly #folder: string;
  readonly #damage: string[] = [];

  constructor(folder: string) {
    this.#folder = folder;
    this.name = folder;
    this.engine = new EmbeddedEngine({ folder, onDamage: (what) => this.#damage.push(what) });
  }

  /** A dispatcher that uses it is found when the engine opens. */
  async check(): Promise<void> {
    if (existsSync(join(this.#folder, storeFileName))) return;
    throw new StoreFault("failed", `There is no store in ${this.#folder}`);
  }

  checkRead(): void {
    const [first] = this.#damage;
    if (first === undefined) return;
    throw new StoreFault("damaged", `${first} (start yardmaster serve --repair first)`);
  }

  close(): Promise<void> {
    return this.engine.close();
  }
}

/** What may be in a folder that has no store: parts of a file system, and of an earlier try. */
const allowed = new Set(["lost+found", draftFolderName, ownerFileName]);

export class FolderTarget implements Target {
  readonly name: string;
  readonly #folder: string;
  readonly #draft: string;
  #owner: FolderOwner | undefined;

  constructor(folder: string) {
    this.name = folder;
    this.#folder = folder;
    this.#draft = join(folder, draftFolderName);
  }

  async begin(): Promise<void> {
    try {
      const names = existsSync(this.#folder) ? readdirSync(this.#folder) : [];
      const found = names.find((name) => !allowed.has(name));
      if (found !== undefined) {
        throw new StoreFault(
          "failed",
          `${this.#folder} is not empty: it has ${found} (name a folder that is empty or new)`,
        );
      }
      makePrivateFolder(this.#folder);
      // From here on no dispatcher starts in the folder: it is in use, and then it has a draft.
      this.#owner = takeFolder(this.#folder);
      if (this.#owner.hadStore) {
        throw new StoreFault(
          "failed",
          `${this.#folder} had a store, and its file ${storeFileName} is not there (name a folder that is empty or new)`,
        );
      }
      rmSync(this.#draft, { recursive: true, force: true });
      mkdirSync(this.#draft);
    } catch (error) {
      throw storeFault(error, this.#folder);
    }
  }

  engine(): Engine {
    return new EmbeddedEngine({ folder: this.#draft });
  }

  async raise({ epoch, lastTask, lanes }: Marks & { readonly epoch: number }): Promise<void> {
    const file = openStoreFile({ path: join(this.#draft, storeFileName), durability: "fsync" });
    try {
      const state = readState(file, new RecordReader({ copies: true }));
      state.epoch = Math.max(state.epoch, epoch);
      state.lastTask = Math.max(state.lastTask, lastTask);
      for (const last of lanes) raise(state.lastSettled, last);
      transact(file, () => writeState(file, state));
    } finally {
      await file.root.close();
    }
    // It names the last transaction, and that is another now.
    rmSync(join(this.#draft, ownerFileName), { force: true });
  }

  async publish(): Promise<void> {
    renameSync(join(this.#draft, storeFileName), join(this.#folder, storeFileName));
    sync(this.#folder);
    rmSync(this.#draft, { recursive: true });
  }

  async close(): Promise<void> {
    if (this.#owner === undefined) return;
    this.#owner.release(undefined);
    this.#owner = undefined;
    rmSync(join(this.#folder, ownerFileName), { force: true });
  }
}

function sync(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
