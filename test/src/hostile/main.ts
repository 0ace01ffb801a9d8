// `npm run hostile -- [--attack NAME] [--scale N] [--minutes N] [--nice N] [--node-arg ARG]
// [--within COMMAND]`: hostile peers against a real dispatcher, with real load at the same time.
// Runs one attack, or each one alone; with --minutes all of them together, repeatedly. Exits with 1
// if a goal is missed.

import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { attacks } from "./attacks.js";
import { missedBySiege, missedBySoak } from "./goals.js";
import { besiege, type DoorReport, type SiegeReport } from "./siege.js";
import { soak } from "./soak.js";

const { values } = parseArgs({
  options: {
    attack: { type: "string", multiple: true },
    scale: { type: "string", default: "1" },
    minutes: { type: "string" },
    "node-arg": { type: "string", multiple: true, default: [] },
    within: { type: "string" },
    nice: { type: "string", default: "19" },
    json: { type: "boolean", default: false },
  },
});
process.setMaxListeners(0);
const names = values.attack ?? Object.keys(attacks);
const unknown = names.find((name) => attacks[name] === undefined);
if (unknown !== undefined) {
  console.error(`--attack ${unknown}: expected one of ${Object.keys(attacks).join(", ")}`);
  process.exit(2);
}
const launch = {
  nodeArgs: values["node-arg"],
  ...(values.within === undefined ? {} : { within: commandIn(values.within) }),
  env: { YARD_LOG: "silent" },
};

const nice = Number(values.nice);
let hasMissed = false;
if (values.minutes !== undefined) {
  const onPhase = (phase: string) => console.error(`${new Date().toISOString()} ${phase}`);
  const report = await soak({ attacks: names, minutes: Number(values.minutes), nice, launch, onPhase });
  show(report, missedBySoak(report), true);
} else {
  for (const name of names) {
    const report = await besiege({ attacks: [name], scale: Number(values.scale), nice, launch });
    show(report, missedBySiege(report), false);
  }
}
process.exit(hasMissed ? 1 : 0);

/** The dispatcher runs in a folder of its own, so a path of a command must not depend on ours. */
function commandIn(text: string): string[] {
  const [program = "", ...args] = text.split(" ");
  return [program.includes("/") ? resolve(program) : program, ...args];
}

function show(report: SiegeReport, missed: readonly string[], isDetailed: boolean): void {
  hasMissed ||= missed.length > 0;
  if (values.json) {
    console.log(JSON.stringify({ ...report, missed }));
    return;
  }
  const { sentBytes, memoryAfter, idleMiB, peakMiB, afterMiB, longestStallMs, longestRawStallMs, notReady } =
    report;
  const name = report.attacks.length > 1 ? "all" : report.attacks[0];
  console.log(
    `${missed.length === 0 ? "ok  " : "FAIL"} ${name}: sent ${(sentBytes / 1e6).toFixed(1)} MB; idle ${idleMiB} MiB, peak +${peakMiB}, after +${afterMiB} (${memoryAfter}); ` +
      `longest stall ${longestStallMs} ms (as measured ${longestRawStallMs}); ` +
      `slowest answers ${slowest(report)}; lost ${report.lost}`,
  );
  for (const fault of missed) console.log(`     missed: ${fault}`);
  for (const reason of notReady) console.log(`     not ready: ${reason}`);
  if (isDetailed) for (const door of report.doors) console.log(`     ${lineOf(door)}`);
}

function slowest({ doors }: SiegeReport): string {
  const sorted = [...doors].sort((one, other) => other.longestMs - one.longestMs);
  return sorted
    .slice(0, 3)
    .map(({ door, longestMs, longestAtSeconds }) => {
      return `${door} ${Math.round(longestMs)} at ${longestAtSeconds.toFixed(1)} s`;
    })
    .join(", ");
}

function lineOf(report: DoorReport): string {
  const { door, answers, p99Ms, undisturbedP99Ms, rawP99Ms, undisturbedRawP99Ms, longestMs } = report;
  const p99 = `p99 ${p99Ms.toFixed(1)} ms (undisturbed ${undisturbedP99Ms.toFixed(1)})`;
  const raw = `as measured ${rawP99Ms.toFixed(0)} (${undisturbedRawP99Ms.toFixed(0)})`;
  return `${door}: ${answers} answers, ${p99}, ${raw}, longest ${Math.round(longestMs)} ms, ${report.refusals} refused`;
}
