// A worker that did not hear our answer says its result again. The same result is no fault; another one would be
// discarded, so it is refused.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "@yardmaster/engines";
import { ApartEngine } from "../testing/apart-engine.js";
import type { TaskJson } from "./task-json.js";
import { type Asked, type Attempt, YardUnderTest } from "./yard-under-test.js";

const sizes = [0, 1, 4096, 4097, 70_000];
const resultOf = (size: number) => Buffer.alloc(size, "result");
const othersOf = (size: number) =>
  size === 0 ? [resultOf(1)] : [Buffer.alloc(size, "another"), resultOf(size - 1), Buffer.alloc(0)];

const codeOf = ({ status, json }: Asked) => `${status} ${(json as { code?: string })?.code ?? ""}`.trim();

async function batchCodes(yard: YardUnderTest, attempt: Attempt, results: readonly Buffer[]) {
  const { task, attempt: number, token } = attempt;
  const lines = results.map((result) => {
    return JSON.stringify({ task, attempt: number, token, resultBase64: result.toString("base64") });
  });
  const { json } = await yard.ask("POST", "/v1/attempts:batch", { body: lines.join("\n") });
  return (json as { items: (TaskJson & { code?: string })[] }).items.map(({ code, state }) => code ?? state);
}

/** Says the result again, and others. */
async function checkRepeats(yard: YardUnderTest, attempt: Attempt, size: number): Promise<void> {
  const same = resultOf(size);
  for (const other of othersOf(size)) {
    const { status, json } = await yard.speak(attempt, "done", { body: other });
    assert.equal(status, 409, `${size} bytes, then ${other.length} others`);
    const { code, detail } = json as { code: string; detail: string };
    assert.equal(code, "stale_attempt");
    assert.match(detail, /another result/);
  }
  assert.equal(codeOf(await yard.speak(attempt, "done", { body: same })), "200");
  const expected = ["done", ...othersOf(size).map(() => "stale_attempt"), "done"];
  assert.deepEqual(await batchCodes(yard, attempt, [same, ...othersOf(size), same]), expected);
  const { text } = await yard.ask("GET", `/v1/tasks/${attempt.task}/result`);
  assert.ok(text === same.toString(), "the first result stands");
}

test("a second result is refused unless it is the same, also after a restart", {
  timeout: 60_000,
}, async () => {
  const store = new MemoryStore();
  const open = () => new YardUnderTest({ engine: new ApartEngine(4096, store) }).open();
  const attempts = new Map<number, Attempt>();
  const first = await open();
  try {
    for (const size of sizes) {
      await first.submit("q", "x");
      const [attempt] = await first.claim("q", "w");
      assert.ok(attempt);
      attempts.set(size, attempt);
      assert.equal(codeOf(await first.speak(attempt, "done", { body: resultOf(size) })), "200");
      await checkRepeats(first, attempt, size);
    }
  } finally {
    await first.close();
  }
  const second = await open();
  try {
    for (const [size, attempt] of attempts) await checkRepeats(second, attempt, size);
  } finally {
    await second.close();
  }
});

test("of two results at once one counts, and the other is refused", { timeout: 60_000 }, async () => {
  const yard = await new YardUnderTest({ engine: new ApartEngine(4096) }).open();
  try {
    await yard.submit("q", "x");
    const [attempt] = await yard.claim("q", "w");
    assert.ok(attempt);
    const answers = await Promise.all(
      ["one", "two", "one", "two"].map(async (body) => [
        body,
        codeOf(await yard.speak(attempt, "done", { body })),
      ]),
    );
    const { text } = await yard.ask("GET", `/v1/tasks/${attempt.task}/result`);
    for (const [body, code] of answers) assert.equal(code, body === text ? "200" : "409 stale_attempt");
  } finally {
    await yard.close();
  }
});
