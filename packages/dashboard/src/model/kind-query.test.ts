import assert from "node:assert/strict";
import { test } from "node:test";
import type { FailureKind } from "../live/api-shapes.js";
import { kindQuery } from "./kind-query.js";
import { parseTaskQuery } from "./task-query.js";

const queryOf = (words: string, more: Partial<FailureKind> = {}) =>
  kindQuery({ queue: "q", code: "failed", words, isExpired: false, ...more } as FailureKind);

test("a kind's tasks are found by how its messages begin, not by the code that kinds share", () => {
  assert.equal(queryOf("could not connect to … after … s"), "queue:q state:failed could not connect to");
  assert.equal(queryOf("timeout of the relay"), "queue:q state:failed timeout of the relay");
});

test("if a message begins with what differs, whole words behind it are used", () => {
  assert.equal(queryOf("…nd part of … is missing"), "queue:q state:failed part of is missing");
});

test("one word is enough, and characters that a query cannot have part words", () => {
  assert.equal(queryOf("timeout"), "queue:q state:failed timeout");
  assert.equal(queryOf("\u0007bell and\u202e …"), "queue:q state:failed bell and");
});

test("without words the code has to do, and what expired has none", () => {
  assert.equal(queryOf("…"), "queue:q state:failed failed");
  assert.equal(queryOf(""), "queue:q state:failed failed");
  assert.equal(queryOf("x", { isExpired: true }), "queue:q state:expired");
});

test("words that look like a chip stay words, and long ones end at a word", () => {
  const { chips, words } = parseTaskQuery(queryOf("bad state:done of the door:http"));
  assert.deepEqual(
    chips.map(({ key }) => key),
    ["queue", "state"],
  );
  assert.equal(words, "bad state done of the door http");
  const long = queryOf(`${"abc ".repeat(60)}…`);
  assert.ok(long.length < 150 && long.endsWith("abc"), long);
});
