import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskId } from "@yardmaster/core";
import { AttemptTokens } from "./attempt-token.js";

const task = 7 as TaskId;
const attempt = 2 ** 32 + 1;
const holder = { name: "wörker/1 two", leaseMs: 30_000 };
const tokens = new AttemptTokens(Buffer.from("secret"));
const token = tokens.make(task, attempt, holder);

test("a token names its holder and fits a header", () => {
  assert.deepEqual(tokens.holderOf(token, task, attempt), holder);
  assert.match(token, /^[\w.-]+$/);
});

test("a token is good for one attempt of one task, from one secret", () => {
  assert.equal(tokens.holderOf(token, 8 as TaskId, attempt), undefined);
  assert.equal(tokens.holderOf(token, task, attempt + 1), undefined);
  assert.equal(new AttemptTokens(Buffer.from("other")).holderOf(token, task, attempt), undefined);
});

test("no part of a token can be changed", () => {
  for (let index = 0; index < token.length; index++) {
    const changed = `${token.slice(0, index)}${token[index] === "A" ? "B" : "A"}${token.slice(index + 1)}`;
    // The last character of base64 carries bits that decode to nothing; the seal is the same then.
    if (index === token.length - 1) continue;
    assert.equal(tokens.holderOf(changed, task, attempt), undefined, String(index));
  }
  for (const odd of ["", ".", "..", "a.b.c", `${token}.`, token.slice(0, -2), `${token}AAAA`]) {
    assert.equal(tokens.holderOf(odd, task, attempt), undefined, odd);
  }
});
