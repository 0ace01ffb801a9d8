// Runs the simulator of the Postgres engine over seeds, up to the first failure: `simulate.js
// [FIRST] [COUNT]`. A single seed prints its trace.

import { ClusterSimulation } from "./cluster-simulation.js";

const [first = 1, count = 100] = process.argv.slice(2).map(Number);
const print = (line: string) => process.stdout.write(`${line}\n`);
const sums = { acknowledged: 0, takeOvers: 0, faults: 0 };
let slowestMs = 0;
for (let seed = first; seed < first + count; seed++) {
  const report = await new ClusterSimulation(seed, count === 1 ? print : undefined).run();
  if (report.violation !== undefined) {
    print(`seed ${seed}: ${report.violation}`);
    process.exit(1);
  }
  for (const name of ["acknowledged", "takeOvers", "faults"] as const) sums[name] += report[name];
  slowestMs = Math.max(slowestMs, report.healedMs);
}
print(
  `${count} seeds: ${sums.acknowledged} batches, ${sums.takeOvers} take-overs, ${sums.faults} faults, ` +
    `healed within ${(slowestMs / 1000).toFixed(1)} s`,
);
