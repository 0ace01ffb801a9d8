// The whole dispatcher with its udp door, as `yardmaster serve` runs it: a broker under test.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { closedDoors, createLog, loadConfig, serve } from "@yardmaster/server";
import { reportCpu } from "./broker-report.js";
import { report } from "./child.js";

const folder = mkdtempSync(join(tmpdir(), "yard-bench-"));
const config = {
  engine: "memory",
  doors: {
    ...closedDoors,
    // No calculator is polled, because polls would be measured too.
    udp: { client_address: { port: 0 }, activity_poll_sec: 3600, inactivity_timeout: 7200 },
  },
};
writeFileSync(join(folder, "yardmaster.json"), JSON.stringify(config));
const yard = await serve({ config: loadConfig({ folder }), log: createLog("error") });
reportCpu();
report({ port: Number(String(yard.doors.udp?.client_address).split(":").at(-1)) });
