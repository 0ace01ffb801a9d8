// What a process costs, as the kernel counts it: its resident memory, the highest since it was last asked to forget, and how
// long its main thread had to wait for a processor. Linux alone has these; elsewhere the figures are 0.

import { readFileSync, writeFileSync } from "node:fs";

const MiB = 1024 * 1024;

export interface Memory {
  readonly nowBytes: number;
  readonly peakBytes: number;
}

export function memoryOf(pid: number): Memory {
  const status = readOrNothing(`/proc/${pid}/status`);
  return { nowBytes: kilobytesIn(status, "VmRSS"), peakBytes: kilobytesIn(status, "VmHWM") };
}

/** Starts the peak anew; where the kernel does not allow that, the peak is that of the whole life. */
export function forgetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
  } catch {
    // A container may forbid it.
  }
}

/**
 * Milliseconds for which the main thread was ready to run and had no processor. Other work on the machine causes them, so
 * they are no stall of the process.
 */
export function starvedMs(pid: number): number {
  const [, waitedNs] = readOrNothing(`/proc/${pid}/task/${pid}/schedstat`).split(" ");
  return Number(waitedNs ?? 0) / 1e6;
}

export function inMiB(bytes: number): number {
  return Math.round(bytes / MiB);
}

function kilobytesIn(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? 0) * 1024;
}

function readOrNothing(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
