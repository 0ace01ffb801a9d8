// Progress that workers report over http, details of errors, and waiting for a task.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { EventReader } from "../testing/event-reader.js";
import { patience } from "../testing/patience.js";
import type { TaskJson } from "./task-json.js";
import { type Attempt, YardUnderTest } from "./yard-under-test.js";

describe("progress over http", patience, () => {
  let yard: YardUnderTest;
  before(async () => {
    yard = await new YardUnderTest().open();
  });
  after(() => yard.close());

  async function started(queue: string): Promise<Attempt> {
    await yard.submit(queue, "work");
    const [attempt] = await yard.claim(queue, `of-${queue}`);
    return attempt as Attempt;
  }

  const beat = (attempt: Attempt, said: unknown) =>
    yard.speak(attempt, "beat", {
      body: typeof said === "string" ? said : JSON.stringify(said),
      headers: { "Content-Type": "application/json" },
    });

  test("a beat may say how far the worker is", async () => {
    const attempt = await started("said");
    assert.equal((await yard.task(attempt.task)).progress, undefined);
    const answer = await beat(attempt, { progress: 0.4, message: "frame 4 of 10" });
    assert.equal(answer.status, 200);
    assert.equal((answer.json as { cancel: boolean }).cancel, false);
    const { progress } = await yard.task(attempt.task);
    assert.equal(progress?.value, 0.4);
    assert.equal(progress?.message, "frame 4 of 10");
    assert.match(progress?.at ?? "", /^\d{4}-/);
    assert.equal((await beat(attempt, { progress: { step: 3, of: [1, 2] } })).status, 200);
    assert.deepEqual((await yard.task(attempt.task)).progress?.value, { step: 3, of: [1, 2] });
    assert.equal((await beat(attempt, { message: "nearly" })).status, 200);
    assert.equal((await yard.task(attempt.task)).progress?.value, null);
    // An empty beat says nothing, and takes nothing back.
    assert.equal((await yard.speak(attempt, "beat")).status, 200);
    assert.equal((await yard.task(attempt.task)).progress?.message, "nearly");
    const done = await yard.speak(attempt, "done");
    assert.equal((done.json as TaskJson).progress?.message, "nearly");
  });

  test("a wrong progress report is refused with the reason", async () => {
    const attempt = await started("mistaken");
    const mistakes: [unknown, RegExp][] = [
      [{ progress: 1.5 }, /progress: found 1.5, expected a number from 0 to 1/],
      [{ progress: -0.1 }, /expected a number from 0 to 1/],
      [{ progress: "x".repeat(4096) }, /at most 4096 bytes/],
      [{ progress: "ü".repeat(2100) }, /at most 4096 bytes/],
      [{ message: "m".repeat(1025) }, /message: .* at most 1024 characters/],
      [{ message: 7 }, /message/],
      [{ progres: 0.5 }, /unknown property "progres"; did you mean progress/],
      [[0.5], /a JSON object/],
      ["0.5", /a JSON object/],
      ["{", /not JSON/],
      [`{"progress":${"[".repeat(2000)}${"]".repeat(2000)}}`, /progress/],
    ];
    for (const [said, pattern] of mistakes) {
      const { status, json } = await beat(attempt, said);
      assert.equal(status, 400, JSON.stringify(said).slice(0, 50));
      assert.equal((json as { code: string }).code, "bad_request");
      assert.match((json as { detail: string }).detail, pattern);
    }
    assert.equal((await yard.task(attempt.task)).progress, undefined);
    assert.equal((await beat({ ...attempt, token: "no" }, { progress: 0.5 })).status, 401);
  });

  test("a line of a batch may say it with a beat, and only with one", async () => {
    const { task, attempt, token } = await started("batched");
    const line = (said: object) => JSON.stringify({ task, attempt, token, ...said });
    const { json } = await yard.ask("POST", "/v1/attempts:batch", {
      headers: { "Content-Type": "application/x-ndjson" },
      body: `${line({ beat: true, progress: 0.5 })}\n${line({ progress: 0.6 })}\n`,
    });
    const [heard, refused] = (json as { items: { id?: string; detail?: string }[] }).items;
    assert.equal(heard?.id, task);
    assert.match(refused?.detail ?? "", /line 2: progress and message need beat/);
    assert.equal((await yard.task(task)).progress?.value, 0.5);
  });

  test("it is told in the events of the task, the last one too, while others are skipped", async () => {
    const attempt = await started("followed");
    const events = await EventReader.open(`http://${yard.base}/v1/events?task=${attempt.task}`);
    for (let at = 1; at <= 200; at++) await beat(attempt, { progress: at / 200 });
    const { data } = await events.until(({ data }) => (data as TaskJson).progress?.value === 1);
    assert.equal((data as TaskJson).state, "running");
    await yard.speak(attempt, "done");
    await events.until(({ data }) => (data as TaskJson).state === "done");
    events.close();
  });

  test("an error has room for a detail, shown where one task is asked for", async () => {
    const attempt = await started("broken");
    const detail = "at line\n".repeat(2000);
    const failed = await yard.speak(attempt, "fail", {
      body: JSON.stringify({ code: "broke", message: "it broke", detail }),
    });
    assert.equal(failed.status, 200);
    assert.deepEqual((await yard.task(attempt.task)).error, { code: "broke", message: "it broke", detail });
    const { json } = await yard.ask("GET", "/v1/tasks?queue=broken");
    assert.deepEqual((json as { items: TaskJson[] }).items[0]?.error, { code: "broke", message: "it broke" });
    const other = await started("broken");
    const long = JSON.stringify({ message: "m", detail: "d".repeat(16_385) });
    assert.equal((await yard.speak(other, "fail", { body: long })).status, 400);
  });
});

test("q finds words of an error's message, as docs/http.md says", patience, async () => {
  const yard = await new YardUnderTest().open();
  await yard.submit("disks", "x");
  const [attempt] = await yard.claim("disks", "w");
  await yard.speak(attempt as Attempt, "fail", {
    body: JSON.stringify({ message: "Disk /dev/sda2 is fully used" }),
  });
  for (const [q, count] of [
    ["disk full", 1],
    ["SDA2", 1],
    ["isk", 0],
    ["disk empty", 0],
  ] as const) {
    const { json } = await yard.ask("GET", `/v1/tasks:count?q=${encodeURIComponent(q)}`);
    assert.equal((json as { count: number }).count, count, q);
  }
  await yard.close();
});

describe("waiting for a task", patience, () => {
  let yard: YardUnderTest;
  before(async () => {
    yard = await new YardUnderTest().open();
  });
  after(() => yard.close());

  test("the answer comes when the task has ended", async () => {
    const { id } = await yard.submit("awaited", "x");
    const whole = yard.ask("GET", `/v1/tasks/${id}?wait=1h`);
    const minimal = yard.ask("GET", `/v1/tasks/${id}?wait=1h&view=minimal`);
    const [attempt] = await yard.claim("awaited", "w");
    await yard.speak(attempt as Attempt, "done", { body: "made" });
    assert.equal(((await whole).json as TaskJson).state, "done");
    const { state, result } = (await minimal).json as { state: string; result: string };
    assert.deepEqual([state, result], ["done", "made"]);
    // One that has ended is answered at once.
    assert.equal(((await yard.ask("GET", `/v1/tasks/${id}?wait=1h`)).json as TaskJson).state, "done");
  });

  test("or when the wait is over, or there is no such task", async () => {
    const { id } = await yard.submit("unserved", "x");
    const { status, json } = await yard.ask("GET", `/v1/tasks/${id}?wait=10ms`);
    assert.deepEqual([status, (json as TaskJson).state], [200, "waiting"]);
    assert.equal((await yard.ask("GET", "/v1/tasks/999999?wait=1h")).status, 404);
    assert.equal((await yard.ask("GET", `/v1/tasks/${id}?wait=2h`)).status, 400);
    assert.equal((await yard.ask("GET", `/v1/tasks/${id}?wait=soon`)).status, 400);
  });
});
