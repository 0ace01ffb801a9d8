// Backoff and heartbeats: time goes in as a number, and what to do comes out.

import assert from "node:assert/strict";
import { test } from "node:test";
import { backoffMs, defaultBackoff } from "./backoff.js";
import { defaultHeartbeat, judgeSilence, pulseOf } from "./heartbeat.js";

test("the wait doubles to its ceiling, between half a step and the whole", () => {
  const waits = (chance: number) =>
    [1, 2, 3, 4, 5, 6, 7, 8, 1000].map((n) => backoffMs(defaultBackoff, n, chance));
  assert.deepEqual(waits(1), [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
  assert.deepEqual(waits(0), [50, 100, 200, 400, 800, 1600, 2500, 2500, 2500]);
});

const pulse = pulseOf(defaultHeartbeat, 5_000);

function verdicts(isBehind: boolean, ttlTicks = Number.POSITIVE_INFINITY): string[] {
  const list: string[] = [];
  for (let ticks = 1; list.at(-1) !== "dead" && ticks < 10_000; ticks++) {
    list.push(judgeSilence(pulse, { ticks, ttlTicks, isBehind, phase: ticks }));
  }
  return list;
}

test("a silent peer is pinged every 2 s and given up after 6 s", () => {
  const list = verdicts(false);
  const at = (verdict: string) =>
    list.flatMap((each, index) => (each === verdict ? [(index + 1) * pulse.tickMs] : []));
  assert.deepEqual(at("ping"), [2_000, 4_000]);
  assert.deepEqual(at("dead"), [6_000]);
});

test("one that is behind is not pinged, and given ten times as long", () => {
  const list = verdicts(true);
  assert.equal(list.includes("ping"), false);
  assert.equal(list.length * pulse.tickMs, 60_000);
});

test("a peer's own time to live counts where it is shorter", () => {
  assert.equal(verdicts(false, 8).length, 8);
});

test("a peer that answers is pinged once an interval, whatever its phase, and many peers at different ticks", () => {
  const perTick: number[] = Array(16).fill(0);
  for (let peer = 0; peer < 1600; peer++) {
    let pings = 0;
    let silent = 0;
    for (let tick = 1; tick <= 160; tick++) {
      silent++;
      const silence = {
        ticks: silent,
        ttlTicks: Number.POSITIVE_INFINITY,
        isBehind: false,
        phase: peer + tick,
      };
      if (judgeSilence(pulse, silence) !== "ping") continue;
      pings++;
      silent = 0;
      perTick[tick % 16] = (perTick[tick % 16] as number) + 1;
    }
    assert.ok(pings === 10 || pings === 9, `${pings} pings in ten intervals`);
  }
  assert.ok(Math.max(...perTick) <= 1_000, "a sixteenth of the peers at each tick");
});

test("without heartbeats nobody is pinged or given up", () => {
  const off = pulseOf({ intervalMs: 0, deadMs: 0, ttlMs: 0 }, 5_000);
  const silence = { ticks: 1_000_000, ttlTicks: Number.POSITIVE_INFINITY, isBehind: false, phase: 0 };
  assert.equal(judgeSilence(off, silence), "wait");
});
