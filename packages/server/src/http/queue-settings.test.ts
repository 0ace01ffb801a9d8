// Settings and groups over http: the values in force and their origin, refused values, and why a
// task waits.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { YardUnderTest } from "./yard-under-test.js";

interface Shown {
  readonly limited: boolean;
  readonly groups: number;
  readonly settings: Readonly<Record<string, { readonly value: unknown; readonly from: string }>>;
}

interface Problem {
  readonly code: string;
  readonly detail: string;
}

interface Task {
  readonly id: string;
  readonly group: string | null;
  readonly why: { readonly code: string; readonly message: string; readonly until?: string } | null;
}

describe("settings of a queue over http", () => {
  let yard: YardUnderTest;
  before(async () => {
    yard = await new YardUnderTest({ queues: { mail: { attempts: 7, maxRunning: 5 } } }).open();
  });
  after(() => yard.close());

  const patch = (queue: string, settings: unknown, query = "") =>
    yard.ask("PATCH", `/v1/queues/${queue}${query}`, { body: JSON.stringify(settings) });
  const show = async (queue: string) => (await yard.ask("GET", `/v1/queues/${queue}`)).json as Shown;

  test("a queue says which values are in force and where each comes from", async () => {
    const { settings } = await show("mail");
    assert.deepEqual(settings.maxRunning, { value: 5, from: "file" });
    assert.deepEqual(settings.attempts, { value: 7, from: "file" });
    assert.deepEqual(settings.failures, { value: 1, from: "default" });
    assert.deepEqual(settings.rate, { value: null, from: "default" });
  });

  test("a setting that is given overrides the file until it is reset with null", async () => {
    const rate = { tasks: 10, perSeconds: 2 };
    const changed = await patch("mail", { maxRunning: 2, rate, backoff: { maxSeconds: 600 } });
    assert.equal(changed.status, 200);
    const { settings } = changed.json as Shown;
    assert.deepEqual(settings.maxRunning, { value: 2, from: "api" });
    assert.deepEqual(settings.rate, { value: rate, from: "api" });
    assert.deepEqual(settings.backoff, {
      value: { firstSeconds: 1, factor: 2, maxSeconds: 600, jitter: 0.2 },
      from: "api",
    });
    assert.deepEqual(settings.attempts, { value: 7, from: "file" });
    const reset = (await patch("mail", { maxRunning: null, rate: null, backoff: null })).json as Shown;
    assert.deepEqual(reset.settings.maxRunning, { value: 5, from: "file" });
    assert.deepEqual(reset.settings.rate, { value: null, from: "default" });
    assert.equal(reset.settings.backoff?.from, "default");
  });

  test("an unknown queue is a typo unless create=true", async () => {
    const typo = await patch("mial", { maxRunning: 2 });
    assert.equal(typo.status, 404);
    assert.match((typo.json as Problem).detail, /create=true/);
    assert.equal((await yard.ask("GET", "/v1/queues/mial")).status, 404);
    assert.equal((await patch("new", { maxRunning: 2 }, "?create=true")).status, 200);
    assert.deepEqual((await show("new")).settings.maxRunning, { value: 2, from: "api" });
    const reset = await patch("new", { maxRunning: null });
    assert.deepEqual((reset.json as Shown).settings.maxRunning, { value: null, from: "default" });
    assert.equal(
      (await yard.ask("GET", "/v1/queues/new")).status,
      404,
      "there is nothing left to know of it",
    );
  });

  test("each mistake is named, with what was expected", async () => {
    for (const [body, expected] of [
      ["not JSON", /not JSON/],
      ["5", /found 5, expected a JSON object of settings/],
      ['{"maxRuning":1}', /unknown property "maxRuning"; did you mean maxRunning\?/],
      ['{"maxRunning":0}', /maxRunning: found 0, expected a whole number from 1 to 1000000000/],
      ['{"maxRunning":-1}', /maxRunning: found -1/],
      ['{"maxRunning":1e300}', /maxRunning: found 1e\+300/],
      ['{"maxRunningPerGroup":"2"}', /maxRunningPerGroup: found "2"/],
      ['{"rate":{"tasks":5}}', /rate\.perSeconds is missing/],
      [
        '{"rate":{"tasks":5,"perSeconds":0}}',
        /rate\.perSeconds: found 0, expected a number of seconds above 0/,
      ],
      ['{"backoff":{"facter":1}}', /unknown property "facter"; did you mean factor\?/],
      ['{"backoff":{"factor":0.5}}', /backoff\.factor: found 0\.5, expected a number from 1 to 1000/],
      [
        '{"backoff":{"firstSeconds":120}}',
        /backoff\.firstSeconds: found 120, expected at most maxSeconds, which is 60/,
      ],
      ['{"backoff":{"jitter":2}}', /backoff\.jitter: found 2, expected a number from 0 to 1/],
    ] as const) {
      const { status, json } = await yard.ask("PATCH", "/v1/queues/mail", { body });
      assert.equal(status, 400, body);
      assert.equal((json as Problem).code, "bad_request");
      assert.match((json as Problem).detail, expected);
    }
    assert.deepEqual((await show("mail")).settings.maxRunning, { value: 5, from: "file" });
  });

  test("why says which limit, and when a rate frees", async () => {
    await patch("slow", { rate: { tasks: 1, perSeconds: 3600 } }, "?create=true");
    for (let count = 0; count < 2; count += 1) await yard.submit("slow", "x");
    const attempts = await yard.claim("slow", "w", "&max=5");
    assert.equal(attempts.length, 1);
    const second = String(Number(attempts[0]?.task) + 1);
    const task = (await yard.task(second)) as unknown as Task;
    assert.equal(task.why?.code, "limited");
    assert.match(task.why?.message ?? "", /The rate of queue slow is 1 task in 3600 s\./);
    assert.ok(Date.parse(task.why?.until ?? "") > Date.now() + 3_000_000);
    assert.equal((await show("slow")).limited, true);
  });

  test("groups take turns, in a batch too, and are shown", async () => {
    await patch("turns", { maxRunningPerGroup: 1 }, "?create=true");
    const body = ["a", "a", "b"].map((group) => JSON.stringify({ payload: group, group })).join("\n");
    await yard.ask("POST", "/v1/queues/turns/tasks:batch", { body });
    const alone = (await yard.submit("turns", "x", "?group=customer%207")) as unknown as Task;
    assert.equal(alone.group, "customer 7");
    assert.equal((await show("turns")).groups, 3);
    const given = await yard.claim("turns", "w", "&max=10");
    const payloads = given.map(({ payload }) => Buffer.from(payload, "base64").toString());
    assert.deepEqual(payloads, ["a", "b", "x"], "one of each group");
    const [first] = given;
    const waiting = (await yard.task(String(Number(first?.task) + 1))) as unknown as Task;
    assert.equal(waiting.group, "a");
    assert.match(
      waiting.why?.message ?? "",
      /^Group a runs 1 task, and the maxRunningPerGroup of queue turns is 1/,
    );
  });

  test("a group of a megabyte is refused", async () => {
    const body = JSON.stringify({ payload: 1, group: "g".repeat(990_000) });
    const { json } = await yard.ask("POST", "/v1/queues/q/tasks:batch", { body });
    const [item] = (json as { items: Problem[] }).items;
    assert.equal(item?.code, "payload_too_large", "an item has little room besides its payload");
    const lesser = JSON.stringify({ payload: 1, group: "g".repeat(257) });
    const answer = await yard.ask("POST", "/v1/queues/q/tasks:batch", { body: lesser });
    const [refused] = (answer.json as { items: Problem[] }).items;
    assert.equal(refused?.code, "bad_request");
    assert.match(refused?.detail ?? "", /group: found "ggg.*…, expected 1 to 256 printable characters/);
    const long = await yard.ask("POST", `/v1/queues/q/tasks?group=${"g".repeat(257)}`, { body: "x" });
    assert.equal(long.status, 400);
  });

  test("a task that is retried keeps its group", async () => {
    const { id } = (await yard.submit("again", "x", "?group=g")) as unknown as Task;
    await yard.ask("POST", `/v1/tasks/${id}:cancel`);
    const again = (await yard.ask("POST", `/v1/tasks/${id}:retry`)).json as Task;
    assert.equal(again.group, "g");
  });
});
