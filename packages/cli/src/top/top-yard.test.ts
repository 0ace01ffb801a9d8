// When the picture that `top` draws is whole: it waits for that before it draws once.

import assert from "node:assert/strict";
import { test } from "node:test";
import { TopYard } from "./top-yard.js";

const figures = { at: "2026-01-01T00:00:00.000Z" };

function tell(yard: TopYard, type: string, data: object, atMs: number): void {
  yard.take({ id: "1", type, data }, atMs);
}

test("without workers the picture is complete once the figures have come", () => {
  const yard = new TopYard();
  assert.ok(!yard.isWhole);
  tell(yard, "figures", figures, 1_000);
  assert.ok(yard.isWhole);
});

test("with workers it also waits, for a limited time, until it knows when each was last heard", () => {
  const heard = new TopYard();
  tell(heard, "worker", { id: "http/a", state: "idle" }, 1_000);
  tell(heard, "figures", figures, 1_000);
  assert.ok(!heard.isWhole);
  heard.beats.set("http/a", {} as never);
  assert.ok(heard.isWhole);
  const unheard = new TopYard();
  tell(unheard, "worker", { id: "http/a", state: "idle" }, 1_000);
  tell(unheard, "figures", figures, 2_000);
  assert.ok(!unheard.isWhole);
  tell(unheard, "figures", figures, 2_600);
  assert.ok(unheard.isWhole);
});
