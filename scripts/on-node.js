// Runs a part of the suite on other releases of Node: `npm run on-node -- 22 24 26`, or with words to choose tests:
// `npm run on-node -- 26 packages/core`. The binaries are npm packages, installed under node_modules/.cache once.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const args = process.argv.slice(2);
const releases = args.filter((arg) => /^\d+$/.test(arg));
const words = args.filter((arg) => !/^\d+$/.test(arg));
// What touches Node itself: files, sockets, http, processes. The kill tests take longer and show nothing more.
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
  const folder = installed(release);
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` };
  run(join(folder, "node"), ["scripts/test.js", ...(words.length > 0 ? words : usual)], env);
}

function installed(release) {
  const name = `node-${process.platform}-${process.arch}`;
  const prefix = join("node_modules", ".cache", `node-${release}`);
  const folder = join(process.cwd(), prefix, "node_modules", name, "bin");
  if (!existsSync(join(folder, "node"))) {
    // The package is the bare binary; it has no script that would have to run.
    run("npm", [
      "install",
      "--prefix",
      prefix,
      "--no-save",
      "--no-audit",
      "--ignore-scripts",
      `${name}@${release}`,
    ]);
  }
  const { stdout } = spawnSync(join(folder, "node"), ["--version"], { encoding: "utf8" });
  console.log(`on-node: ${stdout.trim()}`);
  return folder;
}

function run(command, commandArgs, env = process.env) {
  const { status } = spawnSync(command, commandArgs, { stdio: "inherit", env });
  if (status !== 0) process.exit(status ?? 1);
}
