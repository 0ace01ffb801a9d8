// The simulator of the embedded engine catches every way to break the engine that is listed here.
// The simulator of the dispatcher has the engine in it, and catches those that most seeds meet.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { engineMutants } from "./engine-mutants.js";

const loader = fileURLToPath(new URL("./load-mutant.js", import.meta.url));
const simulator = fileURLToPath(
  new URL("../../../packages/engines/dist/embedded/testing/simulate.js", import.meta.url),
);

const dispatchersSimulator = fileURLToPath(new URL("./main.js", import.meta.url));

function assertCaught(name: string, program: readonly string[], failure: RegExp): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", loader, ...program], {
    env: { ...process.env, YARD_MUTANT: name },
    encoding: "utf8",
  });
  assert.equal(status, 1, `not caught, or not run:\n${stdout.slice(-2000)}${stderr.slice(-2000)}`);
  assert.match(stdout, failure);
}

describe("the engine's simulator catches", () => {
  for (const { name } of engineMutants) {
    test(name, () => assertCaught(name, [simulator, "1", "300"], /^seed \d+: /));
  }
});

describe("the dispatcher's simulator catches", () => {
  for (const name of [
    "a batch that the store has is applied again",
    "the journal's last batch is not applied again",
  ]) {
    const program = [dispatchersSimulator, "--seed", "2", "--count", "6", "--until-failure"];
    test(name, () => assertCaught(name, program, /^seed \d failed: /m));
  }
});
