// The simulator of two dispatchers catches every way to break the Postgres engine that is listed
// here.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { clusterMutants } from "./cluster-mutants.js";

const loader = fileURLToPath(new URL("./load-mutant.js", import.meta.url));
const simulator = fileURLToPath(
  new URL("../../../packages/engines/dist/postgres/testing/simulate.js", import.meta.url),
);

describe("the simulator of two dispatchers catches", () => {
  for (const { name } of clusterMutants) {
    test(name, (context) => {
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        ["--import", loader, simulator, "1", "1000"],
        { env: { ...process.env, YARD_MUTANT: name }, encoding: "utf8" },
      );
      assert.equal(status, 1, `not caught, or not run:\n${stdout.slice(-2000)}${stderr.slice(-2000)}`);
      const [caught = ""] = /^seed \d+: .*$/m.exec(stdout) ?? [];
      assert.match(caught, /^seed \d+: /);
      context.diagnostic(caught);
    });
  }
});
