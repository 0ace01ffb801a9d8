// Damages pages of a real store, one at a time, and checks each time that everything is there, or
// that what is missing is named. A refusal to open counts as named; `--repair` must then name each
// task that is gone. By default a seed draws a sample. `YARD_DAMAGE=full` damages every page in
// every way, `YARD_DAMAGE=n` takes a sample of n, and `YARD_SEED=n` draws another sample.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { repairStore } from "./repair.js";
import type { StoreReport } from "./testing/damage-reader.js";
import { isNamed, StoreReader, silentLosses } from "./testing/damage-verdict.js";
import { isTrimmed, makeSampleStore, sampleTasks } from "./testing/sample-store.js";

const pageBytes = 4096;
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

/** Random numbers from 0 to 1. The same seed gives the same sequence. */
function randomOf(from: number): () => number {
  let state = from * 2_654_435_769;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Random = () => number;
type Damage = (file: Buffer, page: number, random: Random) => void;

const pageAt = (file: Buffer, page: number) => file.subarray(page * pageBytes, (page + 1) * pageBytes);
const below = (random: Random, end: number) => Math.floor(random() * end);

function flipBit(bytes: Buffer, at: number, random: Random): void {
  bytes[at] = (bytes[at] as number) ^ (1 << below(random, 8));
}

function swap(file: Buffer, one: number, other: number): void {
  const copy = Buffer.from(pageAt(file, one));
  pageAt(file, other).copy(pageAt(file, one));
  copy.copy(pageAt(file, other));
}

const damages: Record<string, Damage> = {
  zeroed: (file, page) => pageAt(file, page).fill(0),
  ones: (file, page) => pageAt(file, page).fill(0xff),
  "half zeroed": (file, page) => pageAt(file, page).fill(0, pageBytes / 2),
  "swapped with another": (file, page, random) => swap(file, page, below(random, file.length / pageBytes)),
  "swapped with the next": (file, page) => swap(file, page, (page + 1) % (file.length / pageBytes)),
  "copied over by another": (file, page, random) =>
    pageAt(file, below(random, file.length / pageBytes)).copy(pageAt(file, page)),
  "bit flipped": (file, page, random) => flipBit(pageAt(file, page), below(random, pageBytes), random),
  "bit flipped in its header": (file, page, random) => flipBit(pageAt(file, page), below(random, 24), random),
  "bit flipped in its fill": (file, page, random) =>
    flipBit(pageAt(file, page), 20 + below(random, 4), random),
  "bit flipped behind its header": (file, page, random) =>
    flipBit(pageAt(file, page), 24 + below(random, 144), random),
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
  let folder: string;
  let sound: Buffer;
  let whole: StoreReport;
  const reader = new StoreReader();
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "yard-pages-"));
    await makeSampleStore(join(folder, "sample"));
    sound = readFileSync(join(folder, "sample", "yard.mdb"));
    whole = (await reader.read(copyOf("sound", sound))) as StoreReport;
    assert.ok(typeof whole === "object", String(whole));
    const kept = Array.from({ length: sampleTasks }, (_, index) => index + 1).filter((id) => !isTrimmed(id));
    for (const id of kept) assert.ok(whole.held[`found ${id}`], `task ${id} is in the sample`);
    assert.equal(Object.keys(whole.held).filter((name) => name.startsWith("live")).length, 1200);
  });
  after(() => {
    reader.end();
    rmSync(folder, { recursive: true });
  });

  /** A folder with the sample store, without its file. */
  function copyOf(name: string, file: Buffer): string {
    const to = join(folder, name);
    rmSync(to, { recursive: true, force: true });
    mkdirSync(to);
    cpSync(join(folder, "sample", "owner.json"), join(to, "owner.json"));
    writeFileSync(join(to, "yard.mdb"), file);
    return to;
  }

  async function faultOf(
    where: string,
    starts: readonly string[],
  ): Promise<{ fault: string | undefined; isRefused: boolean }> {
    // The second start finds the file as the first left it, with reused pages.
    for (const time of starts) {
      const report = await reader.read(where);
      if (typeof report === "string") return { fault: `${time} start: ${report}`, isRefused: false };
      if (report.refused !== undefined) {
        const isExpected = report.refused.length > 0 && time === "first";
        return { fault: isExpected ? undefined : `${time} start: ${report.refused}`, isRefused: true };
      }
      const silent = silentLosses(whole, report);
      if (silent.length > 0) {
        const some = silent.slice(0, 5).join(", ");
        return { fault: `${time} start: ${silent.length} gone in silence: ${some}`, isRefused: false };
      }
    }
    return { fault: undefined, isRefused: false };
  }

  async function faultOfRepair(where: string): Promise<string | undefined> {
    const { lost } = await repairStore(where, "then");
    const report = await reader.read(where);
    if (typeof report === "string") return `after the repair: ${report}`;
    if (report.refused !== undefined) return `after the repair: ${report.refused}`;
    const kept = Object.keys(report.held).filter((name) => name.startsWith("task ")).length;
    // Without the root of the heads' tree, no head can be reached: the repair can only say how many
    // there were.
    if (lost.some((line) => /^heads: (\d+) of \1 records could not be read$/.test(line))) return undefined;
    if (kept < sampleTasks / 3) return `the repair kept ${kept} tasks: ${lost.slice(0, 3)}`;
    const words = lost.join("\n");
    const silent = Object.keys(whole.held)
      .filter((name) => /^(task|payload|result) \d+$/.test(name) && report.held[name] !== whole.held[name])
      .filter((name) => !isNamed(words, Number(name.split(" ")[1])));
    if (silent.length === 0) return undefined;
    return `after the repair: ${silent.length} gone in silence: ${silent.slice(0, 5)} (lost: ${lost.slice(0, 3)})`;
  }

  test("a file that was emptied while the store wrote on is refused by name", async () => {
    const random = randomOf(seed);
    for (let count = 0; count < 24; count++) {
      // Only what was written after that is there: some pages, and roots without their headers.
      const file = Buffer.alloc(below(random, sound.length / pageBytes + 1) * pageBytes);
      for (let page = 0; page < file.length / pageBytes; page++) {
        if (random() < 0.6) continue;
        const start = page * pageBytes + (page < 2 ? 40 : 0);
        sound.copy(file, start, start, (page + 1) * pageBytes);
      }
      const report = await reader.read(copyOf("emptied", file));
      const words = typeof report === "string" ? report : (report.refused ?? "it opened");
      assert.match(words, /yard\.mdb is damaged: .+ \(start with --repair/);
    }
  });

  test("is refused or named, or nothing is lost by it", async (context) => {
    const faults: string[] = [];
    let refused = 0;
    let repaired = 0;
    const cases = casesFor(sound.length / pageBytes);
    for (const [index, { page, kind, random }] of cases.entries()) {
      const file = Buffer.from(sound);
      (damages[kind] as Damage)(file, page, random);
      const starts = isFull || index % secondEvery === 0 ? ["first", "second"] : ["first"];
      const verdict = await faultOf(copyOf("case", file), starts);
      let { fault } = verdict;
      if (verdict.isRefused) refused += 1;
      const isRepaired = isFull
        ? refused % repairEvery === 0
        : repaired < (page < 2 ? rootRepairsMax : repairsMax);
      if (fault === undefined && verdict.isRefused && isRepaired) {
        repaired += 1;
        fault = await faultOfRepair(copyOf("case", file));
      }
      if (fault !== undefined) faults.push(`page ${page} ${kind}: ${fault}`);
    }
    context.diagnostic(`${cases.length} damages: ${refused} refused, ${repaired} of them repaired`);
    assert.deepEqual(faults, []);
    assert.ok(refused > 0 && repaired > 0);
  });
});
