// Reads the file's two roots and checks that they can follow each other.

import { closeSync, openSync, readSync } from "node:fs";
import { BadRecord } from "../records/index.js";
import { type Meta, readMeta } from "./page-form.js";

/** The number of the last transaction. Throws BadRecord. */
export function lastTransactionOf(path: string): number {
  const file = openSync(path, "r");
  try {
    return rootsOf(file).newest.transaction;
  } finally {
    closeSync(file);
  }
}

export interface Roots {
  readonly newest: Meta;
  readonly older: Meta;
}

/** Throws BadRecord. */
export function rootsOf(file: number): Roots {
  const smallest = 512;
  const first = readMeta(readAt(file, 0, smallest), 0);
  const second = readMeta(readAt(file, first.pageBytes, smallest), 1);
  const [newest, older] = first.transaction > second.transaction ? [first, second] : [second, first];
  // Transaction n writes root n modulo 2. In a new file both roots have transaction 0.
  const isNew = newest.transaction === 0 && older.transaction === 0;
  const isTurn = newest.transaction === older.transaction + 1 && newest.transaction % 2 === newest.slot;
  if (!isNew && !isTurn) {
    throw new BadRecord(
      `the roots are of transactions ${first.transaction} and ${second.transaction}, which do not follow each other`,
    );
  }
  return { newest, older };
}

export function readAt(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  if (readSync(file, bytes, 0, length, position) < length) throw new BadRecord("the file is cut short");
  return bytes;
}
