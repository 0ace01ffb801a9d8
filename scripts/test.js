// Runs every compiled test of the tree, or those whose path contains one of the given words: `npm
// test -- core`. Node 20's runner takes files, not globs, and would run a stale dist/ file whose
// source is gone. So the files are derived from the sources.
//
// `npm test` takes about ten minutes on two cores. The files below take minutes more, so they run
// only where a word names the file itself. `npm run test-long` runs them all. `npm run damage` runs
// the table of damages, whose outcome depends on the moment at which a file is damaged.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename } from "node:path";

const given = process.argv.slice(2);
const damage = "packages/engines/src/embedded/damage-table.test.ts";
const long = [
  "packages/server/src/http/event-schemas.test.ts",
  "test/src/browser/extremes.test.ts",
  "test/src/hostile/hostile.test.ts",
  "test/src/release/doc-commands.test.ts",
  "test/src/simulation/cluster-mutants.test.ts",
  "test/src/simulation/engine-mutants.test.ts",
  "test/src/simulation/mutants.test.ts",
];
const words = given[0] === "--long" ? long : given;
const isLong = (file) => file === damage || long.includes(file);
const isNamed = (file, word) =>
  file.includes(word) && (!isLong(file) || basename(file).includes(basename(word)));
const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "packages", "test", "bench"], {
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => file.endsWith(".test.ts") && existsSync(file))
  .filter((file) => (words.length === 0 ? !isLong(file) : words.some((word) => isNamed(file, word))))
  .map((file) => file.replace("/src/", "/dist/").replace(/\.ts$/, ".js"));

if (files.length === 0) {
  console.error(`no test file matches: ${words.join(" ")}`);
  process.exit(1);
}
// Node's default leaves one processor free, which is half of two.
const concurrency = `--test-concurrency=${Math.max(2, availableParallelism() - 1)}`;
// A file that takes longer hangs. The limit is many times what the slowest file needs, so that a
// slow machine does not matter. The simulator's mutants took more than 15 minutes at a load of 40.
const deadline = `--test-timeout=${words === long ? 2_700_000 : 900_000}`;
// The same on every release of Node and in every log. It repeats the failures at the end.
const reporter = "--test-reporter=spec";
const args = ["--enable-source-maps", "--test", reporter, concurrency, deadline, ...files];
const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
process.exit(status ?? 1);
