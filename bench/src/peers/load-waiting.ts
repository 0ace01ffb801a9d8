// Fills a store with waiting tasks, ends like a crash, and opens it again: measures the time and
// the memory. Run by bench/engine as a separate process: `load-waiting.js TASKS`.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { EmbeddedEngine, type LoadItem } from "@yardmaster/engines";
import { acceptedTask } from "./task-feed.js";

const [tasks = "1000000", given] = process.argv.slice(2);
if (given !== undefined) await fill(given);
else await measure();

async function fill(folder: string): Promise<void> {
  const engine = new EmbeddedEngine({ folder, durability: "memory" });
  const { epoch } = await engine.open();
  const perBatch = 1000;
  for (let first = 1, number = 1; first <= Number(tasks); first += perBatch, number++) {
    const changes = Array.from({ length: perBatch }, (_, index) => acceptedTask(first + index));
    await engine.commit({ epoch, number, changes });
  }
  process.kill(process.pid, "SIGKILL");
}

async function measure(): Promise<void> {
  const folder = mkdtempSync(join(process.cwd(), ".bench-"));
  try {
    try {
      execFileSync(process.execPath, [fileURLToPath(import.meta.url), tasks, folder]);
    } catch {
      // It ends itself without closing.
    }
    const engine = new EmbeddedEngine({ folder });
    const start = performance.now();
    await engine.open();
    const opened = performance.now();
    const items: LoadItem[] = [];
    await engine.load((item) => items.push(item));
    const loaded = performance.now();
    globalThis.gc?.();
    const memory = statusMb();
    await engine.close();
    const figures = {
      openMs: opened - start,
      loadMs: loaded - opened,
      items: items.length,
      ...memory,
      fileMb: statSync(join(folder, "yard.mdb")).size / 1e6,
    };
    console.log(JSON.stringify(figures));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function statusMb(): { residentMb: number; anonymousMb: number } {
  const status = process.platform === "linux" ? readFileSync("/proc/self/status", "utf8") : "";
  const kb = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN);
  return { residentMb: process.memoryUsage.rss() / 1e6, anonymousMb: (kb("RssAnon") * 1024) / 1e6 };
}
