// Each mutant is a defect put into the code on purpose. The simulator must catch every one.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Mutant, mutants } from "./mutants.js";

describe("the checker, without the core's own sums, catches", { concurrency: availableParallelism() }, () => {
  for (const mutant of mutants) {
    test(mutant.name, async () => {
      const { code, output } = await simulateMutant(mutant);
      assert.equal(code, 1, `not caught, or not run:\n${output.slice(-2000)}`);
      assert.match(output, /seed \d+ failed: /);
    });
  }
});

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

function simulateMutant({ name, fromSeed = 1, population }: Mutant): Promise<Ended> {
  const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));
  const flags = ["--seed", String(fromSeed), "--count", "1500", "--until-failure", "--no-invariants"];
  if (population !== undefined) flags.push("--population", population);
  const child = spawn(process.execPath, ["--import", here("./load-mutant.js"), here("./main.js"), ...flags], {
    env: { ...process.env, YARD_MUTANT: name },
  });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output += chunk;
  });
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, output })));
}
