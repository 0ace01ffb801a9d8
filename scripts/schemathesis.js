// Runs schemathesis (a Python program that generates requests from an API description) against
// `/openapi.json` of a real dispatcher: `npm run schemathesis -- [--examples N] [--seed N]
// [--phases coverage,fuzzing]`, with N requests per operation. If the program is not installed,
// this script says so and succeeds.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    examples: { type: "string", default: "300" },
    seed: { type: "string" },
    phases: { type: "string" },
  },
});
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
// All checks are on. Operations that a schema cannot describe completely are exceptions:
const exceptions = [
  // Each item of a batch is answered separately, so a batch with wrong items is answered with 200.
  ["POST /v1/attempts:batch", "checks.negative_data_rejection.enabled = false"],
  ["POST /v1/queues/{queue}/tasks:batch", "checks.negative_data_rejection.enabled = false"],
  // A cursor in the right form need not come from a page.
  ["GET /v1/tasks", "checks.positive_data_acceptance.enabled = false"],
  // Names of a graph are unique, and a task may only refer to names of its graph.
  ["POST /v1/tasks:graph", "checks.positive_data_acceptance.enabled = false"],
  // The first delay of a backoff is at most the longest.
  ["PATCH /v1/queues/{queue}", "checks.positive_data_acceptance.enabled = false"],
  // A cron expression and a time zone have more rules than a pattern can express.
  ["PUT /v1/schedules/{name}", "checks.positive_data_acceptance.enabled = false"],
  // A stream without an end can never be checked as a whole; `npm test` checks its events. The
  // program waits for the end, so one request that is accepted would stop the whole run.
  ["GET /v1/events", "enabled = false"],
  ["GET /v1/wire", "enabled = false"],
  ["POST /v1/queues/{queue}:work", "enabled = false"],
];
const settings = [
  `hooks = ${JSON.stringify(fileURLToPath(new URL("schemathesis-hooks.py", import.meta.url)))}`,
  // A parameter that is too long for the head of a request is refused with 431.
  "checks.negative_data_rejection.expected-statuses = [400, 401, 404, 405, 406, 409, 413, 415, 422, 428, 429, 431]",
  ...exceptions.map(([name, setting]) => `[[operations]]\ninclude-name = "${name}"\n${setting}`),
];
writeFileSync(join(folder, "schemathesis.toml"), `${settings.join("\n")}\n`);
const [line] = await once(createInterface({ input: yard.stdout }), "line");
const { doors } = JSON.parse(line);
const url = `http://${doors.http.listen}`;
const limits = ["--max-examples", values.examples, "--request-timeout", "30"];
const seed = values.seed === undefined ? [] : ["--seed", values.seed];
const phases = values.phases === undefined ? [] : ["--phases", values.phases];
const { status } = spawnSync(program, ["run", `${url}/openapi.json`, ...limits, ...seed, ...phases], {
  stdio: "inherit",
  cwd: folder,
});
yard.kill("SIGKILL");
await once(yard, "exit");
rmSync(folder, { recursive: true });
process.exit(status ?? 1);
