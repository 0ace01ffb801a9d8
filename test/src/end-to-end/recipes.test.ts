// The commands of docs/recipes.md, run in a shell exactly as written.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { patience } from "../patience.js";
import { serveYard } from "./served-yard.js";

const bin = fileURLToPath(new URL("../../../packages/cli/bin/yardmaster.js", import.meta.url));
const page = readFileSync(fileURLToPath(new URL("../../../docs/recipes.md", import.meta.url)), "utf8");

test("the recipes work", patience, async () => {
  const recipes = /<!-- recipes -->\n```sh\n([\s\S]*?)```/.exec(page)?.[1];
  assert.ok(recipes !== undefined, "docs/recipes.md has no recipes");
  const yard = await serveYard();
  const command = `yardmaster() { '${process.execPath}' '${bin}' "$@"; }\n`;
  const { stdout, stderr, status } = spawnSync(
    "sh",
    ["-e", "-c", command + recipes.replace("http://127.0.0.1:7420", yard.url)],
    { cwd: yard.folder, encoding: "utf8" },
  );
  assert.equal(status, 0, stdout + stderr);
  for (const pattern of [
    /nightly .*reports/,
    /20 tasks accepted/,
    /task 22 done[\s\S]*task 21 done/,
    /(task 25 is accepted in queue mail\n){2}/,
    /2 tasks cancelled, 0 refused/,
  ]) {
    assert.match(stdout + stderr, pattern);
  }
  assert.equal(await yard.stop(), 0);
});
