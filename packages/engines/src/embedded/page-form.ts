// LMDB's pages as bytes, as far as a reader has to know them to tell a sound file from a damaged one: data version 2, in the
// byte order of the machines that LMDB's file moves between (first byte last).

import { BadRecord } from "../records/index.js";

export const pageHeaderBytes = 24;

export const pageFlags = { branch: 1, leaf: 2, overflow: 4, meta: 8 } as const;
export const nodeFlags = { big: 1, tree: 2 } as const;

/** In a page's header: its own number, the transaction that wrote it, its kind, and its fill or its length. */
const header = { page: 0, transaction: 8, flags: 18, lower: 20, upper: 22, pages: 20 } as const;

const magic = 0xbeef_c0de;
const dataVersion = 2;
/** In a meta page, behind the header. The first tree is that of free pages, the second that of all other trees. */
const meta = { magic: 24, version: 28, address: 32, mapBytes: 40, free: 48, main: 96, last: 144, id: 152 };
const place = { flags: 4, depth: 6, branches: 8, leaves: 16, overflows: 24, entries: 32, root: 40 } as const;
export const treeRecordBytes = 48;

/** The mark of a free-pages tree: its keys are numbers. */
const integerKeys = 8;

/** What LMDB says of a tree. */
export interface TreeRecord {
  readonly flags: number;
  readonly depth: number;
  readonly branches: number;
  readonly leaves: number;
  readonly overflows: number;
  readonly entries: number;
  /** undefined: the tree is empty. */
  readonly root: number | undefined;
}

/** One of the two roots, which transactions write in turn. */
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
  /** Of an overflow page. */
  readonly pages: number;
}

/** 64 bits. What is beyond 2^53 is damage wherever it stands, and stays too large for its place. */
export function longAt(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
}

export function readPageHeader(bytes: Buffer): PageHeader {
  return {
    page: longAt(bytes, header.page),
    transaction: longAt(bytes, header.transaction),
    flags: bytes.readUInt16LE(header.flags),
    lower: bytes.readUInt16LE(header.lower),
    upper: bytes.readUInt16LE(header.upper),
    pages: bytes.readUInt32LE(header.pages),
  };
}

export function readTreeRecord(bytes: Buffer, at: number): TreeRecord {
  const root = longAt(bytes, at + place.root);
  const isEmpty = bytes.readUInt32LE(at + place.root) === 0xffff_ffff && root >= 2 ** 63;
  return {
    flags: bytes.readUInt16LE(at + place.flags),
    depth: bytes.readUInt16LE(at + place.depth),
    branches: longAt(bytes, at + place.branches),
    leaves: longAt(bytes, at + place.leaves),
    overflows: longAt(bytes, at + place.overflows),
    entries: longAt(bytes, at + place.entries),
    root: isEmpty ? undefined : root,
  };
}

/** Throws BadRecord. `slot`: 0 or 1, which is also its page. */
export function readMeta(bytes: Buffer, slot: number): Meta {
  const name = `root page ${slot}`;
  const { page, flags } = readPageHeader(bytes);
  if (page !== slot || flags !== pageFlags.meta || bytes.readUInt32LE(meta.magic) !== magic)
    throw new BadRecord(`${name} is not a root`);
  const version = bytes.readUInt32LE(meta.version);
  if (version !== dataVersion) throw new BadRecord(`${name} is of LMDB's data version ${version}`);
  const pageBytes = bytes.readUInt32LE(meta.free);
  const mapBytes = longAt(bytes, meta.mapBytes);
  const lastPage = longAt(bytes, meta.last);
  const free = readTreeRecord(bytes, meta.free);
  const isSound =
    isPageSize(pageBytes) &&
    longAt(bytes, meta.address) === 0 &&
    mapBytes <= mapBytesMax &&
    mapBytes % pageBytes === 0 &&
    lastPage >= 1 &&
    (lastPage + 1) * pageBytes <= mapBytes &&
    (free.flags & integerKeys) !== 0;
  if (!isSound) throw new BadRecord(`${name} says what cannot be`);
  const transaction = longAt(bytes, meta.id);
  return { slot, transaction, pageBytes, lastPage, free, main: readTreeRecord(bytes, meta.main) };
}

/** Makes a root's page that of another place and transaction. */
export function writeMetaPlace(bytes: Buffer, slot: number, transaction: number): void {
  bytes.writeUInt32LE(slot, header.page);
  bytes.writeBigUInt64LE(BigInt(transaction), meta.id);
}

/** store-file.ts asks for no more. */
const mapBytesMax = 2 ** 40;

function isPageSize(bytes: number): boolean {
  return bytes >= 512 && bytes <= 65_536 && (bytes & (bytes - 1)) === 0;
}
