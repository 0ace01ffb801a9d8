// Runs every compiled test of the tree, or those whose path contains one of the words given: `npm test -- core`.
// Node 20's runner takes files, not globs, and counts a stale dist/ whose source is gone: so it is looked up from the sources.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";

const words = process.argv.slice(2);
const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "packages", "test", "bench"], {
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => file.endsWith(".test.ts") && existsSync(file))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .map((file) => file.replace("/src/", "/dist/").replace(/\.ts$/, ".js"));

if (files.length === 0) {
  console.error(`no test file matches: ${words.join(" ")}`);
  process.exit(1);
}
// Node leaves one processor free, which of two is half.
const concurrency = `--test-concurrency=${Math.max(2, availableParallelism() - 1)}`;
// A file that takes longer hangs: many times what the slowest needs, and no measure of the machine.
const deadline = "--test-timeout=900000";
const args = ["--enable-source-maps", "--test", concurrency, deadline, ...files];
const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
process.exit(status ?? 1);
