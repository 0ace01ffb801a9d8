// `npm run hostile -- [--attack NAME] [--scale N] [--minutes N]`: hostile peers against a real dispatcher, beside real load.
// One attack, or each by itself; with --minutes all of them at once, over and over. Ends with 1 when a goal is missed.

import { parseArgs } from "node:util";
import { attacks } from "./attacks.js";
import { besiege, type SiegeReport } from "./siege.js";
import { soak } from "./soak.js";

const { values } = parseArgs({
  options: {
    attack: { type: "string", multiple: true },
    scale: { type: "string", default: "1" },
    minutes: { type: "string" },
    "node-arg": { type: "string", multiple: true, default: [] },
    within: { type: "string" },
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
  ...(values.within === undefined ? {} : { within: values.within.split(" ") }),
  env: { YARD_LOG: "silent" },
};

const reports: SiegeReport[] = [];
if (values.minutes !== undefined) {
  reports.push(await soak({ attacks: names, minutes: Number(values.minutes), launch }));
} else {
  for (const name of names) {
    const report = await besiege({ attacks: [name], scale: Number(values.scale), launch });
    show(report);
    reports.push(report);
  }
}
if (values.minutes !== undefined) for (const report of reports) show(report);
process.exit(reports.every(isWithinGoals) ? 0 : 1);

function show(report: SiegeReport): void {
  if (values.json) {
    console.log(JSON.stringify(report));
    return;
  }
  const { sentBytes, idleMiB, peakMiB, afterMiB, longestStallMs, undisturbedP99Ms, p99Ms } = report;
  const name = report.attacks.length > 1 ? "all" : report.attacks[0];
  console.log(
    `${isWithinGoals(report) ? "ok  " : "FAIL"} ${name}: sent ${(sentBytes / 1e6).toFixed(1)} MB; idle ${idleMiB} MiB, peak +${peakMiB}, after +${afterMiB}; ` +
      `longest stall ${longestStallMs} ms, p99 ${p99Ms} ms (undisturbed ${undisturbedP99Ms}); lost ${report.lost}` +
      `${report.ended === undefined ? "" : `; the dispatcher ended: ${report.ended}`}` +
      `${report.silentDoors.length === 0 ? "" : `; ${report.silentDoors.join("; ")}`}`,
  );
}

function isWithinGoals({ peakMiB, longestStallMs, silentDoors, ended, lost }: SiegeReport): boolean {
  return (
    peakMiB <= 512 && longestStallMs <= 250 && silentDoors.length === 0 && ended === undefined && lost === 0
  );
}
