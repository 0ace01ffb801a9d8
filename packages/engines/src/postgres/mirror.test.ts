// The mirror against the memory engine: the same random batches, in groups of any size, begun from
// tables at any moment, with tables that are behind the log.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Change } from "@yardmaster/core";
import fc from "fast-check";
import { steps } from "../conformance/change-lists.js";
import { Owner, plain } from "../conformance/owner.js";
import { bodyOf, headOf, progressOf, put, settledOf } from "../conformance/samples.js";
import { BatchEncoder } from "../durable/batch-encoder.js";
import { Batch } from "../durable/batches.js";
import type { LoadItem } from "../engine.js";
import { MemoryEngine } from "../memory/memory-engine.js";
import { Mirror } from "./mirror.js";
import { lookUp } from "./mirror-feed.js";

const encoder = new BatchEncoder(4096, { before: 0, after: 0 });

function batchOf(number: number, changes: readonly Change[]): Batch {
  const { bytes, start, end } = encoder.encode(changes);
  const own = Buffer.from(bytes.subarray(start, end));
  return new Batch(number, { bytes: own, start: 0, end: own.length });
}

/** Tables that have the batches that were given to them so far. */
class Tables {
  readonly #engine: MemoryEngine;
  readonly #owner: Owner;
  through = 0;

  private constructor(engine: MemoryEngine, owner: Owner) {
    this.#engine = engine;
    this.#owner = owner;
  }

  static async open(): Promise<Tables> {
    const engine = new MemoryEngine();
    return new Tables(engine, await Owner.take({ open: async () => engine, destroy: async () => {} }));
  }

  async give(changes: readonly Change[]): Promise<void> {
    await this.#owner.commit(...changes);
    this.through += 1;
  }

  async tasks(ids: readonly number[]) {
    const found = await Promise.all(ids.map((id) => this.#engine.task(id as never)));
    return { tasks: found.filter((task) => task !== undefined), through: this.through };
  }

  async items(): Promise<LoadItem[]> {
    const items: LoadItem[] = [];
    await this.#engine.load((item) => items.push(item));
    return items;
  }

  async mirror(): Promise<Mirror> {
    const items = await this.items();
    const end = items.at(-1);
    const mirror = new Mirror(this.through, end?.type === "end" ? end.lastTask : 0);
    for (const item of items) mirror.take(item);
    return mirror;
  }
}

const isLive = ({ type }: LoadItem) => type !== "segment" && type !== "end";

/** The order counts for tasks only. */
function sorted(items: readonly LoadItem[]): unknown[] {
  const tasks = items.filter(({ type }) => type === "task").map(plain);
  const others = items.filter(({ type }) => type !== "task").map((item) => JSON.stringify(plain(item)));
  return [...tasks, ...others.sort()];
}

async function assertSame(mirror: Mirror, tables: Tables): Promise<void> {
  await lookUp(mirror, tables);
  const items = [...mirror.pages()].flat();
  assert.deepEqual(sorted(items), sorted((await tables.items()).filter(isLive)));
}

describe("the mirror of a standby", () => {
  test("it has what the tables have, whenever it began and however far they are behind", async () => {
    const moments = fc.record({ start: fc.nat(20), lag: fc.nat(5), group: fc.integer({ min: 1, max: 6 }) });
    const property = fc.asyncProperty(steps, moments, async (someSteps, { start, lag, group }) => {
      const batches: Change[][] = [[]];
      for (const { change, next } of someSteps) {
        batches.at(-1)?.push(change);
        if (next !== "more") batches.push([]);
      }
      const tables = await Tables.open();
      const behind = batches.slice(0, start);
      for (const changes of behind) await tables.give(changes);
      const mirror = await tables.mirror();
      for (let at = behind.length; at < batches.length; at += group) {
        const next = batches.slice(at, at + group);
        mirror.apply(next.map((changes, index) => batchOf(at + index + 1, changes)));
        while (tables.through < at + next.length - lag) await tables.give(batches[tables.through] ?? []);
        await lookUp(mirror, tables);
      }
      while (tables.through < batches.length) await tables.give(batches[tables.through] ?? []);
      await assertSame(mirror, tables);
    });
    await fc.assert(property, { numRuns: 60 });
  });

  test("a task that comes back from history is looked up when the tables have it", async () => {
    const tables = await Tables.open();
    await tables.give([put(headOf(1)), put(headOf(2)), put(settledOf(1, 1))]);
    const mirror = await tables.mirror();
    const returned = [put(progressOf(1, { state: "waiting", losses: 1 }))];
    mirror.apply([batchOf(2, returned)]);
    await lookUp(mirror, tables);
    assert.deepEqual(mirror.unsure(10), [1]);
    await tables.give(returned);
    await assertSame(mirror, tables);
  });

  test("it keeps records when the memory of their batch is used again", async () => {
    const tables = await Tables.open();
    const mirror = await tables.mirror();
    const changes = [put(headOf(1, { payload: bodyOf("payload") }))];
    const batch = batchOf(1, changes);
    mirror.apply([batch]);
    batch.bytes.fill(0);
    await tables.give(changes);
    await assertSame(mirror, tables);
  });
});
