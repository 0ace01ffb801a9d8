// A sample store whose file a test damages, and the check after each damage: every record is there,
// or each missing one is named. A refusal to open counts as named; `--repair` must then name each
// task that is gone.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repairStore } from "../repair.js";
import type { StoreReport } from "./damage-reader.js";
import { isNamed, StoreReader, silentLosses } from "./damage-verdict.js";
import { isTrimmed, makeSampleStore, sampleTasks } from "./sample-store.js";

/** Random numbers from 0 to 1. The same seed gives the same sequence. */
export function randomOf(from: number): Random {
  let state = from * 2_654_435_769;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export type Random = () => number;

export interface Verdict {
  /** Undefined if the damage ended as it must. */
  readonly fault: string | undefined;
  readonly refused: string | undefined;
}

export class DamagedSample {
  readonly #folder: string;
  /** The store's file without damage. */
  readonly sound: Buffer;
  /** What it was earlier, after each time the store had taken batches over. */
  readonly earlier: readonly Buffer[];
  readonly #reader: StoreReader;
  readonly #whole: StoreReport;

  private constructor(
    folder: string,
    sound: Buffer,
    earlier: readonly Buffer[],
    reader: StoreReader,
    whole: StoreReport,
  ) {
    this.#folder = folder;
    this.sound = sound;
    this.earlier = earlier;
    this.#reader = reader;
    this.#whole = whole;
  }

  static async make(): Promise<DamagedSample> {
    const folder = mkdtempSync(join(tmpdir(), "yard-pages-"));
    const path = join(folder, "sample", "yard.mdb");
    const earlier: Buffer[] = [];
    await makeSampleStore(join(folder, "sample"), () => earlier.push(readFileSync(path)));
    const reader = new StoreReader();
    const sound = readFileSync(path);
    const whole = (await reader.read(copyIn(folder, sound))) as StoreReport;
    assert.ok(typeof whole === "object", String(whole));
    const kept = Array.from({ length: sampleTasks }, (_, index) => index + 1).filter((id) => !isTrimmed(id));
    for (const id of kept) assert.ok(whole.held[`found ${id}`], `task ${id} is in the sample`);
    assert.equal(Object.keys(whole.held).filter((name) => name.startsWith("live")).length, 1200);
    return new DamagedSample(folder, sound, earlier, reader, whole);
  }

  end(): void {
    this.#reader.end();
    rmSync(this.#folder, { recursive: true });
  }

  /** What a start with this file comes to. */
  read(file: Buffer): Promise<StoreReport | string> {
    return this.#reader.read(copyIn(this.#folder, file));
  }

  async faultOf(file: Buffer, starts: readonly string[]): Promise<Verdict> {
    const where = copyIn(this.#folder, file);
    // The second start finds the file as the first left it, with reused pages.
    for (const time of starts) {
      const report = await this.#reader.read(where);
      if (typeof report === "string") return { fault: `${time} start: ${report}`, refused: undefined };
      const { refused } = report;
      if (refused !== undefined) {
        const isExpected = refused.length > 0 && time === "first";
        return { fault: isExpected ? undefined : `${time} start: ${refused}`, refused };
      }
      const silent = silentLosses(this.#whole, report);
      if (silent.length > 0) {
        const some = silent.slice(0, 5).join(", ");
        return { fault: `${time} start: ${silent.length} gone in silence: ${some}`, refused };
      }
    }
    return { fault: undefined, refused: undefined };
  }

  async faultOfRepair(file: Buffer): Promise<string | undefined> {
    const where = copyIn(this.#folder, file);
    const { lost } = await repairStore(where, "then");
    const report = await this.#reader.read(where);
    if (typeof report === "string") return `after the repair: ${report}`;
    if (report.refused !== undefined) return `after the repair: ${report.refused}`;
    const kept = Object.keys(report.held).filter((name) => name.startsWith("task ")).length;
    // Without the root of the heads' tree, no head can be reached: the repair can only say how many
    // there were.
    if (lost.some((line) => /^heads: (\d+) of \1 records could not be read$/.test(line))) return undefined;
    if (kept < sampleTasks / 3) return `the repair kept ${kept} tasks: ${lost.slice(0, 3)}`;
    const words = lost.join("\n");
    // Which records are older cannot be known.
    if (lost.some((line) => /(?:may be|are) older than what was acknowledged$/.test(line))) return undefined;
    const { held } = this.#whole;
    // A live task is there without its progress, and the repair only says how many there are.
    const isCounted = lost.some((line) => /^progress: \d+ of \d+ records could not be read$/.test(line));
    const silent = Object.keys(held)
      .filter((name) => /^(task|payload|result) \d+$/.test(name) && report.held[name] !== held[name])
      .filter((name) => !isNamed(words, Number(name.split(" ")[1])))
      .filter((name) => !(isCounted && report.held[name] !== undefined));
    if (silent.length === 0) return undefined;
    return `after the repair: ${silent.length} gone in silence: ${silent.slice(0, 5)} (lost: ${lost.slice(0, 3)})`;
  }
}

/** A folder with the sample store, and this file in place of its own. */
function copyIn(folder: string, file: Buffer): string {
  const to = join(folder, "case");
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to);
  cpSync(join(folder, "sample", "owner.json"), join(to, "owner.json"));
  writeFileSync(join(to, "yard.mdb"), file);
  return to;
}
