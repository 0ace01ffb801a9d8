// Loaded into a process under test (--import, with --expose-gc): writes the most bytes that were alive at once, garbage
// aside, to the file that LIVE_BYTES_FILE names, when the process exits. Unlike its resident size, that does not depend on
// when the collector ran.

import { writeFileSync } from "node:fs";

const sampleMs = 100;
let peakBytes = 0;

function sample(): void {
  (globalThis as { gc?: () => void }).gc?.();
  const { heapUsed, external } = process.memoryUsage();
  peakBytes = Math.max(peakBytes, heapUsed + external);
}

setInterval(sample, sampleMs).unref();
process.on("exit", () => {
  sample();
  writeFileSync(process.env.LIVE_BYTES_FILE ?? "", String(peakBytes));
});
