// A disk that loses a write leaves the page as it was before. Here single pages of a real store are
// older versions of themselves: none is used in silence. By default a seed draws a sample of them.
// `YARD_DAMAGE=full` tries every one, `YARD_DAMAGE=n` takes a sample of n, and `YARD_SEED=n` draws
// another sample.

import assert from "node:assert/strict";
import { after, before, describe, type TestContext, test } from "node:test";
import { pageFlags, readPageHeader } from "./page-form.js";
import { DamagedSample, randomOf } from "./testing/damaged-sample.js";
import { nodesOf, pageBytes, pageOf, usedPages } from "./testing/used-pages.js";

const isFull = process.env.YARD_DAMAGE === "full";
const casesMax = Number(process.env.YARD_DAMAGE) || 60;
const seed = Number(process.env.YARD_SEED ?? 1);
/** Each repair takes a second. In a full run, one in this many refused cases is repaired. */
const repairsMax = 6;
const repairEvery = 20;

interface OlderPage {
  readonly page: number;
  readonly bytes: Buffer;
}

/** All earlier versions of all pages in use. */
function olderPages({ sound, earlier }: DamagedSample): OlderPage[] {
  const older: OlderPage[] = [];
  for (const page of [0, 1, ...usedPages(sound)]) {
    const seen = new Set([pageOf(sound, page).toString("latin1")]);
    for (const file of earlier) {
      const bytes = pageOf(file, page);
      if (bytes.length < pageBytes || seen.has(bytes.toString("latin1"))) continue;
      seen.add(bytes.toString("latin1"));
      older.push({ page, bytes });
    }
  }
  return older;
}

/** True if the older page has the same keys as the present one, so that the structure fits. */
function hasSameKeys({ sound }: DamagedSample, { page, bytes }: OlderPage): boolean {
  const is = keysIn(pageOf(sound, page), page);
  return is !== undefined && is === keysIn(bytes, page);
}

/** The keys of a leaf page; undefined for any other page. */
function keysIn(bytes: Buffer, page: number): string | undefined {
  const header = readPageHeader(bytes);
  if (header.page !== page || header.flags !== pageFlags.leaf) return undefined;
  return nodesOf(bytes)
    .map(({ key }) => key)
    .join("\n");
}

describe("an older version of a page", () => {
  let sample: DamagedSample;
  before(async () => {
    sample = await DamagedSample.make();
  });
  after(() => sample.end());

  function cases(context: TestContext): OlderPage[] {
    const all = olderPages(sample);
    if (isFull) return all;
    const random = randomOf(seed);
    const alike = all.filter((each) => hasSameKeys(sample, each));
    context.diagnostic(`${all.length} older pages, ${alike.length} of them with the same keys`);
    assert.ok(alike.length > 0);
    return Array.from({ length: casesMax }, (_, index) => {
      const from = index % 2 === 0 ? all : alike;
      return from[Math.floor(random() * from.length)] as OlderPage;
    });
  }

  test("is never used in silence", async (context) => {
    const faults: string[] = [];
    const refused: string[] = [];
    let repaired = 0;
    const tried = cases(context);
    for (const { page, bytes } of tried) {
      const file = Buffer.from(sample.sound);
      bytes.copy(file, page * pageBytes);
      const verdict = await sample.faultOf(file, ["first"]);
      let { fault } = verdict;
      if (verdict.refused !== undefined) {
        refused.push(verdict.refused);
        if (isFull ? refused.length % repairEvery === 0 : repaired < repairsMax) {
          repaired += 1;
          fault ??= await sample.faultOfRepair(file);
        }
      }
      if (fault !== undefined) faults.push(`page ${page}: ${fault}`);
    }
    const bySums = refused.filter((words) => words.includes("committed last")).length;
    context.diagnostic(
      `${tried.length} older pages: ${refused.length} refused, ${bySums} of them by the sums, ${repaired} repaired`,
    );
    assert.deepEqual(faults, []);
    assert.ok(bySums > 0 && repaired > 0);
  });
});
