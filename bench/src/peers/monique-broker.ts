// The whole dispatcher with its monique door, as `yardmaster serve` runs it: a broker under test.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { closedDoors, createLog, loadConfig, serve } from "@yardmaster/server";
import { onOrder, report } from "./child.js";

const folder = mkdtempSync(join(tmpdir(), "yard-bench-"));
const anywhere = "127.0.0.1:0";
const monique = { in: anywhere, out: anywhere, techIn: anywhere, techOut: anywhere };
const config = {
  engine: "memory",
  doors: {
    ...closedDoors,
    monique: { ...monique, controllers: { bench_echo: 0 } },
  },
};
writeFileSync(join(folder, "yardmaster.json"), JSON.stringify(config));
const yard = await serve({ config: loadConfig({ folder }), log: createLog("error") });
let before = process.cpuUsage();
onOrder(() => {
  const { user, system } = process.cpuUsage(before);
  before = process.cpuUsage();
  report({ cpuMicros: user + system });
});
const { in: front, out: back, ...others } = yard.doors.monique ?? {};
report({
  front: `tcp://${front}`,
  back: `tcp://${back}`,
  controller: `tcp://${others["controllers.bench_echo"]}`,
});
