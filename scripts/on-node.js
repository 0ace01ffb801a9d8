// Runs a part of the suite on other releases of Node: `npm run on-node -- 22 24 26`, or with words
// that select tests: `npm run on-node -- 26 packages/core`.
import { spawnSync } from "node:child_process";
import { delimiter, join } from "node:path";
import { nodeRelease } from "./node-release.js";

const args = process.argv.slice(2);
const releases = args.filter((arg) => /^\d+$/.test(arg));
const words = args.filter((arg) => !/^\d+$/.test(arg));
// Tests that use Node itself: files, sockets, http, processes. The kill tests take longer and show
// nothing more.
const usual = [
  "packages/engines",
  "packages/zmtp",
  "packages/server",
  "packages/sdk",
  "end-to-end/sdk",
  "end-to-end/tour",
];

if (releases.length === 0) {
  console.error("usage: npm run on-node -- RELEASE... [WORD...], for example: npm run on-node -- 22 24 26");
  process.exit(2);
}
for (const release of releases) {
  const folder = nodeRelease(release);
  const { stdout } = spawnSync(join(folder, "node"), ["--version"], { encoding: "utf8" });
  console.log(`on-node: ${stdout.trim()}`);
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` };
  run(join(folder, "node"), ["scripts/test.js", ...(words.length > 0 ? words : usual)], env);
}

function run(command, commandArgs, env = process.env) {
  const { status } = spawnSync(command, commandArgs, { stdio: "inherit", env });
  if (status !== 0) process.exit(status ?? 1);
}
