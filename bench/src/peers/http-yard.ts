// The whole dispatcher with its http door, as `yardmaster serve` runs it, metrics and all.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog, loadConfig, serve } from "@yardmaster/server";
import { onOrder, readArgs, report } from "./child.js";

const { engine, data } = readArgs<{ engine: string; data: string }>();
const folder = mkdtempSync(join(tmpdir(), "yard-bench-"));
const config = {
  engine,
  data,
  doors: {
    http: { listen: "127.0.0.1:0" },
    pingpong: false,
    pulse: false,
    udp: false,
    monique: false,
    scaler: false,
  },
  // Nobody works here: what is handed in piles up for as long as the run lasts.
  queues: { bench: { maxWaiting: 100_000_000, maxBytes: 100_000_000_000 } },
};
writeFileSync(join(folder, "yardmaster.json"), JSON.stringify(config));
const yard = await serve({ config: loadConfig({ folder }), log: createLog("error") });
let before = process.cpuUsage();
onOrder(() => {
  const { user, system } = process.cpuUsage(before);
  before = process.cpuUsage();
  report({ cpuMicros: user + system });
});
report({ address: yard.doors.http?.listen });
