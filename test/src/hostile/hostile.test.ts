// Hostile peers on all doors at once, with a small part of each attack: the dispatcher survives,
// every door serves, new peers are accepted, and memory stays within its bound. `npm run hostile`
// runs the whole attacks.

import assert from "node:assert/strict";
import { test } from "node:test";
import { attacks } from "./attacks.js";
import { besiege } from "./siege.js";

// On a busy machine a siege takes minutes; these are deadlines.
const timeout = 600_000;
const siege = { attackMsMax: 60_000, holdMs: 500 };

async function withstand(names: readonly string[], scale: number): Promise<readonly string[]> {
  const report = await besiege({ ...siege, attacks: names, scale });
  assert.equal(report.ended, undefined);
  assert.equal(report.lost, 0);
  assert.ok(report.peakMiB <= 512, `${report.peakMiB} MiB above idle`);
  return report.silentDoors;
}

test("hostile peers on all doors at once stop nobody", { timeout }, async () => {
  const names = Object.keys(attacks).filter((name) => name !== "datagrams");
  assert.deepEqual(await withstand(names, 0.03), []);
});

test("a flood of datagrams stops nobody but peers of udp, whose datagrams are lost in it", {
  timeout,
}, async () => {
  const silent = await withstand(["datagrams"], 0.03);
  assert.deepEqual(
    silent.filter((fault) => !fault.startsWith("udp: ")),
    [],
  );
});
