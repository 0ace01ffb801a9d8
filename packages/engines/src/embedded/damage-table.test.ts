// Damages each file of a store in each way, after a clean shutdown, after a crash and while the
// engine runs, and checks how that ends: nothing is lost, the damage is named, or the store refuses
// to open and `--repair` lists what is gone. It is never a silent loss. The test prints the table
// of endings and compares it with the one in docs/guarantees.md.

import assert from "node:assert/strict";
import {
  closeSync,
  cpSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { repairStore } from "./repair.js";
import type { StoreReport } from "./testing/damage-reader.js";
import { isNamed, StoreReader, silentLosses } from "./testing/damage-verdict.js";
import { StoreProcess } from "./testing/processes.js";
import { SeededRandom } from "./testing/random.js";
import { sampleTasks } from "./testing/sample-store.js";

const batches = 30;
const tasks = sampleTasks / batches;
/** A crash finds the store with the batches up to this one. The journal has all of them. */
const storedBatches = 20;
const olderBatches = 10;
/** Batches of a running engine before and after the damage. */
const runningBatches = 4;
/** Number of pages of a file that are damaged, one at a time. `YARD_DAMAGE=n` sets another. */
const pagesEach = Number(process.env.YARD_DAMAGE) || 2;
const pageBytes = 4096;

const moments = ["clean", "crashed", "running"] as const;
type Moment = (typeof moments)[number];
const files = { store: "yard.mdb", journal: "yard.journal", owner: "owner.json" } as const;

/** Undefined: the file is deleted. `older`: what it was some batches ago. */
type Damage = (bytes: Buffer, older: Buffer, random: SeededRandom) => Buffer | undefined;

const wholeFile: Record<string, Damage> = {
  deleted: () => undefined,
  emptied: () => Buffer.alloc(0),
  "cut in half": (bytes) => bytes.subarray(0, bytes.length / 2),
  "an older copy": (_, older) => older,
};
const onePage: Record<string, Damage> = {
  // As after a write that the disk lost.
  "a page's older version": (bytes, older, random) => {
    for (let tries = 0; tries < 1000; tries++) {
      const [start, end] = pageIn(bytes, random);
      if (end > older.length || bytes.subarray(start, end).equals(older.subarray(start, end))) continue;
      older.copy(bytes, start, start, end);
      break;
    }
    return bytes;
  },
  "a page of zeros": (bytes, _, random) => {
    const [start, end] = pageIn(bytes, random);
    return bytes.fill(0, start, end);
  },
  "two pages swapped": (bytes, _, random) => {
    const [one, oneEnd] = pageIn(bytes, random);
    const [other, otherEnd] = pageIn(bytes, random);
    const copy = Buffer.from(bytes.subarray(one, oneEnd));
    bytes.copy(bytes, one, other, otherEnd);
    copy.copy(bytes, other);
    return bytes;
  },
  "a flipped bit": (bytes, _, random) => {
    const [start, end] = pageIn(bytes, random);
    const at = start + random.below(end - start);
    bytes[at] = (bytes[at] as number) ^ (1 << random.below(8));
    return bytes;
  },
};

/**
 * A page that is in use: the journal ends with zeros. Not the last two, because damage to the last
 * entry of the journal cannot be told from a torn write.
 */
function pageIn(bytes: Buffer, random: SeededRandom): [start: number, end: number] {
  const used = bytes.findLastIndex((byte) => byte !== 0) + 1;
  const start = random.below(Math.ceil(used / pageBytes) - 2) * pageBytes;
  return [start, Math.min(bytes.length, start + pageBytes)];
}

const guarantees = readFileSync(
  fileURLToPath(new URL("../../../../docs/guarantees.md", import.meta.url)),
  "utf8",
);

/** The cells of this row in the documentation: after a clean shutdown, after a crash, running. */
function documented(file: string, kind: string): string[] {
  const start = `| \`${file}\` | ${kind} | `;
  const row = guarantees.split("\n").find((line) => line.startsWith(start)) ?? "";
  return row.slice(start.length, -2).split(" | ");
}

describe("the table of damages", () => {
  const root = mkdtempSync(join(tmpdir(), "yard-damage-"));
  const reader = new StoreReader();
  let whole: StoreReport;
  const states = {} as Record<Moment | "older", string>;

  before(async () => {
    const folder = join(root, "made");
    const process = new StoreProcess(folder, { batches, tasks, isStepped: true });
    for (let batch = 1; batch <= batches; batch++) {
      await process.until(({ acked }) => acked === batch);
      if (batch === olderBatches) states.older = copyOf(folder, "older");
      if (batch === storedBatches) copyOf(folder, "stored");
      if (batch === batches) states.running = copyOf(folder, "running");
      process.step();
    }
    assert.equal(await process.ended(), 0);
    states.clean = copyOf(folder, "clean");
    states.crashed = copyOf(states.running, "crashed");
    cpSync(join(root, "stored", files.store), join(states.crashed, files.store));
    whole = (await reader.read(copyOf(states.crashed, "whole"))) as StoreReport;
    assert.equal(Object.keys(whole.held).filter((name) => name.startsWith("task")).length, sampleTasks);
  });
  after(() => {
    reader.end();
    rmSync(root, { recursive: true, force: true });
  });

  function copyOf(folder: string, name: string): string {
    const to = join(root, name);
    rmSync(to, { recursive: true, force: true });
    mkdirSync(to);
    for (const each of readdirSync(folder)) {
      if (!each.endsWith("-lock")) cpSync(join(folder, each), join(to, each));
    }
    return to;
  }

  /** Damages the file in place, so that a running engine goes on with the same one. */
  function apply(folder: string, file: string, damage: Damage, seed: number): void {
    const path = fileIn(folder, file);
    const older = readFileSync(fileIn(states.older, file));
    const bytes = damage(readFileSync(path), older, new SeededRandom(seed));
    if (bytes === undefined) return rmSync(path);
    const descriptor = openSync(path, "r+");
    writeSync(descriptor, bytes, 0, bytes.length, 0);
    ftruncateSync(descriptor, bytes.length);
    closeSync(descriptor);
  }

  /** Of the two journals, the one that has entries. */
  function fileIn(folder: string, file: string): string {
    const name = readdirSync(folder).find((each) => each === file || each.startsWith(`${file}-`));
    return join(folder, name ?? `${file}-1-0`);
  }

  /** What the next start comes to, in a word or as a fault. */
  async function nextStart(folder: string, acknowledged: number): Promise<string> {
    const damaged = copyOf(folder, "damaged");
    const report = await reader.read(folder);
    if (typeof report === "string") return `FAULT: ${report}`;
    if (report.refused !== undefined) return (await faultOfRepair(damaged)) ?? "refused";
    // Segments grow with later tasks.
    const silent = silentLosses(whole, report).filter((name) => !name.startsWith("segment"));
    for (let id = sampleTasks + 1; id <= acknowledged; id++) {
      if (report.held[`found ${id}`] === undefined) silent.push(`task ${id}`);
    }
    if (silent.length > 0) return `FAULT: ${silent.length} lost in silence: ${silent.slice(0, 3)}`;
    return report.named.length > 0 ? "named" : "nothing lost";
  }

  async function faultOfRepair(folder: string): Promise<string | undefined> {
    const { lost } = await repairStore(folder, "then");
    const report = await reader.read(folder);
    if (typeof report === "string") return `FAULT after the repair: ${report}`;
    if (report.refused !== undefined) return `FAULT after the repair: ${report.refused}`;
    const missing = Object.keys(whole.held).filter(
      (name) => /^task \d+$/.test(name) && report.held[name] !== whole.held[name],
    );
    const words = lost.join("\n");
    const isTold =
      / (?:may be|is) gone|could not be read|is damaged$|older than what was acknowledged$/m.test(words);
    const silent = missing.filter((name) => !isNamed(words, Number(name.split(" ")[1])));
    if (silent.length === 0 || isTold) return undefined;
    return `FAULT: repair lost ${silent.length} in silence: ${silent.slice(0, 3)} (${lost.slice(0, 2)})`;
  }

  async function ending(moment: Moment, file: string, damage: Damage, seed: number): Promise<string> {
    const folder = copyOf(states[moment], "case");
    if (moment !== "running") {
      apply(folder, file, damage, seed);
      return nextStart(folder, 0);
    }
    const process = new StoreProcess(folder, { batches: 2 * runningBatches, tasks, isStepped: true });
    const isAt = (batch: number) =>
      process.until(({ acked, fault }) => acked === batch || fault !== undefined).catch(() => {});
    for (let batch = 1; batch < 2 * runningBatches; batch++) {
      await isAt(batch);
      if (batch === runningBatches) apply(folder, file, damage, seed);
      process.step();
    }
    await isAt(2 * runningBatches);
    const fault = process.last("fault");
    const acknowledged = process.last("last") ?? 0;
    await process.kill();
    const { signalCode } = process.child;
    const then = await nextStart(folder, acknowledged);
    if (fault !== undefined) return `stops then ${then}`;
    return signalCode === "SIGKILL" ? then : `ends then ${then}`;
  }

  test("ends as docs/guarantees.md says", async (context) => {
    const faults: string[] = [];
    for (const file of Object.values(files)) {
      const kinds = file === files.owner ? wholeFile : { ...wholeFile, ...onePage };
      for (const [kind, damage] of Object.entries(kinds)) {
        const cells: string[] = [];
        for (const moment of moments) {
          if (moment === "clean" && file === files.journal) {
            cells.push("no such file");
            continue;
          }
          const ends = new Set<string>();
          for (let seed = 1; seed <= (kind in wholeFile ? 1 : pagesEach); seed++) {
            ends.add(await ending(moment, file, damage, seed));
          }
          cells.push([...ends].sort().join(", "));
          const expected = (documented(file, kind)[moments.indexOf(moment)] ?? "").split(/[,;] | or | then /);
          const unexpected = [...ends].filter((end) =>
            end.split(" then ").some((part) => !expected.includes(part)),
          );
          if (unexpected.length > 0) faults.push(`${file}, ${kind}, ${moment}: ${unexpected.join("; ")}`);
        }
        context.diagnostic(`| \`${file}\` | ${kind} | ${cells.join(" | ")} |`);
      }
    }
    assert.deepEqual(faults, []);
  });
});
