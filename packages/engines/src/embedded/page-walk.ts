// Checks every page of the file before LMDB opens it. LMDB trusts its pages: a damaged one can
// crash the process, or hide records. Here the same pages are read as plain bytes, and each must be
// what its parent says.
//
// - The two roots are from consecutive transactions.
// - Every page has its own number and the right kind, and is reached once.
// - Keys rise within a page, from page to page, and between the bounds that the parent gives.
// - Each tree has as many entries and pages as were counted when it was committed.
// - No page is both in use and free, or free twice.
// - The page that the root leads to is of the last transaction.
//
// The contents of records are not checked here: each has a CRC, which is checked when it is read.
// The CRCs and the keys make up the sum of each tree, which the caller compares (entry-sums.ts).

import { closeSync, openSync, readSync } from "node:fs";
import { BadRecord } from "../records/index.js";
import { crcOf, entryHash } from "./entry-sums.js";
import { type Roots, readAt, rootsOf } from "./file-roots.js";
import {
  longAt,
  type Meta,
  nodeFlags,
  type PageHeader,
  pageFlags,
  pageHeaderBytes,
  readPageHeader,
  readTreeRecord,
  type TreeRecord,
  treeRecordBytes,
} from "./page-form.js";
import { PageUse } from "./page-use.js";

export interface WalkedFile {
  /** The number of the last transaction. */
  readonly transaction: number;
  /** The number of entries of each tree. */
  readonly entries: ReadonlyMap<string, number>;
  /** The sum of each tree's entries. */
  readonly sums: ReadonlyMap<string, number>;
}

/** Checks an entry of a tree, whose record is inside the page. Throws BadRecord. */
export type EntryCheck = (page: Buffer, key: number, data: number, end: number) => void;

export interface WalkChecks {
  /** The allowed names of trees, some with a check of each entry. */
  readonly trees: ReadonlyMap<string, EntryCheck | undefined>;
  /** Checks the file as a whole, after its entries. Throws BadRecord. */
  readonly whole: (walked: WalkedFile) => void;
}

/** Throws BadRecord that describes the damage. */
export function walkPages(path: string, checks: WalkChecks): WalkedFile {
  const file = openSync(path, "r");
  try {
    for (;;) {
      const before = rootsOf(file);
      try {
        const walked = new PageWalk(file, before).run(checks.trees);
        checks.whole(walked);
        return walked;
      } catch (error) {
        // An earlier owner that was taken for dead may have written meanwhile. Then walk again.
        if (rootsOf(file).newest.transaction === before.newest.transaction) throw error;
      }
    }
  } finally {
    closeSync(file);
  }
}

/** The position of a key in a buffer. */
interface Key {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

interface Tally {
  readonly name: string;
  readonly compare: (one: Key, bytes: Buffer, start: number, end: number) => number;
  readonly onEntry: ((page: Buffer, node: Node) => void) | undefined;
  entries: number;
  branches: number;
  leaves: number;
  overflows: number;
  sum: number;
  /** A copy of the last key of the previous leaf. */
  last: Key | undefined;
}

interface Node {
  readonly key: Key;
  readonly flags: number;
  readonly data: number;
  readonly dataBytes: number;
}

const crcBytes = 4;

class PageWalk {
  readonly #file: number;
  readonly #meta: Meta;
  readonly #older: Meta;
  readonly #pages: PageUse;
  /** One buffer per level of the tree: a parent is needed while its children are read. */
  readonly #levels: Buffer[] = [];
  /** A page's header and, if a record starts there, its CRC. */
  readonly #overflowStart = Buffer.alloc(pageHeaderBytes + crcBytes);

  constructor(file: number, { newest, older }: Roots) {
    this.#file = file;
    this.#meta = newest;
    this.#older = older;
    this.#pages = new PageUse(newest.lastPage);
  }

  run(known: ReadonlyMap<string, EntryCheck | undefined>): WalkedFile {
    const { free, main, transaction } = this.#meta;
    this.#checkOlder();
    const entries = new Map<string, number>();
    const sums = new Map<string, number>();
    const trees: { name: string; record: TreeRecord }[] = [];
    this.#walk("the tree of trees", main, compareBytes, (page, node) => {
      const name = page.toString("latin1", node.key.start, node.key.end).replace(/\0$/, "");
      if (!known.has(name)) throw new BadRecord(`it has a tree "${name}", which no store has`);
      if (node.flags !== nodeFlags.tree || node.dataBytes !== treeRecordBytes)
        throw new BadRecord(`the record of tree ${name} is not one`);
      trees.push({ name, record: readTreeRecord(page, node.data) });
    });
    this.#checkNewest();
    for (const { name, record } of trees) {
      if (record.flags !== 0) throw new BadRecord(`tree ${name} has flags that no tree of a store has`);
      const check = known.get(name);
      const onEntry = check && ((page: Buffer, node: Node) => checkInside(page, node, check));
      sums.set(name, this.#walk(`tree ${name}`, record, compareBytes, onEntry));
      entries.set(name, record.entries);
    }
    const lists: Buffer[] = [];
    this.#walk("the tree of free pages", free, compareNumbers, (page, node) =>
      lists.push(this.#dataOf(page, node)),
    );
    for (const list of lists) this.#pages.free(list);
    return { transaction, entries, sums };
  }

  /** Every transaction writes the page that its root leads to. */
  #checkNewest(): void {
    const { main, transaction, pageBytes } = this.#meta;
    if (main.root === undefined) return;
    const found = readPageHeader(readAt(this.#file, main.root * pageBytes, pageHeaderBytes));
    if (found.transaction === transaction) return;
    throw new BadRecord(
      `page ${main.root} in the tree of trees is of transaction ${found.transaction}, and the last one was ${transaction}`,
    );
  }

  /**
   * Detects a root whose transaction number was lowered: it leads to a page that is younger than
   * itself. LMDB would use the other root, and lose what came since. LMDB itself lowers the number
   * if the write of a root fails, but then takes back the number of pages too. If that is the same
   * anyway, the two cannot be told apart; the journal has those batches, or lacks one and says so.
   */
  #checkOlder(): void {
    const { main, transaction, lastPage } = this.#older;
    if (main.root === undefined || main.root > this.#meta.lastPage || lastPage <= this.#meta.lastPage) return;
    const found = readPageHeader(readAt(this.#file, main.root * this.#meta.pageBytes, pageHeaderBytes));
    if (found.page === main.root && found.transaction > transaction)
      throw new BadRecord(`root page ${this.#older.slot} says it is older than what it leads to`);
  }

  /** Returns the sum of the tree's entries. */
  #walk(name: string, record: TreeRecord, compare: Tally["compare"], onEntry: Tally["onEntry"]): number {
    const tally: Tally = {
      name,
      compare,
      onEntry,
      entries: 0,
      branches: 0,
      leaves: 0,
      overflows: 0,
      sum: 0,
      last: undefined,
    };
    if (record.root !== undefined) this.#page(tally, record.root, record.depth, undefined, undefined);
    for (const what of ["entries", "branches", "leaves", "overflows"] as const) {
      if (tally[what] !== record[what])
        throw new BadRecord(`${name} has ${tally[what]} ${nouns[what]}, and ${record[what]} were committed`);
    }
    if (record.root === undefined && record.depth !== 0) throw new BadRecord(`${name} has lost its root`);
    return tally.sum;
  }

  /** Walks a page and everything below it. All keys must be at least `low` and less than `high`. */
  #page(tally: Tally, page: number, depth: number, low: Key | undefined, high: Key | undefined): void {
    const bytes = this.#read(tally, page, depth);
    const found = readPageHeader(bytes);
    const count = found.lower >> 1;
    const isBranch = depth > 1;
    const flags = isBranch ? pageFlags.branch : pageFlags.leaf;
    const room = this.#meta.pageBytes - pageHeaderBytes;
    const isSound =
      found.page === page &&
      found.flags === flags &&
      found.transaction <= this.#meta.transaction &&
      found.lower % 2 === 0 &&
      found.lower <= found.upper &&
      found.upper <= room &&
      count >= (isBranch ? 2 : 1);
    if (!isSound) throw new BadRecord(`page ${page} in ${tally.name} is not what was written there`);
    if (isBranch) this.#branch(tally, page, bytes, found, depth, low, high);
    else this.#leaf(tally, page, bytes, found, low, high);
  }

  #branch(
    tally: Tally,
    page: number,
    bytes: Buffer,
    { lower, upper }: PageHeader,
    depth: number,
    low: Key | undefined,
    high: Key | undefined,
  ): void {
    tally.branches += 1;
    const count = lower >> 1;
    const keys: Key[] = [];
    const children: number[] = [];
    let size = 0;
    for (let at = 0; at < count; at++) {
      const node = this.#nodeAt(tally, page, bytes, at, upper);
      keys.push(node.key);
      // A branch has the number of the child's page in place of sizes and flags.
      const start = node.key.start - 8;
      children.push(bytes.readUInt32LE(start) + bytes.readUInt16LE(start + 4) * 2 ** 32);
      size += roundedToEven(node.key.end - start);
    }
    this.#checkFill(tally, page, upper, size);
    for (let at = 0; at < count; at++) {
      // The first child has no key: it starts at the lower bound.
      const from = at === 0 ? low : keys[at];
      const to = at + 1 < count ? keys[at + 1] : high;
      this.#checkBounds(tally, page, from, to);
      this.#page(tally, children[at] as number, depth - 1, from, to);
    }
  }

  #checkBounds(tally: Tally, page: number, from: Key | undefined, to: Key | undefined): void {
    if (from === undefined || to === undefined) return;
    if (tally.compare(from, to.bytes, to.start, to.end) >= 0) throw this.#disorder(tally, page);
  }

  #leaf(
    tally: Tally,
    page: number,
    bytes: Buffer,
    { lower, upper }: PageHeader,
    low: Key | undefined,
    high: Key | undefined,
  ): void {
    tally.leaves += 1;
    const count = lower >> 1;
    let size = 0;
    let before = tally.last;
    for (let at = 0; at < count; at++) {
      const node = this.#nodeAt(tally, page, bytes, at, upper);
      const { start, end } = node.key;
      const isBig = (node.flags & nodeFlags.big) !== 0;
      const stored = isBig ? 24 : node.dataBytes;
      if (node.data + stored > bytes.length || (node.flags & ~3) !== 0)
        throw new BadRecord(`page ${page} in ${tally.name}: an entry leads out of it`);
      size += roundedToEven(node.data + stored - start + 8);
      if (before !== undefined && tally.compare(before, bytes, start, end) >= 0)
        throw this.#disorder(tally, page);
      before = node.key;
      const crc = isBig ? this.#overflow(tally, page, bytes, node) : crcOf(bytes, node.data);
      tally.sum = (tally.sum + entryHash(bytes, start, end, crc)) | 0;
      tally.onEntry?.(bytes, node);
    }
    this.#checkFill(tally, page, upper, size);
    tally.entries += count;
    const first = this.#nodeAt(tally, page, bytes, 0, upper).key;
    if (low !== undefined && tally.compare(low, bytes, first.start, first.end) > 0)
      throw this.#disorder(tally, page);
    if (before !== undefined && high !== undefined) {
      if (tally.compare(before, high.bytes, high.start, high.end) >= 0) throw this.#disorder(tally, page);
    }
    if (before !== undefined) {
      const own = Buffer.from(before.bytes.subarray(before.start, before.end));
      tally.last = { bytes: own, start: 0, end: own.length };
    }
  }

  #nodeAt(tally: Tally, page: number, bytes: Buffer, at: number, upper: number): Node {
    const offset = bytes.readUInt16LE(pageHeaderBytes + 2 * at);
    const start = offset + pageHeaderBytes;
    if (offset < upper || start + 8 > bytes.length)
      throw new BadRecord(`page ${page} in ${tally.name}: an entry leads out of it`);
    const keyStart = start + 8;
    const data = keyStart + bytes.readUInt16LE(start + 6);
    if (data > bytes.length) throw new BadRecord(`page ${page} in ${tally.name}: a key leads out of it`);
    return {
      key: { bytes, start: keyStart, end: data },
      flags: bytes.readUInt16LE(start + 4),
      data,
      dataBytes: bytes.readUInt32LE(start),
    };
  }

  /** Entries are adjacent and fill the end of the page. */
  #checkFill(tally: Tally, page: number, upper: number, size: number): void {
    if (size !== this.#meta.pageBytes - pageHeaderBytes - upper)
      throw new BadRecord(`page ${page} in ${tally.name} has entries of other sizes than were written`);
  }

  /** Returns the CRC of the record there. */
  #overflow(tally: Tally, page: number, bytes: Buffer, node: Node): number {
    const first = longAt(bytes, node.data);
    const pages = longAt(bytes, node.data + 16);
    const needed = Math.floor((pageHeaderBytes - 1 + node.dataBytes) / this.#meta.pageBytes) + 1;
    // More pages than needed are possible: a record that replaced a longer one may keep them.
    if (!(pages >= needed))
      throw new BadRecord(`page ${page} in ${tally.name}: an entry's length is not what was written`);
    for (let at = 0; at < pages; at++) this.#pages.use(tally.name, first + at);
    tally.overflows += pages;
    // LMDB frees as many pages as this header says.
    const start = this.#overflowStart;
    readSync(this.#file, start, 0, start.length, first * this.#meta.pageBytes);
    const found = readPageHeader(start);
    if (found.page !== first || found.flags !== pageFlags.overflow || found.pages !== pages)
      throw new BadRecord(`page ${first} in ${tally.name} is not what was written there`);
    return crcOf(start, pageHeaderBytes);
  }

  #dataOf(page: Buffer, { flags, data, dataBytes }: Node): Buffer {
    if ((flags & nodeFlags.big) === 0) return Buffer.from(page.subarray(data, data + dataBytes));
    return readAt(this.#file, longAt(page, data) * this.#meta.pageBytes + pageHeaderBytes, dataBytes);
  }

  #read(tally: Tally, page: number, depth: number): Buffer {
    this.#pages.use(tally.name, page);
    this.#levels[depth] ??= Buffer.alloc(this.#meta.pageBytes);
    const bytes = this.#levels[depth] as Buffer;
    if (readSync(this.#file, bytes, 0, bytes.length, page * bytes.length) < bytes.length)
      throw new BadRecord(`the file ends before page ${page} in ${tally.name}`);
    return bytes;
  }

  #disorder(tally: Tally, page: number): BadRecord {
    return new BadRecord(
      `page ${page} in ${tally.name} does not belong where it is: its keys are out of order`,
    );
  }
}

const nouns = {
  entries: "entries",
  branches: "inner pages",
  leaves: "leaf pages",
  overflows: "pages of large records",
} as const;

/** A record on overflow pages is not checked here; its CRC covers more. */
function checkInside(page: Buffer, { flags, key, data, dataBytes }: Node, check: EntryCheck): void {
  if ((flags & nodeFlags.big) === 0) check(page, key.start, data, data + dataBytes);
}

function roundedToEven(size: number): number {
  return size + (size & 1);
}

/** LMDB's order: byte by byte; of two keys with the same start, the shorter comes first. */
function compareBytes({ bytes, start, end }: Key, other: Buffer, from: number, to: number): number {
  const length = Math.min(end - start, to - from);
  for (let at = 0; at < length; at++) {
    const difference = (bytes[start + at] as number) - (other[from + at] as number);
    if (difference !== 0) return difference;
  }
  return end - start - (to - from);
}

function compareNumbers({ bytes, start }: Key, other: Buffer, from: number): number {
  return longAt(bytes, start) - longAt(other, from);
}
