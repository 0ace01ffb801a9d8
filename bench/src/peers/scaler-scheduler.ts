// The whole dispatcher with its scaler door, as `yardmaster serve` runs it: a scheduler under test.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { closedDoors, createLog, loadConfig, serve } from "@yardmaster/server";
import { onOrder, readArgs, report } from "./child.js";

const { slots } = readArgs<{ slots: number }>();
const config = {
  engine: "memory",
  doors: {
    ...closedDoors,
    scaler: { listen: "127.0.0.1:0", perWorkerQueueSize: slots, workerTimeoutSeconds: 3600 },
  },
};
const folder = mkdtempSync(join(tmpdir(), "yard-bench-"));
writeFileSync(join(folder, "yardmaster.json"), JSON.stringify(config));
const yard = await serve({ config: loadConfig({ folder }), log: createLog("error") });
let before = process.cpuUsage();
onOrder(() => {
  const { user, system } = process.cpuUsage(before);
  before = process.cpuUsage();
  report({ cpuMicros: user + system });
});
report({ address: `tcp://${yard.doors.scaler?.listen}` });
