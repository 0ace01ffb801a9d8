// The journal's files on a simulated disk. A crash loses, tears and reorders what was not synced.

import { basename, dirname } from "node:path";
import type { JournalFiles, JournalWriter } from "../journal-files.js";

/** A disk writes whole sectors. */
const sectorBytes = 512;

interface Inode {
  /** What the disk has. */
  bytes: Buffer;
  path: string;
  /** True if a write returns only when it is durable. */
  readonly isSynced: boolean;
}

interface PendingWrite {
  readonly inode: Inode;
  readonly bytes: Buffer;
  readonly position: number;
}

export type Random = () => number;

export class SimulatedFiles implements JournalFiles {
  #inodes = new Map<string, Inode>();
  /** The names that a power cut leaves: those of the last synced folder. */
  #synced = new Map<string, Inode>();
  #writes: PendingWrite[] = [];
  /** Called before each step of the disk. If it throws, the step was not done. */
  onStep: () => void = () => {};

  open(path: string, durability: "fsync" | "memory", bytes: number): JournalWriter {
    this.onStep();
    const inode: Inode = { bytes: Buffer.alloc(bytes), path, isSynced: durability === "fsync" };
    this.#inodes.set(path, inode);
    return new SimulatedWriter(this, inode);
  }

  syncFolder(): void {
    this.onStep();
    this.#synced = new Map(this.#inodes);
  }

  list(folder: string): string[] {
    return [...this.#inodes.keys()].filter((path) => dirname(path) === folder).map((path) => basename(path));
  }

  read(path: string): Buffer {
    const inode = this.#inodes.get(path);
    if (inode === undefined) throw new Error(`${path} is not there`);
    return Buffer.from(inode.bytes);
  }

  rename(from: string, to: string): void {
    this.onStep();
    const inode = this.#inodes.get(from) as Inode;
    this.#inodes.delete(from);
    inode.path = to;
    this.#inodes.set(to, inode);
  }

  remove(path: string): void {
    this.onStep();
    this.#inodes.delete(path);
  }

  isAt(inode: { readonly path: string }, path: string): boolean {
    return this.#inodes.get(path) === inode;
  }

  async write(inode: Inode, bytes: Buffer, position: number): Promise<void> {
    const pending = { inode, bytes: Buffer.from(bytes), position };
    this.#writes.push(pending);
    this.onStep();
    if (!inode.isSynced) return;
    apply(pending);
    this.#writes = this.#writes.filter((each) => each !== pending);
  }

  /** The process ends. The system still writes what it was given. */
  kill(random: Random): void {
    const last = this.#writes.at(-1);
    for (const write of this.#writes) {
      const { inode, bytes, position } = write;
      // The system may be in the middle of the last write, and not write the rest of it.
      const isWhole = write !== last || random() < 0.5;
      const length = isWhole ? bytes.length : Math.floor(random() * bytes.length);
      apply({ inode, bytes: bytes.subarray(0, length), position });
    }
    this.#writes = [];
  }

  /** The power fails. Of what was not synced, some sectors and some names reach the disk. */
  cutPower(random: Random): void {
    for (const { inode, bytes, position } of this.#writes) {
      for (let at = 0; at < bytes.length; at += sectorBytes) {
        const sector = bytes.subarray(at, at + sectorBytes);
        if (random() < 0.5) apply({ inode, bytes: sector, position: position + at });
      }
    }
    this.#writes = [];
    if (random() < 0.5) {
      this.#inodes = new Map(this.#synced);
      for (const [path, inode] of this.#inodes) inode.path = path;
    }
    this.#synced = new Map(this.#inodes);
  }
}

function apply({ inode, bytes, position }: PendingWrite): void {
  const end = position + bytes.length;
  if (end > inode.bytes.length) inode.bytes = Buffer.concat([inode.bytes], end);
  bytes.copy(inode.bytes, position);
}

class SimulatedWriter implements JournalWriter {
  readonly #files: SimulatedFiles;
  readonly #inode: Inode;
  readonly #path: string;
  readonly bytes: number;

  constructor(files: SimulatedFiles, inode: Inode) {
    this.#files = files;
    this.#inode = inode;
    this.#path = inode.path;
    this.bytes = inode.bytes.length;
  }

  write(bytes: Buffer, length: number, position: number): Promise<void> {
    return this.#files.write(this.#inode, bytes.subarray(0, length), position);
  }

  get isInPlace(): boolean {
    return this.#files.isAt(this.#inode, this.#path);
  }

  close(): void {}
}
