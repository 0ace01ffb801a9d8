// The simulator of the embedded engine catches every way to break the engine that is listed here.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { engineMutants } from "./engine-mutants.js";

const loader = fileURLToPath(new URL("./load-mutant.js", import.meta.url));
const simulator = fileURLToPath(
  new URL("../../../packages/engines/dist/embedded/testing/simulate.js", import.meta.url),
);

describe("the engine's simulator catches", () => {
  for (const { name } of engineMutants) {
    test(name, () => {
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        ["--import", loader, simulator, "1", "300"],
        { env: { ...process.env, YARD_MUTANT: name }, encoding: "utf8" },
      );
      assert.equal(status, 1, `not caught, or not run:\n${stdout.slice(-2000)}${stderr.slice(-2000)}`);
      assert.match(stdout, /^seed \d+: /);
    });
  }
});
