// The memory of a process, as the dispatcher itself counts it: without pages of files, which the
// kernel takes back when it needs them. The store's file is mapped, so a dispatcher that has
// written much seems to hold much. Only Linux has these figures; elsewhere they are 0.

import { readFileSync } from "node:fs";

const MiB = 1024 * 1024;
const pageBytes = 4096;
const lookEveryMs = 50;

export class ProcessWatch {
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;
  #peakBytes = 0;

  /** `onLook` gets the memory of each look. */
  constructor(pid: number, onLook: (bytes: number) => void) {
    this.#pid = pid;
    this.#timer = setInterval(() => {
      const { bytes } = this;
      this.#peakBytes = Math.max(this.#peakBytes, bytes);
      onLook(bytes);
    }, lookEveryMs);
  }

  get bytes(): number {
    return anonymousBytes(this.#pid);
  }

  /** The highest since the last `forgetPeak`. */
  get peakBytes(): number {
    return Math.max(this.#peakBytes, this.bytes);
  }

  forgetPeak(): void {
    this.#peakBytes = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

export function inMiB(bytes: number): number {
  return Math.round(bytes / MiB);
}

function anonymousBytes(pid: number): number {
  const [, resident = 0, shared = 0] = readOrNothing(`/proc/${pid}/statm`).split(" ").map(Number);
  return (resident - shared) * pageBytes;
}

export function readOrNothing(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
