// One of the file's B-trees, holding records of one kind. What is read is checked; what is bad is named and never given out.

import type { Database } from "lmdb";
import { BadRecord, faultOf, type RecordKind, RecordWriter, seal } from "../records/index.js";

/** LMDB reads a value out of a buffer between these, so that a commit needs no buffer for each of its records. */
interface Marked extends Buffer {
  start?: number;
  end?: number;
}

// To V8 a buffer with properties of its own is another kind of object, and where it meets several kinds it reads and
// writes each byte the slow way. So marks go on a buffer that nobody else uses, and what LMDB hands out, which has many
// such properties, goes no further than here.
let marked: Marked = Buffer.alloc(0);

/** The memory of this buffer from `start` up to `end`. Both begin at the same place. */
function markedAs({ buffer }: Buffer, start: number, end: number): Marked {
  if (marked.buffer !== buffer) marked = Buffer.from(buffer as ArrayBuffer);
  marked.start = start;
  marked.end = end;
  return marked;
}

function plain({ buffer, byteOffset, length }: Buffer): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, length);
}

/** LMDB has copied a value when `putSync` returns. */
const scratch = new RecordWriter({ size: 65_536 });

export interface Range {
  readonly start?: Buffer;
  /** Not included. */
  readonly end?: Buffer;
  readonly reverse?: boolean;
  readonly limit?: number;
}

export interface TreeOptions {
  readonly database: Database<Buffer, Buffer>;
  readonly kind: RecordKind;
  /** Which record this is, for people. */
  readonly nameOf: (key: Buffer) => string;
}

export class Tree {
  readonly database: Database<Buffer, Buffer>;
  readonly kind: RecordKind;
  readonly nameOf: (key: Buffer) => string;

  constructor({ database, kind, nameOf }: TreeOptions) {
    this.database = database;
    this.kind = kind;
    this.nameOf = nameOf;
  }

  /** A view that is good until the next read. Throws BadRecord if the bytes are not those that were written. */
  read(key: Buffer): Buffer | undefined {
    const read = this.database.getBinaryFast(key);
    if (read === undefined) return undefined;
    const bytes = plain(read);
    const fault = faultOf(bytes, 0, bytes.length, this.kind);
    if (fault !== undefined) throw new BadRecord(`${this.nameOf(key)}: ${fault}`);
    return bytes;
  }

  /** What is wrong with the record there, if something is. */
  faultAt(key: Buffer): string | undefined {
    const read = this.database.getBinaryFast(key);
    const fault = read === undefined ? undefined : faultOf(plain(read), 0, read.length, this.kind);
    return fault === undefined ? undefined : `${this.nameOf(key)}: ${fault}`;
  }

  has(key: Buffer): boolean {
    return this.database.getBinaryFast(key) !== undefined;
  }

  /** Puts the record that lies from `start` up to `end` of a buffer that begins where its memory does. */
  write(key: Buffer, bytes: Buffer, start: number, end: number): void {
    seal(bytes, start, end);
    this.database.putSync(key, markedAs(bytes, start, end));
  }

  /** Puts a record made by `fill`. */
  put(key: Buffer, fill: (to: RecordWriter) => void): void {
    scratch.at = 0;
    const start = scratch.begin(this.kind);
    fill(scratch);
    this.write(key, scratch.bytes, start, scratch.at);
  }

  remove(key: Buffer): void {
    this.database.removeSync(key);
  }

  /** All at once, so that what is done with them may change the tree. */
  keys(range: Range = {}): Buffer[] {
    return Array.from(this.database.getKeys(range), (key) => Buffer.from(key));
  }

  removeRange(range: Range): void {
    for (const key of this.keys(range)) this.remove(key);
  }
}
