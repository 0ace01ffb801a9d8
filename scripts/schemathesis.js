// Runs schemathesis (a Python program that makes requests from a description) against `/openapi.json` of a real dispatcher:
// `npm run schemathesis -- [--examples N]`, N for each operation. Where the program is not installed it says so and ends well.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { examples: { type: "string", default: "300" } } });
const program = process.env.SCHEMATHESIS ?? "schemathesis";
if (spawnSync(program, ["--version"]).status !== 0) {
  console.log(`schemathesis: skipped, ${program} is not installed (pip install schemathesis)`);
  process.exit(0);
}
const bin = fileURLToPath(new URL("../packages/cli/bin/yardmaster.js", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "yard-schemathesis-"));
const closed = { pingpong: false, pulse: false, udp: false, monique: false, scaler: false };
const config = { engine: "memory", doors: { http: { listen: "127.0.0.1:0" }, ...closed } };
writeFileSync(join(folder, "yardmaster.json"), JSON.stringify(config));
const yard = spawn(process.execPath, [bin, "serve", "--json"], {
  cwd: folder,
  stdio: ["ignore", "pipe", "inherit"],
  env: { ...process.env, YARD_LOG: "error" },
});
const [line] = await once(createInterface({ input: yard.stdout }), "line");
const { doors } = JSON.parse(line);
const url = `http://${doors.http.listen}`;
// A stream of events has no end, so a request for one has no answer that could be looked at whole.
const streams = ["/v1/events", "/v1/wire"].flatMap((path) => ["--exclude-path", path]);
const args = ["run", `${url}/openapi.json`, "--checks", "all", "--max-examples", values.examples, ...streams];
const { status } = spawnSync(program, [...args, "--request-timeout", "30"], {
  stdio: "inherit",
  cwd: folder,
});
yard.kill("SIGKILL");
await once(yard, "exit");
rmSync(folder, { recursive: true });
process.exit(status ?? 1);
