// The embedded engine alone: how fast it commits, compared with one fsync of the disk; how fast a
// million waiting tasks are loaded; how long a query on a long history takes. `--size N` is the
// number of finished tasks in that history.

import { execFileSync } from "node:child_process";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { EmbeddedEngine, type TaskQuery } from "@yardmaster/engines";
import { fsyncMs, inFolder } from "./folders.js";
import { acceptedTask, settledTask, TaskFeed } from "./peers/task-feed.js";
import { type Case, median, type Row, type Table } from "./table.js";

const waitingTasks = 1_000_000;
const finishedTasks = 1_000_000;
const batches = 300;

export const engine: Case = {
  name: "engine",
  async run(runs, size = finishedTasks) {
    return [await commits(Math.min(runs, 3)), loads(), await finds(size)];
  },
};

async function commits(runs: number): Promise<Table> {
  const rows: Row[] = [];
  for (const durability of ["fsync", "memory"] as const) {
    for (const tasks of [1, 16, 64, 256]) {
      const measured = [];
      for (let run = 0; run < runs; run++) {
        measured.push(await inFolder((folder) => commitLives(folder, durability, tasks)));
      }
      rows.push({
        name: `${durability}, ${tasks} tasks a commit`,
        values: {
          "tasks/s": Math.round(median(measured.map((each) => each.perSecond))),
          "commit p50 ms": median(measured.map((each) => each.p50)),
          "p99 ms": median(measured.map((each) => each.p99)),
          "µs of the loop a task": median(measured.map((each) => each.loopUs)),
          "fsync p50 ms": median(measured.map((each) => each.fsync)),
        },
      });
    }
  }
  return {
    title: "a task's life in two commits: accepted and begun; done and settled (200 bytes each way)",
    rows,
  };
}

async function commitLives(folder: string, durability: "fsync" | "memory", tasks: number) {
  const fsync = fsyncMs(folder);
  const engine = new EmbeddedEngine({ folder, durability });
  const { epoch } = await engine.open();
  const feed = new TaskFeed();
  const times: number[] = [];
  const before = performance.eventLoopUtilization();
  const start = performance.now();
  for (let number = 1; number <= batches; number++) {
    const changes = feed.next(tasks);
    const begun = performance.now();
    await engine.commit({ epoch, number, changes });
    times.push(performance.now() - begun);
  }
  const ms = performance.now() - start;
  const { active } = performance.eventLoopUtilization(before);
  await engine.close();
  times.sort((one, other) => one - other);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN;
  const lives = tasks * batches;
  return {
    perSecond: (lives / ms) * 1000,
    p50: at(0.5),
    p99: at(0.99),
    loopUs: (active / lives) * 1000,
    fsync,
  };
}

/** In its own process, so that its memory can be measured. */
function loads(): Table {
  const loader = fileURLToPath(new URL("./peers/load-waiting.js", import.meta.url));
  const output = execFileSync(process.execPath, ["--expose-gc", loader, String(waitingTasks)]);
  const { openMs, loadMs, anonymousMb, residentMb, fileMb } = JSON.parse(output.toString());
  const values = {
    "open ms": openMs,
    "load ms": loadMs,
    "MB resident": residentMb,
    "of it not the file's": anonymousMb,
    "file MB": fileMb,
  };
  return { title: "a restart with 1,000,000 waiting tasks of 200 bytes", rows: [{ name: "load", values }] };
}

async function finds(size: number): Promise<Table> {
  return inFolder(async (folder) => {
    const engine = new EmbeddedEngine({ folder, durability: "memory" });
    const { epoch } = await engine.open();
    const perBatch = 1000;
    for (let done = 0, number = 1; done < size; done += perBatch, number++) {
      const changes = Array.from({ length: perBatch }, (_, index) => done + index + 1).flatMap((id) => [
        acceptedTask(id),
        settledTask(id),
      ]);
      await engine.commit({ epoch, number, changes });
    }
    const queries: Record<string, Omit<TaskQuery, "limit">> = {
      "the newest": {},
      "one queue": { queue: "queue-3" },
      "failed in one queue": { queue: "queue-3", state: "failed" },
      "one worker of 1,000, expired": { worker: "pingpong/w17", state: "expired" },
      "an hour long ago": { since: 3_600_000 as never, until: 7_200_000 as never },
      "an error's code": { text: "rare" },
      "how an error begins": { text: "disk 1234" },
      "a key": { text: `key-${Math.floor(size / 2000) * 1000}` },
      "nothing at all": { queue: "queue-3", text: "no such" },
    };
    const rows: Row[] = [];
    for (const [name, query] of Object.entries(queries)) {
      const times: number[] = [];
      let found = 0;
      for (let run = 0; run < 9; run++) {
        const start = performance.now();
        found = (await engine.find({ ...query, limit: 50 })).items.length;
        times.push(performance.now() - start);
      }
      rows.push({ name, values: { "p50 ms": median(times), "at most": Math.max(...times), found } });
    }
    await engine.close();
    return { title: `questions about ${size.toLocaleString("en")} finished tasks, pages of 50`, rows };
  });
}
