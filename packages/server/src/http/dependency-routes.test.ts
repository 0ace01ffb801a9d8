import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { patience } from "../testing/patience.js";
import type { TaskJson } from "./task-json.js";
import { type ApiResponse, type Attempt, YardUnderTest } from "./yard-under-test.js";

interface Made {
  readonly name: string;
  readonly id: string;
  readonly existing: boolean;
}

describe("tasks that depend on others, over http", patience, () => {
  let yard: YardUnderTest;
  before(async () => {
    yard = await new YardUnderTest({ payloadBytesMax: 4_000_000 }).open();
  });
  after(() => yard.close());

  const refusedWith = ({ status, json }: ApiResponse): [number, string] => [
    status,
    (json as { code: string }).code,
  ];
  const detailOf = ({ json }: ApiResponse): string => (json as { detail: string }).detail;
  const submitRaw = (query: string) => yard.ask("POST", `/v1/queues/q/tasks${query}`, { body: "x" });
  const graph = (items: readonly object[] | string): Promise<ApiResponse> =>
    yard.ask("POST", "/v1/tasks:graph", { body: typeof items === "string" ? items : JSON.stringify(items) });

  async function made(items: readonly object[]): Promise<Map<string, string>> {
    const { status, text, json } = await graph(items);
    assert.equal(status, 201, text);
    return new Map((json as { items: Made[] }).items.map(({ name, id }) => [name, id]));
  }

  async function claimOne(queue: string): Promise<Attempt & { readonly after?: readonly string[] }> {
    const [attempt] = await yard.claim(queue, "w", "&wait=30s");
    assert.ok(attempt);
    return attempt;
  }

  test("a task waits for those named, says so, and its claim carries their ids", async () => {
    const one = await yard.submit("one", "1");
    const two = await yard.submit("one", "2");
    const last = await yard.submit("last", "3", `?after=${one.id},${two.id},${one.id}`);
    assert.deepEqual([last.state, last.after, last.ifFailed], ["waiting", [one.id, two.id], "cancel"]);
    assert.equal(last.why?.code, "blocked");
    assert.equal(last.why?.message, `It waits for 2 of 2 tasks: ${one.id}, ${two.id}.`);
    assert.deepEqual((await yard.task(one.id)).dependents, [last.id]);
    assert.deepEqual(await yard.claim("last", "w"), []);
    await yard.speak(await claimOne("one"), "done", { body: "r1" });
    await yard.speak(await claimOne("one"), "done", { body: "r2" });
    const attempt = await claimOne("last");
    assert.deepEqual(attempt.after, [one.id, two.id]);
    assert.equal((await yard.ask("GET", `/v1/tasks/${one.id}/result`)).text, "r1");
    await yard.speak(attempt, "done");
    assert.equal((await yard.task(one.id)).dependents, undefined);
    assert.equal((await yard.task(one.id)).after, undefined);
  });

  test("a dependency that has ended is read from history", async () => {
    const done = await yard.submit("past", "1");
    await yard.speak(await claimOne("past"), "done");
    const failed = await yard.submit("past", "2");
    await yard.speak(await claimOne("past"), "fail", { body: '{"message":"no"}' });
    const [ready, cancelled, run] = await Promise.all([
      yard.submit("q1", "3", `?after=${done.id}`),
      yard.submit("q1", "4", `?after=${done.id},${failed.id}`),
      yard.submit("q1", "5", `?after=${failed.id}&ifFailed=run`),
    ]);
    assert.equal(ready.why?.code, "no_worker");
    assert.deepEqual([cancelled.state, cancelled.error?.code], ["cancelled", "dependency_failed"]);
    assert.equal(cancelled.error?.message, `Task ${failed.id} ended failed, and this task depends on it.`);
    assert.deepEqual([run.state, run.ifFailed], ["waiting", "run"]);
  });

  test("a task that ends and one that depends on it may be handled in one turn", async () => {
    for (let round = 0; round < 20; round++) {
      const task = await yard.submit("race", "1");
      const attempt = await claimOne("race");
      const [, dependent] = await Promise.all([
        yard.speak(attempt, "done"),
        yard.ask("POST", `/v1/queues/later/tasks?after=${task.id}`, { body: "2" }),
      ]);
      assert.equal(dependent.status, 201, dependent.text);
    }
  });

  test("a batch takes ids", async () => {
    const first = await yard.submit("b", "1");
    const body = [{ after: [first.id] }, { after: ["999999"] }, { after: ["name"] }, { after: 7 }];
    const { json } = await yard.ask("POST", "/v1/queues/b/tasks:batch", { body: JSON.stringify(body) });
    const { items } = json as { items: (TaskJson & { code?: string; detail?: string })[] };
    assert.deepEqual(
      items.map(({ state, code }) => state ?? code),
      ["waiting", "unknown_dependency", "bad_request", "bad_request"],
    );
    assert.match(items[2]?.detail ?? "", /line 1: after\.0: found .*expected at most 1000 ids/);
  });

  test("bad lists of tasks are refused in words", async () => {
    assert.deepEqual(refusedWith(await submitRaw("?after=999999999")), [409, "unknown_dependency"]);
    assert.match(detailOf(await submitRaw("?after=999999999")), /never existed, or retention has evicted it/);
    assert.deepEqual(refusedWith(await submitRaw("?after=1,")), [400, "bad_request"]);
    assert.deepEqual(refusedWith(await submitRaw("?after=me")), [400, "bad_request"]);
    assert.deepEqual(refusedWith(await submitRaw("?after=9999999999999999")), [400, "bad_request"]);
    assert.deepEqual(refusedWith(await submitRaw("?ifFailed=maybe")), [400, "bad_request"]);
    const many = Array.from({ length: 1001 }, (_, index) => index + 1).join(",");
    assert.deepEqual(refusedWith(await submitRaw(`?after=${many}`)), [400, "bad_request"]);
    assert.equal((await submitRaw(`?after=${"1,".repeat(500_000)}1`)).status, 431);
    const megabyte = JSON.stringify([{ after: new Array(200_000).fill("12") }]);
    const { json } = await yard.ask("POST", "/v1/queues/b/tasks:batch", { body: megabyte });
    assert.equal((json as { items: { code: string }[] }).items[0]?.code, "payload_too_large");
  });

  test("a graph is submitted by names and ids, and runs in its order", async () => {
    const before = await yard.submit("g", "before");
    const ids = await made([
      { name: "sum", queue: "g", after: ["left", "right"], payload: "sum" },
      { name: "left", queue: "g", after: [before.id], payload: "left" },
      { name: "right", queue: "g", payload: "right" },
    ]);
    assert.deepEqual((await yard.task(ids.get("sum") ?? "")).after, [ids.get("left"), ids.get("right")]);
    const seen: string[] = [];
    while (seen.length < 4) {
      const attempt = await claimOne("g");
      seen.push(Buffer.from(attempt.payload, "base64").toString());
      await yard.speak(attempt, "done");
    }
    assert.deepEqual(seen, ["before", "right", "left", "sum"]);
  });

  test("a graph is refused whole, with the item", async () => {
    const ok = { name: "ok", queue: "none" };
    const cases: [readonly object[] | string, number, string, RegExp][] = [
      [
        [ok, { ...ok, name: "a", after: ["b"] }, { ...ok, name: "b", after: ["a"] }],
        400,
        "dependency_cycle",
        /line 1, item "a": It depends on itself through others; nothing was accepted$/,
      ],
      [
        [ok, { ...ok, name: "me", after: ["me"] }],
        400,
        "dependency_cycle",
        /item "me": It depends on itself/,
      ],
      [
        [ok, { ...ok, name: "a", after: ["nobody"] }],
        409,
        "unknown_dependency",
        /item "a": no item is named "nobody"/,
      ],
      [[ok, { ...ok, name: "a", after: ["88888888"] }], 409, "unknown_dependency", /no task 88888888/],
      [[ok, ok], 400, "bad_request", /item "ok": another item has the same name/],
      [[ok, { queue: "none" }], 400, "bad_request", /name is missing/],
      [[ok, { name: "a" }], 400, "bad_request", /queue is missing/],
      [[ok, { ...ok, name: "a", queue: "no/queue" }], 400, "bad_request", /queue: found/],
      [[ok, { ...ok, name: "a", colour: 1 }], 400, "bad_request", /unknown property "colour"/],
      ['{"name":', 400, "bad_request", /line 1: not JSON/],
      ["[{}", 400, "bad_request", /not closed/],
    ];
    for (const [items, status, code, words] of cases) {
      const answer = await graph(items);
      assert.deepEqual(refusedWith(answer), [status, code], answer.text);
      assert.match(detailOf(answer), words);
    }
    const many = Array.from({ length: 10_001 }, (_, index) => ({ name: String(index), queue: "none" }));
    assert.deepEqual(refusedWith(await graph(many)), [413, "payload_too_large"]);
    assert.deepEqual(refusedWith(await graph(" ".repeat(4_100_000))), [413, "payload_too_large"]);
    const { json } = await yard.ask("GET", "/v1/tasks?queue=none");
    assert.deepEqual((json as { items: unknown[] }).items, [], "nothing of all this was accepted");
    assert.deepEqual((await graph([])).json, { items: [] });
  });

  test("a graph sent twice with keys makes its tasks once", async () => {
    const items = [
      { name: "a", queue: "twice", key: "a" },
      { name: "b", queue: "twice", key: "b", after: ["a"] },
    ];
    const first = (await graph(items)).json as { items: Made[] };
    const second = (await graph(items)).json as { items: Made[] };
    assert.deepEqual(
      second.items,
      first.items.map((item) => ({ ...item, existing: true })),
    );
  });

  test("a graph that names ended tasks by their keys knows how they ended", async () => {
    const items = ["good", "bad"].map((name) => ({ name, queue: "ended", key: name }));
    await made(items);
    await yard.speak(await claimOne("ended"), "done");
    await yard.speak(await claimOne("ended"), "fail", { body: '{"message":"no"}' });
    const ids = await made([
      ...items,
      { name: "after good", queue: "ended2", after: ["good"] },
      { name: "after bad", queue: "ended2", after: ["good", "bad"] },
    ]);
    assert.equal((await yard.task(ids.get("after good") ?? "")).why?.code, "no_worker");
    assert.equal((await yard.task(ids.get("after bad") ?? "")).error?.code, "dependency_failed");
  });

  test("10,000 items in a chain are taken at once", async () => {
    const items = Array.from({ length: 10_000 }, (_, index) => ({
      name: `n${index}`,
      queue: "chain",
      ...(index > 0 && { after: [`n${index - 1}`] }),
    }));
    const ids = await made(items);
    assert.equal(ids.size, 10_000);
    await yard.ask("POST", `/v1/tasks/${ids.get("n0")}:cancel`);
    const last = await yard.until(ids.get("n9999") ?? "", ({ state }) => state !== "waiting");
    assert.equal(last.error?.code, "dependency_failed");
  });

  test("a retry brings back the tasks cancelled because of the failure, and no others", async () => {
    const ids = await made([
      { name: "a", queue: "retry", payload: "a" },
      { name: "b", queue: "retry", payload: "b", after: ["a"], priority: 3 },
      { name: "c", queue: "retry", payload: "c", after: ["b", "other"] },
      { name: "other", queue: "else" },
      { name: "asked", queue: "retry", after: ["a"] },
    ]);
    await yard.ask("POST", `/v1/tasks/${ids.get("asked")}:cancel`);
    await yard.speak(await claimOne("else"), "done");
    await yard.speak(await claimOne("retry"), "fail", { body: '{"message":"no"}' });
    await yard.until(ids.get("c") ?? "", ({ state }) => state === "cancelled");
    const retried = await yard.ask("POST", `/v1/tasks/${ids.get("a")}:retry?dependents=true&key=again`);
    assert.equal(retried.status, 201, retried.text);
    const a = retried.json as TaskJson;
    assert.equal(a.retries, ids.get("a"));
    assert.equal(a.dependents?.length, 1);
    const b = await yard.task(a.dependents?.[0] ?? "");
    assert.deepEqual([b.retries, b.after, b.priority], [ids.get("b"), [a.id], 3]);
    const c = await yard.task(b.dependents?.[0] ?? "");
    assert.deepEqual([c.retries, new Set(c.after)], [ids.get("c"), new Set([b.id, ids.get("other")])]);
    const again = await yard.ask("POST", `/v1/tasks/${ids.get("a")}:retry?dependents=true&key=again`);
    assert.deepEqual([again.status, (again.json as TaskJson).id], [200, a.id]);
    assert.equal((await yard.task(a.id)).dependents?.length, 1, "with a key, once");
  });

  test("a plain retry runs although the task that it waited for failed", async () => {
    const first = await yard.submit("plain", "1");
    const second = await yard.submit("plain2", "2", `?after=${first.id}`);
    await yard.ask("POST", `/v1/tasks/${first.id}:cancel`);
    await yard.until(second.id, ({ state }) => state === "cancelled");
    const retried = (await yard.ask("POST", `/v1/tasks/${second.id}:retry`)).json as TaskJson;
    assert.deepEqual(
      [retried.retries, retried.after, retried.why?.code],
      [second.id, undefined, "no_worker"],
    );
  });
});
