import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { noFaults } from "./faults.js";
import { type Mutant, mutants } from "./mutants.js";
import { habits, type Population } from "./populations.js";
import { runSeed } from "./scenario.js";

/** Seeds that were red once. What broke them is in the commit that added them. */
const onceRed = [5, 19, 32, 48, 262];
const seeds = 300;
const scalerSeeds = 100;
const habitSeeds = 60;
const scalerOnceRed = [159, 367, 372, 378, 479, 491];

describe("simulation", () => {
  test(`${seeds} seeds keep the promise`, async () => {
    for (let seed = 1; seed <= seeds; seed += 1) await keepsPromise(seed);
  });

  test(`${scalerSeeds} seeds of scaler's peers keep the promise`, async () => {
    for (let seed = 1; seed <= scalerSeeds; seed += 1) await keepsPromise(seed, "scaler");
    for (const seed of scalerOnceRed) await keepsPromise(seed, "scaler");
  });

  for (const population of habits) {
    test(`${habitSeeds} seeds of ${population} keep the promise`, async () => {
      for (let seed = 1; seed <= habitSeeds; seed += 1) await keepsPromise(seed, population);
    });
  }

  test("seeds that were red once stay green", async () => {
    for (const seed of onceRed) await keepsPromise(seed, "signals");
  });

  test("the same seed gives the same run", async () => {
    for (const seed of [3, 6, 14, 118, 159]) await runsTheSame(seed);
    for (const seed of [2, 7]) await runsTheSame(seed, "scaler");
  });

  test("udp keeps it with three datagrams in ten lost, repeated and overtaken, both ways", async () => {
    const datagrams = { loss: 0.3, repeat: 0.3, late: 0.3 };
    for (let seed = 1; seed <= 60; seed += 1) {
      const { violation, accepted } = await runSeed({ seed, population: "udp", datagrams });
      assert.equal(violation, undefined, `seed ${seed}: ${violation}`);
      assert.ok(accepted > 0, `seed ${seed} had hardly a task`);
    }
  });

  test("our own stalls and a jumping wall clock cost nobody anything", async () => {
    let stalledMs = 0;
    for (let seed = 1; seed <= 30; seed += 1) {
      const report = await runSeed({ seed, faults: { ...noFaults, stalls: 0.4, clockJumps: 0.4 } });
      assert.equal(report.violation, undefined, `seed ${seed}: ${report.violation}`);
      assert.equal(
        report.lostToSilence,
        0,
        `seed ${seed} lost attempts to silence although everybody was there`,
      );
      stalledMs += report.stalledMs;
    }
    assert.ok(stalledMs > 10_000, "there were hardly any stalls");
  });
});

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

async function keepsPromise(seed: number, population?: Population): Promise<void> {
  const { violation } = await runSeed({ seed, ...(population === undefined ? {} : { population }) });
  assert.equal(violation, undefined, `npm run simulate -- --seed ${seed}\n${violation}`);
}

async function runsTheSame(seed: number, population?: Population): Promise<void> {
  const traces = [await traceOf(seed, population), await traceOf(seed, population)];
  assert.ok((traces[0]?.length ?? 0) > 30, `seed ${seed} has hardly a trace`);
  assert.deepEqual(traces[0], traces[1]);
}

async function traceOf(seed: number, population?: Population): Promise<string[]> {
  const lines: string[] = [];
  await runSeed({ seed, ...(population && { population }), trace: (line) => lines.push(line) });
  return lines;
}

function simulateMutant({ name, fromSeed = 1, population }: Mutant): Promise<Ended> {
  const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));
  const flags = ["--seed", String(fromSeed), "--count", "1500", "--until-failure", "--no-invariants"];
  if (population !== undefined) flags.push("--population", population);
  const child = spawn(process.execPath, ["--import", here("./mutate.js"), here("./main.js"), ...flags], {
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
