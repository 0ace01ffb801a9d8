// Folders for benchmarks of durability, and the speed of their disk: a figure without it cannot be
// compared.

import { closeSync, fdatasyncSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { median } from "./table.js";

/** How long the disk takes to fsync a page appended to a file. */
export function fsyncMs(folder: string): number {
  mkdirSync(folder, { recursive: true });
  const file = openSync(join(folder, "fsync"), "w");
  const page = Buffer.alloc(4096, 1);
  const times = Array.from({ length: 100 }, () => {
    writeSync(file, page);
    const start = performance.now();
    fdatasyncSync(file);
    return performance.now() - start;
  });
  closeSync(file);
  return median(times);
}

/** Next to the program and not in /tmp, which may be in memory. */
export async function inFolder<Value>(work: (folder: string) => Promise<Value>): Promise<Value> {
  const folder = mkdtempSync(join(process.cwd(), ".bench-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
