// The engine in its simulator: crashes at any step, and regression tests for the faults that it
// found.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Change } from "@yardmaster/core";
import { headOf, put, settledOf } from "../conformance/samples.js";
import { BatchEncoder } from "../durable/batch-encoder.js";
import { Batch } from "../durable/batches.js";
import type { TaskQuery } from "../engine.js";
import { Store } from "./store.js";
import { MemoryFile } from "./testing/memory-file.js";
import { SimulatedFiles } from "./testing/simulated-files.js";
import { SimulatedEngine } from "./testing/simulation.js";

function batchOf(number: number, changes: readonly Change[]): Batch {
  const { bytes, end } = new BatchEncoder(4096, { before: 0, after: 0 }).encode(changes);
  const own = Buffer.allocUnsafeSlow(end);
  bytes.copy(own, 0, 0, end);
  return new Batch(number, { bytes: own, start: 0, end });
}

function openStore(file: MemoryFile, entries: number): Store {
  const store = new Store({
    path: "/simulated/yard.mdb",
    durability: "fsync",
    openFile: () => file.open(),
    journalFiles: new SimulatedFiles(),
    pace: { entries, lists: 1 },
  });
  store.takeOver();
  return store;
}

function idsFound(store: Store, query: Omit<TaskQuery, "limit">): readonly number[] {
  const search = store.search({ ...query, limit: 100 });
  search.step(() => false);
  return search.found;
}

describe("the simulated engine", () => {
  for (let seed = 1; seed <= 24; seed++) {
    test(`holds what was acknowledged over crashes at any step: seed ${seed}`, () =>
      new SimulatedEngine(seed).run(6));
  }

  test("a task that settles after one that settled ahead of its batch is found after a crash", () => {
    const file = new MemoryFile();
    // The index is set apart with the third batch, and takes several more batches to be written.
    const store = openStore(file, 14);
    const settleFirst = batchOf(4, [put(settledOf(1, 1))]);
    const settleSecond = batchOf(5, [put(settledOf(2, 2))]);
    const heads = [2, 3, 4, 5, 6].map((id) => put(headOf(id, { queue: `q${id}` })));
    store.commit([batchOf(1, [put(headOf(1))])]);
    // Task 2 is new and settles ahead of its batch, at position 2. Task 1 is older, and settles
    // later, at position 1.
    const second = batchOf(2, heads);
    const third = batchOf(3, [put(headOf(7, { queue: "q7" }))]);
    store.commit([second], [third, settleFirst, settleSecond]);
    store.commit([third], [settleFirst, settleSecond]);
    store.commit([settleFirst], [settleSecond]);
    store.commit([settleSecond]);
    for (let number = 6; number < 20; number++) store.commit([batchOf(number, [])]);
    assert.deepEqual(idsFound(store, { state: "done" }), [2, 1]);
    const next = openStore(file, 14);
    assert.deepEqual(idsFound(next, { state: "done" }), [2, 1]);
  });
});
