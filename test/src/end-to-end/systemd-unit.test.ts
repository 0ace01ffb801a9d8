// The systemd unit of docs/deploy: systemd understands it, and rates its exposure. Skipped where
// systemd-analyze is not installed.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { skipReason } from "../interop/foreign.js";
import { patience } from "../patience.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const unit = join(root, "docs/deploy/yardmaster.service");
const skip = skipReason("systemd-analyze", ["--version"]);
/** systemd rates from 0.0 (no exposure) to 10.0; its option takes tenths. */
const exposureTenthsMax = 20;

function analyze(...args: string[]) {
  return spawnSync("systemd-analyze", args, {
    encoding: "utf8",
    env: { ...process.env, SYSTEMD_COLORS: "0" },
  });
}

test("the exposure of the systemd unit is at most 2.0", { ...patience, skip }, (context) => {
  const { status, stdout, stderr } = analyze(
    "security",
    "--no-pager",
    "--offline=true",
    `--threshold=${exposureTenthsMax}`,
    unit,
  );
  const [level] = /Overall exposure level.*/.exec(stdout) ?? [];
  context.diagnostic(level ?? stderr);
  assert.match(level ?? "", /: \d\.\d/);
  assert.equal(status, 0, level);
});

test("systemd finds no mistake in the unit", { ...patience, skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), "yard-unit-"));
  try {
    // The program must exist for this check, and it is not installed in /opt here.
    const text = readFileSync(unit, "utf8").replaceAll("/opt/yardmaster/", root);
    const copy = join(folder, "yardmaster.service");
    writeFileSync(copy, text);
    const { status, stderr } = analyze("verify", "--man=no", copy);
    const about = stderr.split("\n").filter((line) => line.includes("yardmaster"));
    assert.deepEqual(about, []);
    assert.equal(status, 0, stderr);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
