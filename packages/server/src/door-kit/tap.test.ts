import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskId } from "@yardmaster/core";
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

test("made-up types do not keep a real one from being counted", () => {
  const tap = new Tap();
  tap.countOnly("udp", ["job", "beat"]);
  for (let n = 0; n < 1000; n++) tap.count("udp", "in", `made up ${n}`, 1);
  tap.count("udp", "in", "job", 10);
  const counts = [...tap.traffic()].map(({ type, messages }) => `${type} ${messages}`);
  assert.deepEqual(counts, ["other 1000", "job 1"]);
});

test("a message that comes in is about the task its door posts of, one that goes out about the task of its effect", async () => {
  const tap = new Tap();
  const seen: string[] = [];
  tap.listen(({ door, direction, task }) => seen.push(`${door} ${direction} ${task}`));
  const message = (door: string, direction: "in" | "out") => ({
    door,
    direction,
    peer: "p",
    type: "t",
    bytes: 1,
    content: null,
  });
  tap.show(message("udp", "in"));
  tap.about("pulse", 5 as TaskId);
  tap.about("udp", 7 as TaskId);
  tap.show(message("udp", "in"));
  tap.delivering(8 as TaskId);
  tap.show(message("pulse", "out"));
  tap.delivering(undefined);
  tap.show(message("pulse", "out"));
  tap.show(message("pulse", "in"));
  await Promise.resolve();
  // The door has handled the message by now, so later posts are about something else.
  tap.about("pulse", 9 as TaskId);
  assert.deepEqual(seen, [
    "udp in 7",
    "udp in undefined",
    "pulse out 8",
    "pulse out undefined",
    "pulse in undefined",
  ]);
});
