// Schedules over http: each mistake is a problem document that says what was expected.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { patience } from "../testing/patience.js";
import { YardUnderTest } from "./yard-under-test.js";

interface Shown {
  readonly name: string;
  readonly nextTimes: readonly string[];
  readonly payloadBytes: number;
}

describe("schedules over http", patience, () => {
  let yard: YardUnderTest;
  before(async () => {
    yard = await new YardUnderTest().open();
  });
  after(() => yard.close());

  const put = (name: string, form: unknown) =>
    yard.ask("PUT", `/v1/schedules/${name}`, {
      body: typeof form === "string" ? form : JSON.stringify(form),
    });

  test("a schedule is put, shown with its next ten times, run now, and deleted", async () => {
    const made = await put("often", { queue: "q", every: "1h", payload: "x" });
    assert.equal(made.status, 200, made.text);
    assert.equal((made.json as { nextTimes: string[] }).nextTimes.length, 10);
    const run = await yard.ask("POST", "/v1/schedules/often:run-now");
    assert.equal(run.status, 201);
    const { task } = run.json as { task: string };
    assert.equal((await yard.task(task)).schedule, "often");
    assert.equal((await yard.ask("POST", "/v1/schedules/often:pause")).status, 200);
    assert.equal((await yard.ask("DELETE", "/v1/schedules/often")).status, 204);
    assert.equal((await yard.ask("GET", "/v1/schedules/often")).status, 404);
  });

  test("the options of its tasks are shown, and each task has them", async () => {
    const options = { priority: 3, group: "ann", attempts: 2, failures: 4 };
    const form = { queue: "q", every: "1h", timeout: "30s", expires: "5m", ...options };
    const shown = { ...options, timeoutMs: 30_000, expiresMs: 300_000 };
    for (const { json } of [await put("whole", form), await yard.ask("GET", "/v1/schedules/whole")]) {
      const seen = json as Record<string, unknown>;
      assert.deepEqual(Object.fromEntries(Object.keys(shown).map((name) => [name, seen[name]])), shown);
    }
    const run = await yard.ask("POST", "/v1/schedules/whole:run-now");
    const { priority, group, lossesMax, failuresMax } = await yard.task((run.json as { task: string }).task);
    assert.deepEqual([priority, group, lossesMax, failuresMax], [3, "ann", 2, 4]);
    await put("plain", { queue: "q", every: "1h" });
    const plain = (await yard.ask("GET", "/v1/schedules/plain")).json as Record<string, unknown>;
    for (const name of Object.keys(shown)) assert.equal(plain[name], name === "priority" ? 0 : null, name);
  });

  test("a list shows the next time of each schedule", async () => {
    await put("listed", { queue: "q", every: "1h" });
    const { items } = (await yard.ask("GET", "/v1/schedules")).json as { items: Shown[] };
    const one = (await yard.ask("GET", "/v1/schedules/listed")).json as Shown;
    assert.equal(one.nextTimes.length, 10);
    const listed = items.find(({ name }) => name === "listed");
    assert.deepEqual(listed, { ...one, nextTimes: one.nextTimes.slice(0, 1) });
  });

  test("a payload has room for 64 KiB, however it is written", async () => {
    const bytes = Buffer.alloc(65_536, 1);
    const forms = [{ payload: bytes.toString("latin1") }, { payloadBase64: bytes.toString("base64") }];
    for (const form of forms) {
      const { status, text, json } = await put("large", { queue: "q", every: "1h", ...form });
      assert.equal(status, 200, text);
      assert.equal((json as Shown).payloadBytes, 65_536);
    }
  });

  test("each mistake is named, and makes no schedule", async () => {
    const mistakes: [unknown, RegExp][] = [
      [{ queue: "q" }, /either cron or every/],
      [{ queue: "q", every: "1h", cron: "* * * * *" }, /either cron or every/],
      [{ queue: "q", every: "0s" }, /every/],
      [{ queue: "q", every: "10ms" }, /at least 1000ms/],
      [{ queue: "q", cron: "61 * * * *" }, /cron/],
      [{ queue: "q", cron: "* * *" }, /five fields, or six/],
      [{ queue: "q", cron: "*".repeat(1_000) }, /cron/],
      [{ queue: "q", cron: "0 0 30 2 *" }, /cron: .* fires at some time/],
      [{ queue: "q", cron: "0 0 * * *", timezone: "Mars/Olympus" }, /IANA time zone/],
      [{ queue: "q", every: "1h", end: "2001-01-01T00:00:00Z" }, /would never run/],
      [{ queue: "q", every: "1h", timezone: "Europe/Berlin" }, /timezone: .*no timezone without cron/],
      [{ queue: "q", every: "1h", overlap: "maybe" }, /one of skip, queue/],
      [{ queue: "q", every: "1h", jitter: "soon" }, /jitter/],
      [{ queue: "q", every: "1h", jitter: "9999999h" }, /at most 87600h/],
      [{ queue: "q", every: "1h", group: "g".repeat(10_000) }, /1 to 256 printable/],
      [{ queue: "a b", every: "1h" }, /queue/],
      [{ queue: "q", evry: "1h" }, /did you mean every/],
      ["{", /not JSON/],
    ];
    for (const [form, pattern] of mistakes) {
      const { status, json } = await put("wrong", form);
      assert.equal(status, 400, JSON.stringify(form).slice(0, 80));
      const { code, detail } = json as { code: string; detail: string };
      assert.equal(code, "bad_request");
      assert.match(detail, pattern);
    }
    assert.equal((await yard.ask("GET", "/v1/schedules/wrong")).status, 404);
    for (const size of [65_537, 1_000_000]) {
      const large = { queue: "q", every: "1h", payload: "x".repeat(size) };
      assert.equal((await put("wrong", large)).status, 413);
    }
  });
});
