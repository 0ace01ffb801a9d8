// Keeps a reserve for a full disk. A file of real blocks lies in the folder. When the disk runs
// full, the file is emptied: outcomes, trims and the next start then have room, while the
// dispatcher accepts no new tasks. When there is room again, the reserve is rebuilt, and then tasks
// are accepted again. An empty reserve tells the next start that the disk was full, so it accepts
// no new tasks either.

import {
  closeSync,
  existsSync,
  openSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  write,
} from "node:fs";
import { join } from "node:path";
import { privateFileMode } from "./private-modes.js";

const reserveFileName = "yard.reserve";

/** How often the free space is checked: another program may fill the disk at any time. */
const lookMs = 1000;
/** It is also checked after this many bytes of our own. */
const lookBytes = 4_194_304;
/**
 * Below this much free space the reserve is released. It is enough for several transactions of the
 * store and its journals.
 */
const lowBytesMax = 16_777_216;
/** Maximum share of a small disk that the reserve uses. */
const shareMax = 1 / 8;
/** The reserve is written in pieces with pauses, because commits come first. */
const pieceBytes = 1_048_576;
const pauseMs = 20;

export interface DiskRoomOptions {
  readonly folder: string;
  /** Size of the reserve; with 0 there is none, and the disk is not watched. */
  readonly reserveBytes: number;
  /** Called with a message when the disk is full, and with undefined when there is room again. */
  readonly onChange: (shortage: string | undefined) => void;
}

export class DiskRoom {
  readonly #options: DiskRoomOptions;
  readonly #path: string;
  #timer: NodeJS.Timeout | undefined;
  #isShort = false;
  #isBuilding = false;
  #isStopped = false;
  #written = 0;

  constructor(options: DiskRoomOptions) {
    this.#options = options;
    this.#path = join(options.folder, reserveFileName);
  }

  /** Call before anything is written, so that a start succeeds on a full disk. */
  begin(): void {
    rmSync(this.#draft, { force: true });
    if (this.#options.reserveBytes === 0) return;
    if (this.#reserved === 0) this.#fallShort();
    this.#look(false);
    this.#timer = setInterval(() => this.#look(true), lookMs).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
  }

  /** Counts bytes that were written. */
  wrote(bytes: number): void {
    this.#written += bytes;
    if (this.#written >= lookBytes && this.#timer !== undefined) this.#look(true);
  }

  /** Call when a write found no room. Returns true if the reserve was released. */
  release(): boolean {
    const hadReserve = this.#options.reserveBytes > 0 && (this.#reserved ?? 0) > 0;
    if (hadReserve) this.#fallShort();
    return hadReserve;
  }

  /** The size of the reserve; undefined if none was ever built. */
  get #reserved(): number | undefined {
    return statSync(this.#path, { throwIfNoEntry: false })?.size;
  }

  get #draft(): string {
    return `${this.#path}.new`;
  }

  #look(mayBuild: boolean): void {
    this.#written = 0;
    const disk = diskOf(this.#options.folder);
    if (disk === undefined) return;
    const reserve = Math.min(this.#options.reserveBytes, Math.floor(disk.bytes * shareMax));
    const low = Math.min(lowBytesMax, Math.floor(reserve / 4));
    if (disk.freeBytes < low) {
      if (!this.#isShort) this.#fallShort();
    } else if (
      mayBuild &&
      !this.#isBuilding &&
      disk.freeBytes >= reserve + 2 * low &&
      !this.#isWhole(reserve)
    ) {
      void this.#build(reserve);
    }
  }

  #fallShort(): void {
    const isNew = !this.#isShort;
    this.#isShort = true;
    rmSync(this.#draft, { force: true });
    if (this.#reserved !== undefined) truncateSync(this.#path);
    if (!isNew) return;
    this.#options.onChange(
      `The disk of ${this.#options.folder} is full. No new tasks are accepted until there is room again.`,
    );
  }

  #isWhole(bytes: number): boolean {
    const found = statSync(this.#path, { throwIfNoEntry: false });
    // A sparse file is no reserve.
    return found !== undefined && found.size >= bytes && found.blocks * 512 >= bytes / 2;
  }

  /** Ignores failures: without a reserve everything else still works. */
  async #build(bytes: number): Promise<void> {
    this.#isBuilding = true;
    try {
      if (await this.#fill(bytes)) {
        renameSync(this.#draft, this.#path);
        if (this.#isShort) this.#options.onChange(undefined);
        this.#isShort = false;
      }
    } catch {
      rmSync(this.#draft, { force: true });
    } finally {
      this.#isBuilding = false;
    }
  }

  /** Returns true if all of it was written. */
  async #fill(bytes: number): Promise<boolean> {
    // Not zeros, because some file systems allocate no blocks for them.
    const piece = Buffer.alloc(pieceBytes, "room");
    const file = openSync(this.#draft, "w", privateFileMode);
    try {
      for (let at = 0; at < bytes; at += pieceBytes) {
        await new Promise((resolve) => setTimeout(resolve, pauseMs).unref());
        // The disk may be full by now, or the engine closed.
        if (this.#isStopped || !existsSync(this.#draft)) return false;
        await writePiece(file, piece, Math.min(pieceBytes, bytes - at));
      }
      return true;
    } finally {
      closeSync(file);
    }
  }
}

function writePiece(file: number, piece: Buffer, length: number): Promise<void> {
  return new Promise((resolve, reject) => {
    write(file, piece, 0, length, (error, written) => {
      if (error !== null) reject(error);
      else if (written < length) reject(new Error("the reserve was cut short"));
      else resolve();
    });
  });
}

/** Undefined if the system does not report it. */
function diskOf(folder: string): { readonly bytes: number; readonly freeBytes: number } | undefined {
  try {
    const { bavail, blocks, bsize } = statfsSync(folder);
    return { bytes: blocks * bsize, freeBytes: bavail * bsize };
  } catch {
    return undefined;
  }
}
