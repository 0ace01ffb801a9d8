// Minutes of steady load with fsync (`--size N` is the number): resident memory and bytes on the
// disk over time. Both must level off once retention has begun to evict finished tasks.

import { statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { inFolder } from "./folders.js";
import { startPeer } from "./peers/child.js";
import { type Case, median, type Row } from "./table.js";

const workerCount = 64;
/** About half of what it can do here with fsync, when the host is busy. */
const perSecond = 20_000;
const minutesUsual = 3;
/** Rows of the table. */
const samples = 12;

interface Sample {
  readonly atMs: number;
  readonly residentMb: number;
  readonly fileMb: number;
}

export const soak: Case = {
  name: "soak",
  run: (_runs, minutes = minutesUsual) =>
    inFolder(async (folder) => {
      const data = `${folder}/data`;
      const broker = startPeer("./pingpong-broker.js", { data, durability: "fsync" });
      const { front, back } = await broker.report();
      const load = startPeer("./forwarding-load.js", { front, back, workerCount, perSecond });
      await load.report();
      load.tell({ warmUpMs: 0, measureMs: minutes * 60_000 });
      await load.report();
      const taken: Sample[] = [];
      const startedAt = performance.now();
      for (let index = 0; index < samples; index++) {
        await pause((minutes * 60_000) / samples);
        broker.tell({});
        const { residentBytes } = (await broker.report()) as { residentBytes: number };
        const fileMb = statSync(`${data}/yard.mdb`).size / 1e6;
        taken.push({ atMs: performance.now() - startedAt, residentMb: residentBytes / 1e6, fileMb });
      }
      const { tasks } = (await load.report()) as { tasks: number };
      await Promise.all([broker.stop(), load.stop()]);
      const title = `${minutes} minutes at ${perSecond.toLocaleString("en")} tasks/s with fsync: ${tasks.toLocaleString("en")} tasks`;
      return [{ title, rows: [...taken.map(rowOf), growth(taken)] }];
    }),
};

function rowOf({ atMs, residentMb, fileMb }: Sample): Row {
  return {
    name: `after ${(atMs / 1000).toFixed(0)} s`,
    values: { "MB resident": residentMb, "file MB": fileMb },
  };
}

/** The last third compared with the one before it: 1 is level. */
function growth(taken: readonly Sample[]): Row {
  const third = Math.floor(taken.length / 3);
  const ratio = (of: (sample: Sample) => number) =>
    (median(taken.slice(-third).map(of)) / median(taken.slice(third, 2 * third).map(of))).toFixed(2);
  return {
    name: "last third to the one before",
    values: {
      "MB resident": ratio((sample) => sample.residentMb),
      "file MB": ratio((sample) => sample.fileMb),
    },
  };
}
