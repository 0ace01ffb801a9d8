import assert from "node:assert/strict";
import { test } from "node:test";
import type { Instant, Moment, WallTime } from "@yardmaster/core";
import { Faults } from "./faults.js";

let ms = 0;
const now = (): Moment => ({ instant: ms as Instant, wall: ms as WallTime });

/** Faults at the given time. */
function at(faults: Faults, time: number): Faults {
  ms = time;
  return faults;
}

test("every fault is counted, and logged once per kind, peer and minute", () => {
  const logged: string[] = [];
  const faults = new Faults((kind, peer) => logged.push(`${kind} ${peer}`), now);
  for (let number = 0; number < 5; number += 1) at(faults, number).add("bad_frame", "p1");
  at(faults, 10).add("bad_frame", "p2");
  at(faults, 10).add("too_large", "p1");
  assert.deepEqual(logged, ["bad_frame p1", "bad_frame p2", "too_large p1"]);
  assert.equal(faults.count("bad_frame"), 6);
  at(faults, 60_001).add("bad_frame", "p1");
  assert.equal(logged.length, 4);
});

test("a million peers at fault do not fill the memory or the log", () => {
  let lines = 0;
  const faults = new Faults(() => {
    lines += 1;
  }, now);
  for (let number = 0; number < 100_000; number += 1) at(faults, 1).add("bad_frame", `p${number}`);
  assert.equal(faults.count("bad_frame"), 100_000);
  assert.ok(lines <= 1_001, `${lines} lines`);
});

test("a peer that comes back under one port after another does not fill the log", () => {
  const logged: string[] = [];
  const faults = new Faults((kind, peer) => logged.push(`${kind} ${peer}`), now);
  for (let port = 1; port <= 50_000; port++) {
    at(faults, 1).add("no_delimiter", `tcp://127.0.0.1:${port}`);
    at(faults, 1).add("unknown_method", `[::1]:${port}`);
  }
  assert.equal(logged.length, 20);
  at(faults, 2).add("no_delimiter", "tcp://10.0.0.7:5");
  at(faults, 2).add("too_large", "tcp://127.0.0.1:1");
  assert.deepEqual(logged.slice(20), ["no_delimiter tcp://10.0.0.7:5", "too_large tcp://127.0.0.1:1"]);
  at(faults, 60_002).add("no_delimiter", "tcp://127.0.0.1:1");
  assert.equal(logged.length, 23);
});
