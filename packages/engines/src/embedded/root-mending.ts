// If one root is damaged, the file can still be read by the other: this makes a copy with the
// intact root in both places. Changes of the last transaction may then be missing.

import { closeSync, copyFileSync, openSync, writeSync } from "node:fs";
import { BadRecord } from "../records/index.js";
import { readAt } from "./file-roots.js";
import { type Meta, pageHeaderBytes, readMeta, readPageHeader, writeMetaPlace } from "./page-form.js";

/** Possible positions of the second root, used if the first does not tell. */
const pageSizes = [4096, 8192, 16_384, 32_768, 65_536, 2048, 1024, 512];

/**
 * Makes the copy and returns a description of the damage. Returns undefined, without a copy, if it
 * would not help.
 */
export function mendRoots(path: string, copy: string): string | undefined {
  const file = openSync(path, "r");
  const [first, second] = [credibleMeta(file, 0, 0), firstCredible(file)];
  closeSync(file);
  if ((first === undefined) === (second === undefined)) return undefined;
  const sound = (first ?? second) as Meta;
  copyFileSync(path, copy);
  const target = openSync(copy, "r+");
  try {
    const page = readAt(target, sound.slot * sound.pageBytes, sound.pageBytes);
    const slot = 1 - sound.slot;
    // One transaction older, so that LMDB uses the original.
    writeMetaPlace(page, slot, sound.transaction - 1);
    writeSync(target, page, 0, page.length, slot * sound.pageBytes);
    return `root page ${slot}: it is damaged; what the last transaction changed may be gone`;
  } finally {
    closeSync(target);
  }
}

function firstCredible(file: number): Meta | undefined {
  for (const size of pageSizes) {
    const meta = credibleMeta(file, 1, size);
    if (meta?.pageBytes === size) return meta;
  }
  return undefined;
}

/** A root that leads to a page of its own transaction: every transaction writes that page. */
function credibleMeta(file: number, slot: number, position: number): Meta | undefined {
  try {
    const meta = readMeta(readAt(file, position, 512), slot);
    const { root } = meta.main;
    if (root === undefined) return undefined;
    const found = readPageHeader(readAt(file, root * meta.pageBytes, pageHeaderBytes));
    return found.page === root && found.transaction === meta.transaction ? meta : undefined;
  } catch (error) {
    if (error instanceof BadRecord || error instanceof RangeError) return undefined;
    throw error;
  }
}
