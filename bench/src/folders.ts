// Folders for benchmarks of what is durable, and what their disk takes by itself: a figure without it travels badly.

import { closeSync, fdatasyncSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { median } from "./table.js";

/** What the disk takes to make a page safe that is appended to a file. */
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

/** Beside the program and not in /tmp, which may be memory. */
export async function inFolder<Value>(work: (folder: string) => Promise<Value>): Promise<Value> {
  const folder = mkdtempSync(join(process.cwd(), ".bench-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
