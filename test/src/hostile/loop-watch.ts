// Runs inside the attacked dispatcher (`node --import`): writes a line for each stall of its event
// loop to the file in `YARD_LOOP_FILE`, and collects garbage when it gets SIGUSR2. Time in which
// the main thread was ready to run and had no processor is listed separately: other work on the
// machine causes it.

import { appendFileSync, writeFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { isMainThread } from "node:worker_threads";
import { inMiB, readOrNothing } from "./process-watch.js";
import { waitedMsOf } from "./starvation.js";

const lookEveryMs = 5;
/** Shorter stalls are not written. */
const stallMsMin = 20;

export interface Stall {
  /** Wall time of its end. */
  readonly at: number;
  readonly ms: number;
  /** Part of `ms` in which the thread waited for a processor. */
  readonly waitedMs: number;
}

/** The stalls in the file since this time. */
export function stallsSince(file: string, at: number): Stall[] {
  const lines = readOrNothing(file).split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Stall).filter((stall) => stall.at >= at);
}

const file = process.env.YARD_LOOP_FILE;
if (file !== undefined && isMainThread && process.argv[1]?.endsWith("yardmaster.js") === true) watch(file);

function watch(path: string): void {
  let last = { at: performance.now(), waitedMs: waitedMsOf(process.pid) };
  setInterval(() => {
    const look = { at: performance.now(), waitedMs: waitedMsOf(process.pid) };
    const ms = look.at - last.at - lookEveryMs;
    const waitedMs = look.waitedMs - last.waitedMs;
    if (ms > stallMsMin) appendFileSync(path, `${JSON.stringify({ at: Date.now(), ms, waitedMs })}\n`);
    last = look;
  }, lookEveryMs).unref();
  process.on("SIGUSR2", () => {
    collectGarbage();
    writeFileSync(memoryFileOf(path), JSON.stringify(process.memoryUsage()));
  });
}

/** An idle process keeps its garbage; what is left after this is held for a reason. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

function memoryFileOf(loopFile: string): string {
  return `${loopFile}.memory`;
}

/** The dispatcher's own account of its memory after the last SIGUSR2. */
export function memoryAfter(loopFile: string): string {
  const text = readOrNothing(memoryFileOf(loopFile));
  if (text === "") return "unknown";
  const usage = JSON.parse(text) as NodeJS.MemoryUsage;
  const { heapUsed, heapTotal, external } = usage;
  return `heap ${inMiB(heapUsed)} of ${inMiB(heapTotal)} MiB, buffers ${inMiB(external)} MiB`;
}
