// On a virtual machine the host gives processors to others now and then, and says so. A run that this happened to measures
// the neighbours: it is made again, and what was stolen from the one that counts is printed.

import { readFileSync } from "node:fs";

/** More than this, of all processors' time, and a run is made again. */
const shareMaxUsual = 0.02;

export interface Measured<Value> {
  readonly value: Value;
  /** Of the time that all processors had. */
  readonly stolenShare: number;
}

export interface Patience {
  readonly shareMax?: number;
  readonly triesMax?: number;
}

/** The run that least was stolen from: the first that is as good as alone, or the best of a few. */
export async function leastDisturbed<Value>(
  run: () => Promise<Value>,
  { shareMax = shareMaxUsual, triesMax = 3 }: Patience = {},
): Promise<Measured<Value>> {
  let best: Measured<Value> | undefined;
  for (let left = triesMax; left > 0; left--) {
    const before = processorTimes();
    const value = await run();
    const after = processorTimes();
    const stolenShare = (after.stolen - before.stolen) / Math.max(1, after.all - before.all);
    if (best === undefined || stolenShare < best.stolenShare) best = { value, stolenShare };
    if (best.stolenShare <= shareMax) break;
  }
  return best as Measured<Value>;
}

/** Since the system started, in ticks; nothing is known where it does not tell. */
function processorTimes(): { readonly all: number; readonly stolen: number } {
  try {
    const [, ...times] = readFileSync("/proc/stat", "latin1").split("\n", 1)[0]?.split(/ +/) ?? [];
    // What guests of ours had is counted as ours already.
    const own = times.slice(0, 8).map(Number);
    return { all: own.reduce((sum, each) => sum + each, 0), stolen: own[7] ?? 0 };
  } catch {
    return { all: 0, stolen: 0 };
  }
}
