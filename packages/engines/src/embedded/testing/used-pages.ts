// The pages of a store's file that its trees use, for tests that damage single ones.

import {
  nodeFlags,
  pageFlags,
  pageHeaderBytes,
  readMeta,
  readPageHeader,
  readTreeRecord,
} from "../page-form.js";

export const pageBytes = 4096;

export const pageOf = (file: Buffer, page: number) => file.subarray(page * pageBytes, (page + 1) * pageBytes);

interface Node {
  readonly key: string;
  /** The child's page, in a branch. */
  readonly child: number;
  readonly flags: number;
  /** Where the record starts in the page. */
  readonly data: number;
}

export function nodesOf(page: Buffer): Node[] {
  return Array.from({ length: readPageHeader(page).lower >> 1 }, (_, at) => {
    const start = pageHeaderBytes + page.readUInt16LE(pageHeaderBytes + 2 * at);
    const data = start + 8 + page.readUInt16LE(start + 6);
    return {
      key: page.toString("latin1", start + 8, data),
      child: page.readUInt32LE(start),
      flags: page.readUInt16LE(start + 4),
      data,
    };
  });
}

/** Pages of large records are left out, except the first of each. */
export function usedPages(file: Buffer): number[] {
  const metas = [readMeta(file, 0), readMeta(file.subarray(pageBytes), 1)];
  const newest = metas.reduce((one, other) => (one.transaction > other.transaction ? one : other));
  const used: number[] = [];
  const walk = (root: number | undefined): void => {
    if (root === undefined) return;
    used.push(root);
    const page = pageOf(file, root);
    const isBranch = readPageHeader(page).flags === pageFlags.branch;
    for (const { child, flags, data } of nodesOf(page)) {
      if (isBranch) walk(child);
      else if ((flags & nodeFlags.tree) !== 0) walk(readTreeRecord(page, data).root);
      else if ((flags & nodeFlags.big) !== 0) used.push(page.readUInt32LE(data));
    }
  };
  walk(newest.main.root);
  walk(newest.free.root);
  return used;
}
