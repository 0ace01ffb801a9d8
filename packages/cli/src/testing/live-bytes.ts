// Loaded into a process under test (--import, with --expose-gc). At exit it writes the peak of live
// bytes, without garbage, to the file in LIVE_BYTES_FILE. Unlike the resident size, this does not
// depend on when the collector ran.

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
