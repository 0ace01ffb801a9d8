// The memory of a million waiting tasks, core and memory engine together, in a separate process.

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Case, median } from "./table.js";

const holder = fileURLToPath(new URL("./peers/hold-waiting.js", import.meta.url));
const tasks = 1_000_000;
const bytes = 200;

export const waiting: Case = {
  name: "waiting",
  run(runs) {
    const figures = Array.from({ length: Math.min(runs, 3) }, () => {
      const output = execFileSync(process.execPath, ["--expose-gc", holder, String(tasks), String(bytes)]);
      return JSON.parse(output.toString()) as { after: number; peak: number };
    });
    const resident = median(figures.map(({ after }) => after));
    const peak = median(figures.map(({ peak }) => peak));
    const values = {
      "MB resident": resident / 1e6,
      "MB at most": peak / 1e6,
      "bytes a task": Math.round(resident / tasks),
    };
    return [
      {
        title: "1,000,000 waiting tasks of 200 bytes, memory engine (limit 1 GB)",
        rows: [{ name: "waiting", values }],
      },
    ];
  },
};
