// The whole dispatcher with its pingpong door, as `yardmaster serve` runs it, as a broker under test.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog, loadConfig, serve } from "@yardmaster/server";
import { onOrder, report } from "./child.js";

const folder = mkdtempSync(join(tmpdir(), "yard-bench-"));
const config = {
  engine: "memory",
  doors: {
    http: false,
    pulse: false,
    udp: false,
    monique: false,
    scaler: false,
    pingpong: { clients: "127.0.0.1:0", workers: "127.0.0.1:0", workerExpireSeconds: 600 },
  },
};
writeFileSync(join(folder, "yardmaster.json"), JSON.stringify(config));
const yard = await serve({ config: loadConfig({ folder }), log: createLog("error") });
let before = process.cpuUsage();
onOrder(({ end }) => {
  if (end === true) process.exit(0);
  const { user, system } = process.cpuUsage(before);
  before = process.cpuUsage();
  report({ cpuMicros: user + system });
});
const { clients, workers } = yard.doors.pingpong ?? {};
report({ front: `tcp://${clients}`, back: `tcp://${workers}` });
