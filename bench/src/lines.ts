// `yardmaster submit` of a file with a million lines, into a dispatcher with each engine: lines per
// second, and the peak memory of the command and the dispatcher.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { finished } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { closedDoors } from "@yardmaster/server";
import type { Case, Row } from "./table.js";

const bin = fileURLToPath(new URL("../../packages/cli/bin/yardmaster.js", import.meta.url));
const linesDefault = 1_000_000;
const lineText = "frame of the film, with its settings and the place where it is to be put\n";

export const lines: Case = {
  name: "lines",
  async run(_runs, size = linesDefault) {
    const folder = mkdtempSync(join(tmpdir(), "yard-lines-"));
    try {
      const file = join(folder, "lines.txt");
      await writeLines(file, size);
      const rows: Row[] = [];
      for (const engine of ["memory", "embedded"]) rows.push(await submitted(folder, file, size, engine));
      const title = `yardmaster submit of ${size.toLocaleString("en")} lines of ${lineText.length - 1} bytes over http, once`;
      return [{ title, rows }];
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};

async function writeLines(file: string, size: number): Promise<void> {
  const target = createWriteStream(file);
  const some = lineText.repeat(1_000);
  for (let left = size; left > 0; left -= 1_000) {
    if (!target.write(left >= 1_000 ? some : lineText.repeat(left))) await once(target, "drain");
  }
  target.end();
  await finished(target);
}

async function submitted(folder: string, file: string, size: number, engine: string): Promise<Row> {
  const config = {
    doors: { ...closedDoors, http: { listen: "127.0.0.1:0" } },
    queues: { lines: { maxWaiting: size } },
  };
  writeFileSync(join(folder, "yardmaster.json"), JSON.stringify({ ...config, data: `./data-${engine}` }));
  const yard = spawn(process.execPath, [bin, "serve", "--json", "--engine", engine], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, YARD_LOG: "error" },
  });
  const [ready] = (await once(createInterface({ input: yard.stdout }), "line")) as [string];
  const { doors, durability } = JSON.parse(ready) as {
    doors: { http: { listen: string } };
    durability: string;
  };
  const startedAt = performance.now();
  const command = spawn(
    process.execPath,
    [bin, "submit", `http://${doors.http.listen}`, "-q", "lines", "--file", file],
    {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  const peak = watchMemory(command);
  const [code] = await once(command, "exit");
  if (code !== 0) throw new Error(`yardmaster submit ended with ${code}`);
  const seconds = (performance.now() - startedAt) / 1000;
  const yardPeak = highWaterOf(yard);
  yard.kill("SIGKILL");
  await once(yard, "exit");
  const values = {
    durability,
    "lines/s": Math.round(size / seconds),
    "MB of the command": peak() / 1e6,
    "MB of the dispatcher": yardPeak / 1e6,
  };
  return { name: engine, values };
}

/** Its peak memory, read at intervals, because it is gone with the process. */
function watchMemory(child: ChildProcess): () => number {
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, highWaterOf(child));
  }, 100);
  child.once("exit", () => clearInterval(timer));
  return () => peak;
}

/** In bytes; 0 if the system does not report it. */
function highWaterOf({ pid }: ChildProcess): number {
  try {
    const [, kib] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kib ?? 0) * 1024;
  } catch {
    return 0;
  }
}
