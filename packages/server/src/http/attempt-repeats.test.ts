// A worker that did not receive our answer repeats its result. The same result is accepted; a
// different one would be discarded, so it is refused.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "@yardmaster/engines";
import { OutOfLineEngine } from "../testing/out-of-line-engine.js";
import type { TaskJson } from "./task-json.js";
import { type ApiResponse, type Attempt, YardUnderTest } from "./yard-under-test.js";

const sizes = [0, 1, 4096, 4097, 70_000];
const resultOf = (size: number) => Buffer.alloc(size, "result");
const othersOf = (size: number) =>
  size === 0 ? [resultOf(1)] : [Buffer.alloc(size, "another"), resultOf(size - 1), Buffer.alloc(0)];

const codeOf = ({ status, json }: ApiResponse) =>
  `${status} ${(json as { code?: string })?.code ?? ""}`.trim();

async function batchCodes(yard: YardUnderTest, attempt: Attempt, results: readonly Buffer[]) {
  const { task, attempt: number, token } = attempt;
  const lines = results.map((result) => {
    return JSON.stringify({ task, attempt: number, token, resultBase64: result.toString("base64") });
  });
  const { json } = await yard.ask("POST", "/v1/attempts:batch", { body: lines.join("\n") });
  return (json as { items: (TaskJson & { code?: string })[] }).items.map(({ code, state }) => code ?? state);
}

/** Repeats the result, then tries different ones. */
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
  const open = () => new YardUnderTest({ engine: new OutOfLineEngine(4096, store) }).open();
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

test("a repeated failure or return is accepted, and another one is refused", {
  timeout: 60_000,
}, async () => {
  const yard = await new YardUnderTest().open();
  const failed = (attempt: Attempt, message: string) =>
    yard.speak(attempt, "fail", { body: JSON.stringify({ message }) }).then(codeOf);
  const claimed = async (queue: string) => (await yard.claim(queue, "w"))[0] as Attempt;
  const storyOf = async (task: string) => {
    const { json } = await yard.ask("GET", `/v1/tasks/${task}`);
    return (json as TaskJson).story.map(({ cause }) => cause);
  };
  try {
    await yard.ask("POST", "/v1/queues/q/tasks?failures=2", { body: "x" });
    const given = await claimed("q");
    for (let time = 0; time < 2; time += 1) assert.equal(codeOf(await yard.speak(given, "return")), "200");
    const first = await claimed("q");
    const long = "x".repeat(2_000);
    for (let time = 0; time < 2; time += 1) assert.equal(await failed(first, long), "200");
    assert.equal(await failed(first, "another"), "409 stale_attempt");
    assert.equal(codeOf(await yard.speak(first, "return")), "409 stale_attempt");
    const { task } = first;
    const retried = [
      "submitted",
      "assigned",
      "returned: stopping",
      "assigned",
      `failed: ${long.slice(0, 1024)}`,
    ];
    assert.deepEqual(await storyOf(task), [...retried, "late: returned refused"]);

    await yard.submit("r", "y");
    const last = await claimed("r");
    for (let time = 0; time < 2; time += 1) assert.equal(await failed(last, "no"), "200");
    assert.equal(await failed(last, "another"), "409 stale_attempt");
    assert.deepEqual(await storyOf(last.task), ["submitted", "assigned", "failed"]);
  } finally {
    await yard.close();
  }
});

test("of two results at once one counts, and the other is refused", { timeout: 60_000 }, async () => {
  const yard = await new YardUnderTest({ engine: new OutOfLineEngine(4096) }).open();
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
