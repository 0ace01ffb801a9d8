// Damages pages of a real store, one at a time, and checks each time that everything is there, or
// that what is missing is named. A refusal to open counts as named; `--repair` must then name each
// task that is gone. By default a seed draws a sample. `YARD_DAMAGE=full` damages every page in
// every way, `YARD_DAMAGE=n` takes a sample of n, and `YARD_SEED=n` draws another sample.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { DamagedSample, type Random, randomOf } from "./testing/damaged-sample.js";
import { pageBytes, pageOf } from "./testing/used-pages.js";

const isFull = process.env.YARD_DAMAGE === "full";
const seed = Number(process.env.YARD_SEED ?? 1);
/** Number of cases in the sample, and how many of the refused ones are repaired too. */
const casesMax = Number(process.env.YARD_DAMAGE) || 48;
const repairsMax = 6;
const rootRepairsMax = 2;
/** One in this many cases of a sample is started a second time. */
const secondEvery = 3;
/** In a full run, one in this many refused cases is repaired: each repair takes a second. */
const repairEvery = 20;

type Damage = (file: Buffer, page: number, random: Random) => void;

const below = (random: Random, end: number) => Math.floor(random() * end);

function flipBit(bytes: Buffer, at: number, random: Random): void {
  bytes[at] = (bytes[at] as number) ^ (1 << below(random, 8));
}

function swap(file: Buffer, one: number, other: number): void {
  const copy = Buffer.from(pageOf(file, one));
  pageOf(file, other).copy(pageOf(file, one));
  copy.copy(pageOf(file, other));
}

const damages: Record<string, Damage> = {
  zeroed: (file, page) => pageOf(file, page).fill(0),
  ones: (file, page) => pageOf(file, page).fill(0xff),
  "half zeroed": (file, page) => pageOf(file, page).fill(0, pageBytes / 2),
  "swapped with another": (file, page, random) => swap(file, page, below(random, file.length / pageBytes)),
  "swapped with the next": (file, page) => swap(file, page, (page + 1) % (file.length / pageBytes)),
  "copied over by another": (file, page, random) =>
    pageOf(file, below(random, file.length / pageBytes)).copy(pageOf(file, page)),
  "bit flipped": (file, page, random) => flipBit(pageOf(file, page), below(random, pageBytes), random),
  "bit flipped in its header": (file, page, random) => flipBit(pageOf(file, page), below(random, 24), random),
  "bit flipped in its fill": (file, page, random) =>
    flipBit(pageOf(file, page), 20 + below(random, 4), random),
  "bit flipped behind its header": (file, page, random) =>
    flipBit(pageOf(file, page), 24 + below(random, 144), random),
};

interface Case {
  readonly page: number;
  readonly kind: string;
  readonly random: Random;
}

function casesFor(pages: number): Case[] {
  const cases: Case[] = [];
  for (let page = 0; page < pages; page++) {
    for (const [index, kind] of Object.keys(damages).entries())
      cases.push({ page, kind, random: randomOf(seed * 1_000_003 + page * 101 + index) });
  }
  if (isFull) return cases;
  const random = randomOf(seed);
  // The roots and the first pages are few, and everything depends on them.
  const early = cases.filter(({ page }) => page < 2);
  const late = cases.filter(({ page }) => page >= 2);
  return [
    ...early,
    ...Array.from({ length: casesMax - early.length }, () => late[below(random, late.length)] as Case),
  ];
}

describe("a damaged page", () => {
  let sample: DamagedSample;
  before(async () => {
    sample = await DamagedSample.make();
  });
  after(() => sample.end());

  test("a file that was emptied while the store wrote on is refused by name", async () => {
    const random = randomOf(seed);
    for (let count = 0; count < 24; count++) {
      // Only what was written after that is there: some pages, and roots without their headers.
      const file = Buffer.alloc(below(random, sample.sound.length / pageBytes + 1) * pageBytes);
      for (let page = 0; page < file.length / pageBytes; page++) {
        if (random() < 0.6) continue;
        const start = page * pageBytes + (page < 2 ? 40 : 0);
        sample.sound.copy(file, start, start, (page + 1) * pageBytes);
      }
      const report = await sample.read(file);
      const words = typeof report === "string" ? report : (report.refused ?? "it opened");
      assert.match(words, /yard\.mdb is damaged: .+ \(start with --repair/);
    }
  });

  test("is refused or named, or nothing is lost by it", async (context) => {
    const faults: string[] = [];
    let refused = 0;
    let repaired = 0;
    const cases = casesFor(sample.sound.length / pageBytes);
    for (const [index, { page, kind, random }] of cases.entries()) {
      const file = Buffer.from(sample.sound);
      (damages[kind] as Damage)(file, page, random);
      const starts = isFull || index % secondEvery === 0 ? ["first", "second"] : ["first"];
      const verdict = await sample.faultOf(file, starts);
      let { fault } = verdict;
      if (verdict.refused !== undefined) refused += 1;
      const isRepaired = isFull
        ? refused % repairEvery === 0
        : repaired < (page < 2 ? rootRepairsMax : repairsMax);
      if (fault === undefined && verdict.refused !== undefined && isRepaired) {
        repaired += 1;
        fault = await sample.faultOfRepair(file);
      }
      if (fault !== undefined) faults.push(`page ${page} ${kind}: ${fault}`);
    }
    context.diagnostic(`${cases.length} damages: ${refused} refused, ${repaired} of them repaired`);
    assert.deepEqual(faults, []);
    assert.ok(refused > 0 && repaired > 0);
  });
});
