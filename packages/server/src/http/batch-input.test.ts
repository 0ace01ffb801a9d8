// Unusual items that are not our mistakes: large base64, deep nesting. A mistake of ours is logged.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { MemoryEngine } from "@yardmaster/engines";
import { pino } from "pino";
import type { TaskJson } from "./task-json.js";
import { YardUnderTest } from "./yard-under-test.js";

/** An engine whose records cannot be read once it is broken. */
class BreakableEngine extends MemoryEngine {
  isBroken = false;

  override task(id: Parameters<MemoryEngine["task"]>[0]): ReturnType<MemoryEngine["task"]> {
    return this.isBroken ? Promise.reject(new Error("the page is damaged")) : super.task(id);
  }
}

type Item = TaskJson & { readonly code?: string; readonly detail?: string };

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

describe("unusual items of batches", { timeout: 60_000 }, () => {
  const logged: { level: number; err?: { message: string; stack: string } }[] = [];
  const engine = new BreakableEngine();
  let yard: YardUnderTest;
  before(async () => {
    const log = pino({ level: "warn" }, { write: (line: string) => logged.push(JSON.parse(line)) });
    yard = await new YardUnderTest({ payloadBytesMax: 64_000_000, engine, log }).open();
  });
  after(() => yard.close());

  async function batch(path: string, body: string): Promise<Item[]> {
    const { status, json } = await yard.ask("POST", path, { body });
    assert.equal(status, 200);
    return (json as { items: Item[] }).items;
  }

  test("base64 is taken up to the size of a payload, and only base64 is", async () => {
    for (const size of [0, 1, 2, 3, 4, 3_400_000, 5_000_000, 40_000_000]) {
      const payloadBase64 = Buffer.alloc(size, "yard").toString("base64");
      const [task] = await batch("/v1/queues/b/tasks:batch", JSON.stringify({ payloadBase64 }));
      assert.equal(task?.payloadBytes, size, task?.detail);
    }
    const wrong = [
      "A",
      "AB=",
      "ABC==",
      "ABCD=",
      "AB===",
      "=",
      "A=BC",
      "AB-_",
      "AB CD",
      "ABCDE",
      "\n",
      "ÄÖ==",
    ];
    const items = await batch(
      "/v1/queues/b/tasks:batch",
      wrong.map((payloadBase64) => JSON.stringify({ payloadBase64 })).join("\n"),
    );
    assert.deepEqual(
      items.map(({ code }) => code),
      wrong.map(() => "bad_request"),
    );
    const unpadded = await batch(
      "/v1/queues/b/tasks:batch",
      '{"payloadBase64":"AB"}\n{"payloadBase64":"ABC"}',
    );
    assert.deepEqual(
      unpadded.map(({ payloadBytes }) => payloadBytes),
      [1, 2],
    );
  });

  test("JSON that is nested too deeply is refused with the reason, wherever it is", async () => {
    const items = await batch(
      "/v1/queues/deep/tasks:batch",
      [nested(999), nested(1000), nested(10_000), nested(1_000_000)]
        .flatMap((json) => [`{"payload":${json}}`, `{"priority":${json}}`, `${json}`])
        .join("\n"),
    );
    assert.deepEqual(
      items.map(({ code, state }) => code ?? state),
      ["waiting", ...Array<string>(11).fill("bad_request")],
    );
    assert.match(items[6]?.detail ?? "", /^line 7: nested deeper than 1000 levels; .*base64/);
    const { id } = items[0] as Item;
    const payload = await yard.ask("GET", `/v1/tasks/${id}/payload`);
    assert.equal(payload.text, nested(999));
  });

  test("a result that is nested too deeply is refused, and one of large base64 taken", async () => {
    for (const _ of [1, 2]) await yard.submit("results", "x");
    const [first, second] = await yard.claim("results", "w", "&max=2");
    assert.ok(first && second);
    const resultBase64 = Buffer.alloc(5_000_000).toString("base64");
    const line = ({ task, attempt, token }: typeof first) =>
      JSON.stringify({ task, attempt, token }).slice(0, -1);
    const items = await batch(
      "/v1/attempts:batch",
      `${line(first)},"result":${nested(10_000)}}\n${line(second)},"resultBase64":"${resultBase64}"}`,
    );
    assert.match(items[0]?.detail ?? "", /^line 1: nested deeper/);
    assert.equal(items[1]?.resultBytes, 5_000_000);
    const fail = await yard.speak(first, "fail", { body: `{"message":${nested(10_000)}}` });
    assert.equal(fail.status, 400);
  });

  test("a mistake of ours is logged with its stack, whichever way it is answered", async () => {
    assert.equal(logged.length, 0);
    const [task] = await batch("/v1/queues/broken/tasks:batch", '{"key":"k"}');
    const [attempt] = await yard.claim("broken", "w");
    assert.ok(attempt);
    assert.equal((await yard.speak(attempt, "done")).status, 200);
    engine.isBroken = true;
    const item = await yard.eventually(async () => {
      const [again] = await batch("/v1/queues/broken/tasks:batch", '{"key":"k"}');
      return again?.code === undefined ? undefined : again;
    });
    assert.equal(item.code, "internal_error");
    assert.match(logged.at(-1)?.err?.stack ?? "", /the page is damaged\n\s+at /);
    const before = logged.length;
    const { task: id, attempt: number, token } = attempt;
    const [ended] = await batch("/v1/attempts:batch", JSON.stringify({ task: id, attempt: number, token }));
    assert.equal(ended?.code, "internal_error");
    assert.equal((await yard.ask("GET", `/v1/tasks/${task?.id}`)).status, 500);
    assert.equal(logged.length, before + 2);
    engine.isBroken = false;
  });
});
