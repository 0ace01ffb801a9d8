import assert from "node:assert/strict";
import { test } from "node:test";
import type { Instant, Moment, WallTime } from "@yardmaster/core";
import { Faults } from "./faults.js";

const at = (ms: number): Moment => ({ instant: ms as Instant, wall: ms as WallTime });

test("every fault is counted, and logged once per kind, peer and minute", () => {
  const logged: string[] = [];
  const faults = new Faults((kind, peer) => logged.push(`${kind} ${peer}`));
  for (let number = 0; number < 5; number += 1) faults.add("bad_frame", "p1", at(number));
  faults.add("bad_frame", "p2", at(10));
  faults.add("too_large", "p1", at(10));
  assert.deepEqual(logged, ["bad_frame p1", "bad_frame p2", "too_large p1"]);
  assert.equal(faults.count("bad_frame"), 6);
  faults.add("bad_frame", "p1", at(60_001));
  assert.equal(logged.length, 4);
});

test("a million peers at fault do not fill the memory or the log", () => {
  let lines = 0;
  const faults = new Faults(() => {
    lines += 1;
  });
  for (let number = 0; number < 100_000; number += 1) faults.add("bad_frame", `p${number}`, at(1));
  assert.equal(faults.count("bad_frame"), 100_000);
  assert.ok(lines <= 1_001, `${lines} lines`);
});

test("a peer that comes back under one port after another does not fill the log", () => {
  const logged: string[] = [];
  const faults = new Faults((kind, peer) => logged.push(`${kind} ${peer}`));
  for (let port = 1; port <= 50_000; port++) {
    faults.add("no_delimiter", `tcp://127.0.0.1:${port}`, at(1));
    faults.add("unknown_method", `[::1]:${port}`, at(1));
  }
  assert.equal(logged.length, 20);
  faults.add("no_delimiter", "tcp://10.0.0.7:5", at(2));
  faults.add("too_large", "tcp://127.0.0.1:1", at(2));
  assert.deepEqual(logged.slice(20), ["no_delimiter tcp://10.0.0.7:5", "too_large tcp://127.0.0.1:1"]);
  faults.add("no_delimiter", "tcp://127.0.0.1:1", at(60_002));
  assert.equal(logged.length, 23);
});
