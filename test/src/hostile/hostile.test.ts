// Hostile peers on all doors at once, a small part of each attack: the dispatcher lives, every door serves, newcomers are let
// in, and memory stays within its bound. `npm run hostile` makes the whole attacks.

import assert from "node:assert/strict";
import { test } from "node:test";
import { attacks } from "./attacks.js";
import { besiege } from "./siege.js";

const timeout = 180_000;

/** Floods that udp loses datagrams in, as udp does, and attacks whose tasks keep the load's own workers busy. */
const unfit: ReadonlySet<string> = new Set(["datagrams", "tasks", "unknown-objects", "claims"]);

test("hostile peers on all doors at once stop nobody", { timeout }, async () => {
  const names = Object.keys(attacks).filter((name) => !unfit.has(name));
  const report = await besiege({ attacks: names, scale: 0.05, attackMsMax: 60_000, holdMs: 500 });
  assert.equal(report.ended, undefined);
  assert.equal(report.lost, 0);
  assert.deepEqual(report.silentDoors, []);
  assert.ok(report.peakMiB <= 512, `${report.peakMiB} MiB above idle`);
});
