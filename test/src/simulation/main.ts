// `npm run simulate -- [--seed N] [--count M] [--trace] [--until-failure] [--no-invariants]
// [--population P]`: runs M seeds from N on. One seed prints its trace. Several print a summary,
// and the trace of each seed that fails. Exits with 1 if any failed.

import { parseArgs } from "node:util";
import { namedPopulations } from "./populations.js";
import { type Report, runSeed } from "./scenario.js";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    count: { type: "string", default: "1" },
    trace: { type: "boolean" },
    "until-failure": { type: "boolean" },
    "no-invariants": { type: "boolean" },
    population: { type: "string" },
  },
});
const first = Number(values.seed);
const count = Number(values.count);
if (!Number.isSafeInteger(first) || !Number.isSafeInteger(count) || count < 1) {
  console.error("--seed and --count take whole numbers");
  process.exit(2);
}
const population = namedPopulations.find((name) => name === values.population);
if (values.population !== undefined && population === undefined) {
  console.error(`--population is one of ${namedPopulations.join(", ")}`);
  process.exit(2);
}
const checksInvariants = values["no-invariants"] !== true;
/** Enough to see the cause; `--seed N --trace` prints the whole trace. */
const traceLinesShown = 60;

const failed: Report[] = [];
let accepted = 0;
let lives = 0;
let lostAttempts = 0;
for (let seed = first; seed < first + count; seed += 1) {
  const isShown = count === 1 || values.trace === true;
  const report = await runSeed({
    seed,
    checksInvariants,
    ...(population && { population }),
    ...(isShown ? { trace: console.log } : {}),
  });
  accepted += report.accepted;
  lives += report.lives;
  lostAttempts += report.lostAttempts;
  if (report.violation !== undefined) {
    failed.push(report);
    await showFailure(report);
    if (values["until-failure"] === true) break;
  }
  if (process.stderr.isTTY && seed % 50 === 0) process.stderr.write(`\r${seed - first + 1} of ${count}`);
}
if (process.stderr.isTTY) process.stderr.write("\r");
console.log(
  `${count} seeds from ${first}: ${accepted} tasks accepted, ${lives} lives of the dispatcher, ${lostAttempts} attempts lost, ` +
    `${failed.length} seeds failed${failed.length > 0 ? `: ${failed.map(({ seed }) => seed).join(" ")}` : ""}`,
);
process.exit(failed.length > 0 ? 1 : 0);

/** Runs the same seed again for its trace, which is the same. */
async function showFailure({ seed, violation }: Report): Promise<void> {
  const lines: string[] = [];
  if (count > 1)
    await runSeed({
      seed,
      checksInvariants,
      ...(population && { population }),
      trace: (line) => lines.push(line),
    });
  if (lines.length > traceLinesShown) console.log(`… (npm run simulate -- --seed ${seed})`);
  for (const line of lines.slice(-traceLinesShown)) console.log(line);
  console.log(`seed ${seed} failed: ${violation}`);
}
