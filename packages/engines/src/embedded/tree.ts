// One of the file's B-trees, holding records of one kind. What is read is checked; what is bad is named and never given out.

import type { Database } from "lmdb";
import { BadRecord, faultOf, type RecordKind, RecordWriter, seal } from "../records/index.js";

/** LMDB reads a value out of a buffer between these, so that a commit needs no buffer for each of its records. */
interface Marked extends Buffer {
  start?: number;
  end?: number;
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
    const bytes = this.database.getBinaryFast(key);
    if (bytes === undefined) return undefined;
    const fault = faultOf(bytes, 0, bytes.length, this.kind);
    if (fault !== undefined) throw new BadRecord(`${this.nameOf(key)}: ${fault}`);
    return bytes;
  }

  /** What is wrong with the record there, if something is. */
  faultAt(key: Buffer): string | undefined {
    const bytes = this.database.getBinaryFast(key);
    const fault = bytes === undefined ? undefined : faultOf(bytes, 0, bytes.length, this.kind);
    return fault === undefined ? undefined : `${this.nameOf(key)}: ${fault}`;
  }

  has(key: Buffer): boolean {
    return this.database.getBinaryFast(key) !== undefined;
  }

  /** Puts the record that lies from `start` up to `end` of a buffer that begins where its memory does. */
  write(key: Buffer, bytes: Buffer, start: number, end: number): void {
    seal(bytes, start, end);
    const marked = bytes as Marked;
    marked.start = start;
    marked.end = end;
    this.database.putSync(key, bytes);
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
