import assert from "node:assert/strict";
import { test } from "node:test";
import { Tap } from "./tap.js";

test("messages are counted by door, direction and type, and those made up are counted together", () => {
  const tap = new Tap();
  tap.count("udp", "in", "job", 10);
  tap.count("udp", "in", "job", 5);
  tap.count("udp", "out", "job", 1);
  tap.count("pulse", "in", "job", 2);
  const counts = () =>
    [...tap.traffic()].map(({ door, direction, type, messages, bytes }) =>
      [door, direction, type, messages, bytes].join(" "),
    );
  assert.deepEqual(counts(), ["udp in job 2 15", "pulse in job 1 2", "udp out job 1 1"]);
  for (let n = 0; n < 1000; n++) tap.count("udp", "in", `made up ${n}`, 1);
  assert.equal(counts().length, 64 + 1 + 1 + 1);
  assert.ok(counts().includes("udp in other 937 937"));
});
