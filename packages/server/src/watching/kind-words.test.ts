import assert from "node:assert/strict";
import { test } from "node:test";
import { kindWords } from "./kind-words.js";

test("words of a kind are without what differs from task to task", () => {
  for (const [message, words] of [
    ["killed for memory: 15.91 of 16.00 GB", "killed for memory: … of … GB"],
    ["could not convert string to float: 'abc'", "could not convert string to float: …"],
    ['no such file: "/data/in/7.png"', "no such file: …"],
    ["cannot open /var/lib/yard/frame-2207.exr: denied", "cannot open …: denied"],
    ["GET https://example.org/a?b=1 answered 504", "GET … answered …"],
    ["object 9f3c11e0-5b42-4d1a-8e77-c013 is gone", "object … is gone"],
    ["can't find user 4182 of the list", "can't find user … of the list"],
    ["rows 1, 2, 3 are bad", "rows … are bad"],
    ["smtp-relay timed out after 30 s", "smtp-relay timed out after … s"],
    ["  two\n lines  ", "two lines"],
  ] as const) {
    assert.equal(kindWords(message), words);
  }
  assert.equal(kindWords("x".repeat(1_000)).length, 200);
});

test("words take a time that grows with their length alone", () => {
  for (const part of ["/a", "'", "a-", "0", "aA0_", "\\a/"]) {
    const started = performance.now();
    kindWords(part.repeat(200_000));
    assert.ok(performance.now() - started < 2_000, part);
  }
});
