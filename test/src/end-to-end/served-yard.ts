// A real dispatcher in a process of its own, on a free port, for tests that look at it from outside alone.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const bin = fileURLToPath(new URL("../../../packages/cli/bin/yardmaster.js", import.meta.url));

export interface ServedYard {
  readonly process: ChildProcess;
  /** A folder of its own, gone when it stops. */
  readonly folder: string;
  readonly url: string;
  /** Sends SIGTERM; its exit code. */
  stop(): Promise<number | null>;
}

export async function serveYard(config: Record<string, unknown> = {}): Promise<ServedYard> {
  const folder = mkdtempSync(join(tmpdir(), "yard-"));
  writeFileSync(
    join(folder, "yardmaster.json"),
    JSON.stringify({
      doors: { http: { listen: "127.0.0.1:0" }, pingpong: false },
      drainSeconds: 1,
      ...config,
    }),
  );
  const child = spawn(process.execPath, [bin, "serve", "--json"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ready = JSON.parse(String((await lines.next()).value)) as { doors: { http: { listen: string } } };
  return {
    process: child,
    folder,
    url: `http://${ready.doors.http.listen}`,
    async stop() {
      child.kill("SIGTERM");
      const [code] = await ended;
      rmSync(folder, { recursive: true });
      return code as number | null;
    },
  };
}
