// Watches the memory of the process. V8 aborts a process whose heap is full, and the kernel kills
// one whose container is. New work is refused long before that.

import { readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** A quarter is left for growth between two checks, for garbage, and for other processes. */
const defaultShare = 0.75;
/** Share of V8's heap limit. Beyond it, V8 collects garbage almost continuously. */
const heapShare = 0.8;
/**
 * Work is accepted again below this share of a limit. At the limit itself it would be accepted and
 * refused in turns.
 */
const enoughShare = 0.9;
/**
 * The allocator keeps the pages of freed buffers, often for the life of the process. So a process
 * may stay at the limit although its work is gone. If its objects and buffers take less than
 * `littleUsedShare` of the limit for `calmMs`, new work is accepted, which uses those pages first.
 * It is refused again when the process grows further, by `growthWhenCalmShare` of the limit.
 */
const littleUsedShare = 1 / 3;
const calmMs = 5_000;
const growthWhenCalmShare = 0.05;
/**
 * Garbage counts until it is collected, and while no work is accepted nothing causes V8 to collect
 * it.
 */
const collectAfterMs = 1_000;
/** A collection stops everything else: 5 ms with a small heap, seconds with gigabytes. */
const collectingShareMax = 1 / 20;
const collectEveryMs = 500;
const lookEveryMs = 100;
/**
 * Rooms grow while the process takes less than the limit and this share of it more. The rest is for
 * garbage: when rooms got it, the kernel killed an attacked dispatcher in a cgroup of 768 MB.
 */
const roomShare = 0.15;
/**
 * Each room may grow by this share of what is free until the next look. What a room takes is often
 * copied once, and there are three rooms.
 */
const growthShare = 1 / 8;

export interface MemoryUse {
  /** Memory of the process without file pages, which the kernel can reclaim. */
  readonly processBytes: number;
  /** Objects and buffers of the main thread, also those that are garbage. */
  readonly usedBytes: number;
  readonly heapBytes: number;
  readonly heapBytesMax: number;
}

/** Where data gathers before it is accepted or while it is sent. */
export interface Room {
  /** It may hold at most this many bytes more than now, until the next call. */
  limitGrowth(bytes: number): void;
}

export interface MemoryWatchOptions {
  readonly bytesMax: number;
  readonly onChange: (isShort: boolean) => void;
  readonly measure?: () => MemoryUse;
  /** Collects garbage. Returns how long that took, in milliseconds. */
  readonly collect?: () => number;
}

export class MemoryWatch {
  readonly #options: Required<MemoryWatchOptions>;
  #shortage: string | undefined;
  #shortSinceMs = 0;
  /** When objects and buffers last took much. */
  #usedMuchMs = Number.NEGATIVE_INFINITY;
  /** After a calm: size of the process at which work is refused again. */
  #calmBytesMax: number | undefined;
  #collectAgainMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  readonly #rooms: Room[] = [];

  constructor(options: MemoryWatchOptions) {
    this.#options = { measure: measureMemory, collect: collectGarbage, ...options };
  }

  /** Why new work is refused; undefined while it is accepted. */
  get shortage(): string | undefined {
    return this.#shortage;
  }

  get bytesMax(): number {
    return this.#options.bytesMax;
  }

  /** Memory of the process without file pages. */
  get bytes(): number {
    return this.#options.measure().processBytes;
  }

  /**
   * New work is refused at the limit, but requests that are still arriving are not work yet. So the
   * rooms in which they gather may fill only a part of the memory that is free beyond the limit.
   */
  bound(...rooms: readonly Room[]): void {
    this.#rooms.push(...rooms);
  }

  start(): void {
    this.#timer = setInterval(() => this.look(performance.now()), lookEveryMs);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  look(nowMs: number): void {
    const { measure, onChange, bytesMax } = this.#options;
    const wasShort = this.#shortage !== undefined;
    const use = measure();
    if (use.usedBytes >= bytesMax * littleUsedShare) this.#usedMuchMs = nowMs;
    if (wasShort && nowMs - this.#usedMuchMs >= calmMs)
      this.#calmBytesMax = Math.max(bytesMax, use.processBytes + bytesMax * growthWhenCalmShare);
    this.#shortage = this.#shortageOf(use, wasShort ? enoughShare : 1);
    if (this.#shortage !== undefined || use.processBytes < bytesMax * enoughShare)
      this.#calmBytesMax = undefined;
    const roomBytesMax = Math.max(bytesMax * (1 + roomShare), this.#calmBytesMax ?? 0);
    const freeBytes = Math.max(0, roomBytesMax - use.processBytes);
    for (const room of this.#rooms) room.limitGrowth(Math.floor(freeBytes * growthShare));
    const isShort = this.#shortage !== undefined;
    if (isShort !== wasShort) {
      this.#shortSinceMs = nowMs;
      onChange(isShort);
    } else if (isShort) this.#collect(nowMs);
  }

  #shortageOf({ processBytes, heapBytes, heapBytesMax }: MemoryUse, share: number): string | undefined {
    const { bytesMax } = this.#options;
    if (processBytes >= (this.#calmBytesMax ?? bytesMax * share))
      return `the process takes ${inMB(processBytes)} of the ${inMB(bytesMax)} MB of limits.memoryBytes`;
    if (heapBytes >= heapBytesMax * heapShare * share)
      return `the heap takes ${inMB(heapBytes)} of its ${inMB(heapBytesMax)} MB (--max-old-space-size)`;
    return undefined;
  }

  #collect(nowMs: number): void {
    if (nowMs - this.#shortSinceMs < collectAfterMs || nowMs < this.#collectAgainMs) return;
    const tookMs = this.#options.collect();
    this.#collectAgainMs = nowMs + Math.max(collectEveryMs, tookMs / collectingShareMax);
  }
}

function inMB(bytes: number): number {
  return Math.round(bytes / 1e6);
}

/** A share of the container's limit, or of the machine's memory if there is none. */
export function defaultMemoryBytes(constrained = process.constrainedMemory(), machine = totalmem()): number {
  const bytes = constrained > 0 && constrained < machine ? constrained : machine;
  return Math.floor(bytes * defaultShare);
}

function measureMemory(): MemoryUse {
  const { used_heap_size: heapBytes, external_memory, heap_size_limit: heapBytesMax } = getHeapStatistics();
  return { processBytes: anonymousBytes(), usedBytes: heapBytes + external_memory, heapBytes, heapBytesMax };
}

const pageBytes = 4096;

/** The last figure that could be read. */
let anonymousLast = 0;

/**
 * Linux reports which part of the resident memory is file pages, such as those of the store. On
 * other systems all of it counts.
 */
function anonymousBytes(): number {
  try {
    const [, resident, shared] = readFileSync("/proc/self/statm", "latin1").split(" ").map(Number);
    if (resident !== undefined && shared !== undefined) anonymousLast = (resident - shared) * pageBytes;
  } catch {
    anonymousLast = residentBytes();
  }
  return anonymousLast;
}

/** Not on Linux, or no file can be opened now. Node then throws here too. */
function residentBytes(): number {
  try {
    return process.memoryUsage.rss();
  } catch {
    return anonymousLast;
  }
}

let gc: (() => void) | undefined;

/** Node offers this function only with a flag, which can be set at run time. */
function collectGarbage(): number {
  if (gc === undefined) {
    setFlagsFromString("--expose-gc");
    gc = runInNewContext("gc") as () => void;
  }
  const startedMs = performance.now();
  gc();
  return performance.now() - startedMs;
}
