import assert from "node:assert/strict";
import { test } from "node:test";
import type { Worker } from "../live/api-shapes.js";
import { bandsMax, layOutStream, rowPx } from "./stream-layout.js";

function worker(id: string, given: Partial<Worker> = {}): Worker {
  const door = id.split("/")[0] ?? "";
  return {
    id,
    door,
    dialect: door,
    address: "",
    queues: ["q"],
    slots: 1,
    running: 0,
    state: "idle",
    joinedAt: "",
    lostReason: null,
    info: null,
    pulls: false,
    ...given,
  };
}
const options = { by: "door", openGroups: new Set<string>(), lanesOf: () => 0 } as const;

test("groups are in the doors' order and rows in that of names", () => {
  const { groups } = layOutStream(
    ["udp/b", "http/w-10", "http/w-2", "udp/a"].map((id) => worker(id)),
    options,
  );
  assert.deepEqual(
    groups.map(({ name }) => name),
    ["http", "udp"],
  );
  assert.deepEqual(
    groups[0]?.rows.map(({ label }) => label),
    ["w-2", "w-10"],
  );
  assert.ok(groups[0]?.rows.every(({ height, isBand }) => height === rowPx && !isBand));
});

test("workers that hold many tasks are one band until opened", () => {
  const workers = ["scaler/a", "scaler/b"].map((id) => worker(id, { slots: 40, running: 40 }));
  const folded = layOutStream(workers, options).groups[0];
  assert.equal(folded?.rows.length, 1);
  assert.equal(folded?.rows[0]?.slots, 80);
  const open = layOutStream(workers, { ...options, openGroups: new Set(["scaler"]) }).groups[0];
  assert.deepEqual(
    open?.rows.map(({ isBand }) => isBand),
    [true, true],
  );
});

test("a worker with room for many tasks has boxes while it holds few", () => {
  const [group] = layOutStream([worker("scaler/a", { slots: 1_000, running: 6 })], options).groups;
  assert.equal(group?.rows[0]?.isBand, false);
  assert.equal(group?.rows[0]?.slots, 8);
  const [busier] = layOutStream([worker("scaler/a", { slots: 1_000, running: 40 })], options).groups;
  assert.equal(busier?.rows[0]?.isBand, true);
  assert.equal(busier?.rows[0]?.slots, 1_000, "a band is a share of slots");
});

test("above 200 rows at most 40 bands show, and nobody is left out", () => {
  const workers = Array.from({ length: 1_024 }, (_, at) =>
    worker(`${at % 3 === 0 ? "http" : "scaler"}/w-${at}`),
  );
  const { groups, isBands } = layOutStream(workers, options);
  const rows = groups.flatMap((group) => group.rows);
  assert.ok(isBands && rows.length <= bandsMax, String(rows.length));
  assert.equal(
    rows.reduce((sum, row) => sum + row.workers.length, 0),
    1_024,
  );
});
