import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
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
    // The last base64 character has unused bits, so changing it may not change the seal.
    if (index === token.length - 1) continue;
    assert.equal(tokens.holderOf(changed, task, attempt), undefined, String(index));
  }
  for (const odd of ["", ".", "..", "a.b.c", `${token}.`, token.slice(0, -2), `${token}AAAA`]) {
    assert.equal(tokens.holderOf(odd, task, attempt), undefined, odd);
  }
});

test("a seal is an HMAC-SHA256, as it was in earlier versions: their tokens are still good", () => {
  for (const secret of [Buffer.from("short"), randomBytes(64), randomBytes(100)]) {
    const token = new AttemptTokens(secret).make(17 as TaskId, 4, { name: "w", leaseMs: 30_000 });
    const [name, leaseMs, seal] = token.split(".");
    const expected = createHmac("sha256", secret).update(`17.4.${name}.${leaseMs}`).digest("base64url");
    assert.equal(seal, expected);
  }
});

test("the token of a worker with a stream names its queues, unless a header has no room for them", () => {
  const worker = { ...holder, isStream: true };
  for (const queues of [[], ["q"], ["build-a", "b.c_d"]])
    assert.deepEqual(tokens.workerOf(tokens.makeForWorker({ ...holder, queues })), { ...worker, queues });
  const many = Array.from({ length: 64 }, (_, index) => `${index}`.padStart(128, "q"));
  const long = tokens.makeForWorker({ ...holder, queues: many });
  assert.ok(long.length < 8_192);
  assert.deepEqual(tokens.workerOf(long), { ...worker, queues: [] });
  const before = `w.${Buffer.from("w").toString("base64url")}.30000`;
  const seal = createHmac("sha256", "secret").update(before).digest("base64url");
  assert.deepEqual(tokens.workerOf(`${before}.${seal}`), {
    name: "w",
    leaseMs: 30_000,
    isStream: true,
    queues: [],
  });
  assert.equal(tokens.workerOf(`${before}.cQ.${seal}`), undefined);
});
