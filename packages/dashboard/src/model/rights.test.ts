import assert from "node:assert/strict";
import { test } from "node:test";
import { allows, type Rights } from "./rights.js";

const rights: Rights = { submit: ["*"], work: [], read: ["build-*", "a.b"], operate: ["x"], watch: [] };

test("a right holds for queues that match one of its patterns", () => {
  assert.ok(allows(rights, "submit", "any"));
  assert.ok(allows(rights, "read", "build-1"));
  assert.ok(!allows(rights, "read", "rebuild-1"));
  assert.ok(allows(rights, "read", "a.b"));
  assert.ok(!allows(rights, "read", "aXb"));
  assert.ok(!allows(rights, "work", "any"));
});

test("without a queue, a right holds if it has any pattern", () => {
  assert.ok(allows(rights, "operate"));
  assert.ok(!allows(rights, "watch"));
});
