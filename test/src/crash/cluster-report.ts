// What the crash test of a cluster prints: a line for each fault, and the table that
// docs/guarantees.md shows.

import { clusterFaultNames, clusterFaults } from "./cluster-faults.js";
import { type ClusterCrashOptions, crashCluster, type Injected } from "./cluster-run.js";

/** Returns what was wrong. */
export async function showClusterCrash(
  options: Omit<ClusterCrashOptions, "onFault">,
): Promise<readonly string[]> {
  const { rounds, seed } = options;
  process.stderr.write(`seed ${seed}\n`);
  const startedAt = performance.now();
  let done = 0;
  const { injected, counts, exits, faults } = await crashCluster({
    ...options,
    onFault: ({ kind, outageMs, lost }, ledger) => {
      done += 1;
      const outage = `longest outage ${seconds(outageMs)}`;
      process.stderr.write(
        `${done} of ${rounds} ${kind}: ${outage}, ${ledger.counts.accepted} acknowledged, ${lost} lost\n`,
      );
    },
  });
  const { submitted, accepted, runs, told, seen } = counts;
  console.log(
    `seed ${seed}, ${injected.length} faults in ${((performance.now() - startedAt) / 1000).toFixed(0)} s: ` +
      `${submitted} tasks submitted, ${accepted} acknowledged, ${runs} runs, ${told} told, ${seen} seen; ` +
      `dispatchers ended with ${[...exits].map(([how, times]) => `${how} (${times})`).join(", ")}; ` +
      `${faults.length} broken promises`,
  );
  for (const line of tableOf(injected)) console.log(line);
  return faults;
}

function* tableOf(injected: readonly Injected[]): Generator<string> {
  yield "| fault | times | longest outage | median | lost |";
  yield "|---|---|---|---|---|";
  for (const kind of clusterFaultNames) {
    const these = injected.filter((each) => each.kind === kind);
    const outages = these.map(({ outageMs }) => outageMs).sort((one, other) => one - other);
    if (outages.length === 0) continue;
    const lost = these.reduce((sum, each) => sum + each.lost, 0);
    const median = outages[Math.floor(outages.length / 2)] ?? 0;
    yield `| ${clusterFaults[kind].words} | ${these.length} | ${seconds(outages.at(-1) ?? 0)} | ${seconds(median)} | ${lost} |`;
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
