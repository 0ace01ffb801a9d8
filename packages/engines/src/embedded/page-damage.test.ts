// Damages pages of a real store, one at a time, and asks each time: is everything there, or is what is missing named? A
// refusal counts as named, and `--repair` then has to name each task that is gone. By default a sample that a seed draws;
// `YARD_DAMAGE=full` takes every page with every kind of damage, `YARD_DAMAGE=n` a sample of n, `YARD_SEED=n` another one.

import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { repairStore } from "./repair.js";
import type { StoreReport } from "./testing/damage-reader.js";
import { isTrimmed, makeSampleStore, sampleTasks } from "./testing/sample-store.js";

const pageBytes = 4096;
const isFull = process.env.YARD_DAMAGE === "full";
const seed = Number(process.env.YARD_SEED ?? 1);
/** Of the sample: cases, and how many of the refused ones are repaired as well. */
const casesMax = Number(process.env.YARD_DAMAGE) || 48;
const repairsMax = 6;
const rootRepairsMax = 2;
/** The second start is asked of one in this many of a sample. */
const secondEvery = 3;
/** In a full run one in this many refused cases is repaired: each takes a second. */
const repairEvery = 20;

/** The same sequence for the same seed, from 0 up to 1. */
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
  // The roots and the first pages are few, and everything hangs on them.
  const early = cases.filter(({ page }) => page < 2);
  const late = cases.filter(({ page }) => page >= 2);
  return [
    ...early,
    ...Array.from({ length: casesMax - early.length }, () => late[below(random, late.length)] as Case),
  ];
}

/** The child that reads, and another where one fell. */
class Reader {
  #child: ChildProcess | undefined;

  async read(folder: string): Promise<StoreReport | string> {
    const main = fileURLToPath(new URL("./testing/damage-reader.js", import.meta.url));
    this.#child ??= fork(main, { stdio: ["ignore", "inherit", "ignore", "ipc"], execArgv: [] });
    const child = this.#child;
    return new Promise((resolve) => {
      const fell = (code: number | null, signal: string | null) => {
        this.#child = undefined;
        resolve(`it fell with ${signal ?? code}`);
      };
      child.once("exit", fell);
      child.once("message", (report: StoreReport & { failed?: string }) => {
        child.off("exit", fell);
        resolve(report.failed ?? report);
      });
      child.send(folder);
    });
  }

  end(): void {
    this.#child?.kill("SIGKILL");
  }
}

describe("a damaged page", () => {
  let folder: string;
  let sound: Buffer;
  let whole: StoreReport;
  const reader = new Reader();
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

  /** A folder with the sample, but for the file. */
  function copyOf(name: string, file: Buffer): string {
    const to = join(folder, name);
    rmSync(to, { recursive: true, force: true });
    mkdirSync(to);
    cpSync(join(folder, "sample", "owner.json"), join(to, "owner.json"));
    writeFileSync(join(to, "yard.mdb"), file);
    return to;
  }

  /** What is missing and nobody says so. */
  function silentLosses({ held, named }: StoreReport): string[] {
    const words = named.join("\n");
    return Object.keys(whole.held).filter((name) => {
      if (held[name] === whole.held[name]) return false;
      const [, id = ""] = /^\w+ (\d+)$/.exec(name) ?? [];
      return !named.includes(name) && !isNamed(words, Number(id));
    });
  }

  async function faultOf(
    where: string,
    starts: readonly string[],
  ): Promise<{ fault: string | undefined; isRefused: boolean }> {
    // The second time as the first left it: freed pages were used again.
    for (const time of starts) {
      const report = await reader.read(where);
      if (typeof report === "string") return { fault: `${time} start: ${report}`, isRefused: false };
      if (report.refused !== undefined) {
        const isNamed = report.refused.length > 0 && time === "first";
        return { fault: isNamed ? undefined : `${time} start: ${report.refused}`, isRefused: true };
      }
      const silent = silentLosses(report);
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
    if (kept < sampleTasks / 3) return `the repair kept ${kept} tasks: ${lost.slice(0, 3)}`;
    const words = lost.join("\n");
    const silent = Object.keys(whole.held)
      .filter((name) => /^(task|payload|result) \d+$/.test(name) && report.held[name] !== whole.held[name])
      .filter((name) => !isNamed(words, Number(name.split(" ")[1])));
    if (silent.length === 0) return undefined;
    return `after the repair: ${silent.length} gone in silence: ${silent.slice(0, 5)} (lost: ${lost.slice(0, 3)})`;
  }

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

/** Whether these words speak of this task, by itself or in a range. */
function isNamed(words: string, id: number): boolean {
  // A tree that nothing is left of.
  if (/all that is left of (heads|progress|bundles|bodies)/.test(words)) return true;
  for (const [, first, last, onwards] of words.matchAll(/tasks? (\d+)(?: to (\d+))?( and all after it)?/g)) {
    const end = onwards === undefined ? Number(last ?? first) : Number.POSITIVE_INFINITY;
    if (id >= Number(first) && id <= end) return true;
  }
  return false;
}
