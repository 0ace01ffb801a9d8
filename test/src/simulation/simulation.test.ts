import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { noFaults } from "./faults.js";
import { habits, type Population } from "./populations.js";
import { runSeed } from "./scenario.js";

/** Seeds that failed once. The commits that added them name the causes. */
const onceRed = [5, 19, 32, 48, 262];
const mixedOnceRed = [2683, 2706, 4057, 700041];
const seeds = 300;
const httpSeeds = 100;
const scalerSeeds = 100;
const habitSeeds = 60;
const scalerOnceRed = [159, 367, 372, 378, 479, 491, 710016, 732758];
const bridgeOnceRed = [27, 29, 43, 184, 3223, 3330];

describe("simulation", () => {
  test(`${seeds} seeds keep the promise`, async () => {
    for (let seed = 1; seed <= seeds; seed += 1) await keepsPromise(seed);
  });

  test(`${httpSeeds} seeds of http's peers keep the promise`, async () => {
    for (let seed = 1; seed <= httpSeeds; seed += 1) await keepsPromise(seed, "http");
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
    for (const seed of mixedOnceRed) await keepsPromise(seed);
    for (const seed of onceRed) await keepsPromise(seed, "http");
    for (const seed of bridgeOnceRed) await keepsPromise(seed, "bridge");
  });

  test("the same seed gives the same run", async () => {
    for (const seed of [3, 6, 14, 118, 159]) await runsTheSame(seed);
    for (const seed of [2, 7, 15, 25, 37]) await runsTheSame(seed, "scaler");
    for (const seed of [2, 7, 15, 25, 28]) await runsTheSame(seed, "http");
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
