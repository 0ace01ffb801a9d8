// `npm run crash -- [--kills N] [--engine NAME]`: kills a dispatcher under load N times and checks
// from outside that nothing was lost, invented or reported differently. Exits with 1 if anything
// was.
//
// `npm run crash -- --engine postgres --faults all|NAME,… [--rounds N] [--seed N]`: the same with
// two dispatchers and two Postgres servers, and N faults of these kinds, one after another.

import { parseArgs } from "node:util";
import { isInstalled, TestServer } from "../cluster/test-server.js";
import { type ClusterFaultName, clusterFaultNames } from "./cluster-faults.js";
import { showClusterCrash } from "./cluster-report.js";
import { crash } from "./run.js";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "30" },
    engine: { type: "string", default: "embedded" },
    faults: { type: "string" },
    rounds: { type: "string" },
    seed: { type: "string", default: String(Math.floor(1e6 * Math.random())) },
  },
});
process.setMaxListeners(0);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
/** More would hide the first ones. */
const faultsShown = 20;

if (values.engine === "postgres" && !isInstalled) refuse("Postgres is not installed here");
const faults =
  values.faults === undefined
    ? await killOneDispatcher(wholeNumber("kills", values.kills))
    : await showClusterCrash({
        kinds: kindsIn(values.faults),
        rounds: wholeNumber("rounds", values.rounds ?? String(kindsIn(values.faults).length)),
        seed: wholeNumber("seed", values.seed),
      });
for (const fault of faults.slice(0, faultsShown)) console.log(`  ${fault}`);
if (faults.length > faultsShown) console.log(`  … and ${faults.length - faultsShown} more`);
process.exit(faults.length > 0 ? 1 : 0);

async function killOneDispatcher(kills: number): Promise<readonly string[]> {
  const startedAt = performance.now();
  const server = values.engine === "postgres" ? await TestServer.start() : undefined;
  const { counts, toldTwice, readyMs, faults } = await crash({
    kills,
    engine: values.engine,
    url: server?.url,
    onKill: (kill, ledger) => {
      if (process.stderr.isTTY || kill % 25 === 0)
        process.stderr.write(
          `${process.stderr.isTTY ? "\r" : ""}${kill} of ${kills} kills, ${ledger.counts.accepted} tasks acknowledged${process.stderr.isTTY ? "" : "\n"}`,
        );
    },
  });
  if (process.stderr.isTTY) process.stderr.write("\n");
  const { submitted, accepted, runs, told, seen } = counts;
  console.log(
    `${kills} kills in ${((performance.now() - startedAt) / 1000).toFixed(0)} s: ${submitted} tasks submitted, ${accepted} acknowledged, ` +
      `${runs} runs, ${told} told (${toldTwice} of them more than once), ${seen} seen through http; ` +
      `ready after at most ${Math.max(...readyMs).toFixed(0)} ms; ${faults.length} faults`,
  );
  await server?.destroy();
  return faults;
}

function kindsIn(text: string): readonly ClusterFaultName[] {
  if (values.engine !== "postgres") refuse("--faults needs --engine postgres");
  if (text === "all") return clusterFaultNames;
  return text.split(",").map((word) => {
    const kind = clusterFaultNames.find((name) => name === word);
    return kind ?? refuse(`--faults takes "all" or some of ${clusterFaultNames.join(", ")}`);
  });
}

function wholeNumber(option: string, text: string): number {
  const number = Number(text);
  return Number.isSafeInteger(number) && number >= 1 ? number : refuse(`--${option} takes a whole number`);
}

function refuse(words: string): never {
  console.error(words);
  process.exit(2);
}
