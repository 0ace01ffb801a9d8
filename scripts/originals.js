// Runs peers that behave like the original programs, with jobs of many seconds, cut connections,
// pauses and restarts: `npm run originals`, or `npm run originals -- pingpong` for one dialect.
// There is one file per dialect: test/src/originals/NAME.ts. They take minutes, so `npm test`
// leaves them out.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";

const words = process.argv.slice(2);
const names = readdirSync("test/src/originals")
  .filter((file) => file.endsWith(".ts"))
  .map((file) => file.slice(0, -".ts".length))
  .filter((name) => words.length === 0 || words.includes(name));
if (names.length === 0) {
  console.error(`no such dialect: ${words.join(" ")}`);
  process.exit(1);
}
const files = names.map((name) => `test/dist/originals/${name}.js`);
const { status } = spawnSync(
  process.execPath,
  ["--enable-source-maps", "--test", "--test-concurrency=1", ...files],
  { stdio: "inherit" },
);
process.exit(status ?? 1);
