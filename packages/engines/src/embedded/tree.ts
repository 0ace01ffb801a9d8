// One of the file's B-trees, with records of one kind. Every read checks the CRC. A damaged record
// is named and never returned. Every change keeps the tree's sum (entry-sums.ts).

import { BadRecord, faultOf, type RecordKind, RecordWriter, seal } from "../records/index.js";
import { crcOf, entryHash } from "./entry-sums.js";

/**
 * lmdb takes a value from a buffer between these two properties, so that a commit needs no buffer
 * for each record.
 */
interface Marked extends Buffer {
  start?: number;
  end?: number;
}

// To V8, a buffer with extra properties is another kind of object, and code that meets several
// kinds reads and writes each byte slowly. So these properties are set only on a buffer that
// nothing else uses, and lmdb's own buffers, which have many, do not leave this file.
let marked: Marked = Buffer.alloc(0);

/**
 * A view of this buffer's memory with `start` and `end`. The buffer must start at offset 0 of its
 * memory.
 */
function markedAs({ buffer }: Buffer, start: number, end: number): Marked {
  if (marked.buffer !== buffer) marked = Buffer.from(buffer as ArrayBuffer);
  marked.start = start;
  marked.end = end;
  return marked;
}

function plain({ buffer, byteOffset, length }: Buffer): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, length);
}

/** One buffer is enough, because `putSync` copies the value. */
const scratch = new RecordWriter({ size: 65_536 });

/** An ordered tree of keys and values: LMDB's, or one in memory in tests. */
export interface TreeDatabase {
  /** The result is valid until the next read. */
  getBinaryFast(key: Buffer): Buffer | undefined;
  getBinary(key: Buffer): Buffer | undefined;
  /**
   * Copies the value: all of it, or the bytes between its properties `start` and `end`. Returns
   * true if it was put. With `noOverwrite`, it is not if the key is there.
   */
  putSync(key: Buffer, value: Buffer, options?: { readonly noOverwrite: boolean }): unknown;
  removeSync(key: Buffer): unknown;
  getKeys(range: Range & { readonly snapshot?: boolean }): Iterable<Buffer>;
  getStats(): object;
}

export interface Range {
  readonly start?: Buffer;
  /** Exclusive. */
  readonly end?: Buffer;
  readonly reverse?: boolean;
  readonly limit?: number;
}

const onlyNew = { noOverwrite: true } as const;

export interface TreeOptions {
  /** Its name in the file. */
  readonly name: string;
  readonly database: TreeDatabase;
  readonly kind: RecordKind;
  /** Describes the record with this key, for messages. */
  readonly nameOf: (key: Buffer) => string;
}

export class Tree {
  readonly name: string;
  readonly database: TreeDatabase;
  readonly kind: RecordKind;
  readonly nameOf: (key: Buffer) => string;
  /** The sum of its entries; undefined outside a transaction, where it must not change. */
  #sum: number | undefined;
  isChanged = false;

  constructor({ name, database, kind, nameOf }: TreeOptions) {
    this.name = name;
    this.database = database;
    this.kind = kind;
    this.nameOf = nameOf;
  }

  /** A view that is valid until the next read. Throws BadRecord if the record is damaged. */
  read(key: Buffer): Buffer | undefined {
    const read = this.database.getBinaryFast(key);
    if (read === undefined) return undefined;
    const bytes = plain(read);
    const fault = faultOf(bytes, 0, bytes.length, this.kind);
    if (fault !== undefined) throw new BadRecord(`${this.nameOf(key)}: ${fault}`);
    return bytes;
  }

  /** Describes the damage of the record at this key; undefined if there is none. */
  faultAt(key: Buffer): string | undefined {
    const read = this.database.getBinaryFast(key);
    const fault = read === undefined ? undefined : faultOf(plain(read), 0, read.length, this.kind);
    return fault === undefined ? undefined : `${this.nameOf(key)}: ${fault}`;
  }

  has(key: Buffer): boolean {
    return this.database.getBinaryFast(key) !== undefined;
  }

  /**
   * Writes the record between `start` and `end` of a buffer that starts at offset 0 of its memory.
   */
  write(key: Buffer, bytes: Buffer, start: number, end: number): void {
    seal(bytes, start, end);
    this.#store(key, markedAs(bytes, start, end), crcOf(bytes, start));
  }

  /** Writes a record whose fields `fill` writes. */
  put(key: Buffer, fill: (to: RecordWriter) => void): void {
    scratch.at = 0;
    const start = scratch.begin(this.kind);
    fill(scratch);
    this.write(key, scratch.bytes, start, scratch.at);
  }

  /** Writes a record as it is, with its header. */
  copy(key: Buffer, record: Buffer): void {
    this.#store(key, record, crcOf(plain(record), 0));
  }

  remove(key: Buffer): void {
    const crc = this.#crcAt(key);
    if (crc === undefined) return;
    this.#add(-entryHash(key, 0, key.length, crc));
    this.database.removeSync(key);
  }

  #store(key: Buffer, record: Buffer, crc: number): void {
    this.#add(entryHash(key, 0, key.length, crc));
    // Most keys are new, and their old record need not be looked for.
    if (this.database.putSync(key, record, onlyNew) === true) return;
    this.#add(-entryHash(key, 0, key.length, this.#crcAt(key) as number));
    this.database.putSync(key, record);
  }

  #crcAt(key: Buffer): number | undefined {
    const read = this.database.getBinaryFast(key);
    return read && crcOf(plain(read), 0);
  }

  #add(hash: number): void {
    this.#sum = (this.sum + hash) | 0;
    this.isChanged = true;
  }

  get sum(): number {
    if (this.#sum === undefined) throw new Error(`tree ${this.name} was changed outside a transaction`);
    return this.#sum;
  }

  /** A transaction begins, and its sum so far is this. */
  begin(sum: number): void {
    this.#sum = sum;
    this.isChanged = false;
  }

  end(): void {
    this.#sum = undefined;
  }

  /** The sum of the entries that are there. Reads all of them. */
  countedSum(): number {
    let sum = 0;
    for (const key of this.database.getKeys({ snapshot: false }))
      sum = (sum + entryHash(key, 0, key.length, this.#crcAt(key) ?? 0)) | 0;
    return sum;
  }

  /** All keys at once, so that the caller may change the tree while it goes through them. */
  keys(range: Range = {}): Buffer[] {
    return Array.from(this.database.getKeys(range), (key) => Buffer.from(key));
  }

  removeRange(range: Range): void {
    for (const key of this.keys(range)) this.remove(key);
  }
}
