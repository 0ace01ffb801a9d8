// The layout of LMDB's pages, as far as it is needed to tell an intact file from a damaged one.
// Data version 2, little-endian.

import { BadRecord } from "../records/index.js";

export const pageHeaderBytes = 24;

export const pageFlags = { branch: 1, leaf: 2, overflow: 4, meta: 8 } as const;
export const nodeFlags = { big: 1, tree: 2 } as const;

/**
 * Offsets in a page's header: its own number, the transaction that wrote it, its kind, and its fill
 * or its length in pages.
 */
const headerOffsets = { page: 0, transaction: 8, flags: 18, lower: 20, upper: 22, pages: 20 } as const;

const magic = 0xbeef_c0de;
const dataVersion = 2;
/**
 * Offsets in a root page. The first tree is that of free pages, the second that of all other trees.
 */
const metaOffsets = {
  magic: 24,
  version: 28,
  address: 32,
  mapBytes: 40,
  free: 48,
  main: 96,
  last: 144,
  id: 152,
};
const treeOffsets = {
  flags: 4,
  depth: 6,
  branches: 8,
  leaves: 16,
  overflows: 24,
  entries: 32,
  root: 40,
} as const;
export const treeRecordBytes = 48;

/** The flag of the tree of free pages: its keys are numbers. */
const integerKeys = 8;

/** LMDB's record of a tree. */
export interface TreeRecord {
  readonly flags: number;
  readonly depth: number;
  readonly branches: number;
  readonly leaves: number;
  readonly overflows: number;
  readonly entries: number;
  /** Undefined if the tree is empty. */
  readonly root: number | undefined;
}

/** One of the two roots. Transactions write them in turn. */
export interface Meta {
  readonly slot: number;
  readonly transaction: number;
  readonly pageBytes: number;
  readonly lastPage: number;
  readonly free: TreeRecord;
  readonly main: TreeRecord;
}

export interface PageHeader {
  readonly page: number;
  readonly transaction: number;
  readonly flags: number;
  readonly lower: number;
  readonly upper: number;
  /** Only for overflow pages: how many there are. */
  readonly pages: number;
}

/**
 * Reads 64 bits. A value beyond 2^53 is damage anywhere, and stays too large when it is rounded.
 */
export function longAt(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
}

export function readPageHeader(bytes: Buffer): PageHeader {
  return {
    page: longAt(bytes, headerOffsets.page),
    transaction: longAt(bytes, headerOffsets.transaction),
    flags: bytes.readUInt16LE(headerOffsets.flags),
    lower: bytes.readUInt16LE(headerOffsets.lower),
    upper: bytes.readUInt16LE(headerOffsets.upper),
    pages: bytes.readUInt32LE(headerOffsets.pages),
  };
}

export function readTreeRecord(bytes: Buffer, at: number): TreeRecord {
  const root = longAt(bytes, at + treeOffsets.root);
  const isEmpty = bytes.readUInt32LE(at + treeOffsets.root) === 0xffff_ffff && root >= 2 ** 63;
  return {
    flags: bytes.readUInt16LE(at + treeOffsets.flags),
    depth: bytes.readUInt16LE(at + treeOffsets.depth),
    branches: longAt(bytes, at + treeOffsets.branches),
    leaves: longAt(bytes, at + treeOffsets.leaves),
    overflows: longAt(bytes, at + treeOffsets.overflows),
    entries: longAt(bytes, at + treeOffsets.entries),
    root: isEmpty ? undefined : root,
  };
}

/** Throws BadRecord. `slot`: 0 or 1, which is also the page's number. */
export function readMeta(bytes: Buffer, slot: number): Meta {
  const name = `root page ${slot}`;
  const { page, flags } = readPageHeader(bytes);
  if (page !== slot || flags !== pageFlags.meta || bytes.readUInt32LE(metaOffsets.magic) !== magic)
    throw new BadRecord(`${name} is not a root`);
  const version = bytes.readUInt32LE(metaOffsets.version);
  if (version !== dataVersion) throw new BadRecord(`${name} is of LMDB's data version ${version}`);
  const pageBytes = bytes.readUInt32LE(metaOffsets.free);
  const mapBytes = longAt(bytes, metaOffsets.mapBytes);
  const lastPage = longAt(bytes, metaOffsets.last);
  const free = readTreeRecord(bytes, metaOffsets.free);
  const isSound =
    isPageSize(pageBytes) &&
    longAt(bytes, metaOffsets.address) === 0 &&
    mapBytes <= mapBytesMax &&
    mapBytes % pageBytes === 0 &&
    lastPage >= 1 &&
    (lastPage + 1) * pageBytes <= mapBytes &&
    (free.flags & integerKeys) !== 0;
  if (!isSound) throw new BadRecord(`${name} has impossible values`);
  const transaction = longAt(bytes, metaOffsets.id);
  return { slot, transaction, pageBytes, lastPage, free, main: readTreeRecord(bytes, metaOffsets.main) };
}

/** Changes the slot and the transaction of a root page. */
export function writeMetaPlace(bytes: Buffer, slot: number, transaction: number): void {
  bytes.writeUInt32LE(slot, headerOffsets.page);
  bytes.writeBigUInt64LE(BigInt(transaction), metaOffsets.id);
}

/** The maximum that store-file.ts uses. */
const mapBytesMax = 2 ** 40;

function isPageSize(bytes: number): boolean {
  return bytes >= 512 && bytes <= 65_536 && (bytes & (bytes - 1)) === 0;
}
