import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { assertAhead, patience } from "../testing/patience.js";
import type { TaskJson } from "./task-json.js";
import { YardUnderTest } from "./yard-under-test.js";

describe("tasks over http", patience, () => {
  let yard: YardUnderTest;
  before(async () => {
    yard = await new YardUnderTest().open();
  });
  after(() => yard.close());

  test("a submission is answered with the whole task", async () => {
    const since = Date.now();
    const { status, headers, json } = await yard.ask("POST", "/v1/queues/first/tasks?priority=7", {
      body: "hello",
      headers: { "Content-Type": "text/weird; x=1" },
    });
    const task = json as TaskJson;
    assert.equal(status, 201);
    assert.equal(headers.get("location"), `/v1/tasks/${task.id}`);
    assert.match(task.id, /^[1-9]\d*$/);
    assert.match(task.submittedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assertAhead(task.submittedAt, 0, since);
    assert.equal(task.why?.code, "no_worker");
    const { id, submittedAt, why } = task;
    assert.deepEqual(task, {
      id,
      queue: "first",
      state: "waiting",
      priority: 7,
      key: null,
      group: null,
      door: "http",
      replyTo: null,
      submittedAt,
      startedAt: null,
      finishedAt: null,
      attempt: null,
      worker: null,
      contentType: "text/weird; x=1",
      payloadBytes: 5,
      resultBytes: null,
      error: null,
      why,
      told: false,
      losses: 0,
      lossesMax: 5,
      failures: 0,
      failuresMax: 1,
      retries: null,
      story: [{ at: submittedAt, to: "waiting", cause: "submitted" }],
    });
    assert.deepEqual(await yard.task(id), task);
  });

  test("the payload comes back as it went in, and harmless to a browser", async () => {
    const { id } = await yard.submit("bytes", "<script>1</script>");
    const { status, headers, text } = await yard.ask("GET", `/v1/tasks/${id}/payload`);
    assert.equal(status, 200);
    assert.equal(text, "<script>1</script>");
    assert.equal(headers.get("content-type"), "text/plain;charset=UTF-8");
    assert.equal(headers.get("content-security-policy"), "sandbox; default-src 'none'");
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.equal(headers.get("cross-origin-resource-policy"), "same-origin");
    const empty = (await yard.ask("POST", "/v1/queues/bytes/tasks")).json as TaskJson;
    assert.equal(empty.contentType, "application/octet-stream");
    assert.equal(empty.payloadBytes, 0);
    assert.equal((await yard.ask("GET", `/v1/tasks/${empty.id}/payload`)).text, "");
  });

  test("the same key is the same task; with another payload it is a conflict", async () => {
    const first = await yard.ask("POST", "/v1/queues/keys/tasks?key=k", { body: "a" });
    const again = await yard.ask("POST", "/v1/queues/keys/tasks?key=k", { body: "a" });
    assert.deepEqual([first.status, again.status], [201, 200]);
    assert.deepEqual(again.json, first.json);
    for (const options of [{ body: "b" }, { body: "a", headers: { "Content-Type": "text/html" } }]) {
      const { status, json } = await yard.ask("POST", "/v1/queues/keys/tasks?key=k", options);
      assert.equal(status, 409);
      assert.equal((json as { code: string }).code, "key_conflict");
    }
    const elsewhere = await yard.ask("POST", "/v1/queues/keys2/tasks?key=k", { body: "b" });
    assert.equal(elsewhere.status, 201);
  });

  test("wait answers with the task when its time is over, and at once when it is finished", async () => {
    const over = await yard.ask("POST", "/v1/queues/waits/tasks?wait=10ms&key=w", { body: "x" });
    assert.equal(over.status, 202);
    assert.equal((over.json as TaskJson).state, "waiting");
    const waiting = yard.ask("POST", "/v1/queues/waits/tasks?wait=20s&key=w", { body: "x" });
    const [attempt] = await yard.claim("waits", "w");
    assert.ok(attempt);
    await yard.speak(attempt, "done", { body: "y" });
    const { status, json } = await waiting;
    assert.equal(status, 200);
    assert.equal((json as TaskJson).state, "done");
    assert.equal((json as TaskJson).id, (over.json as TaskJson).id);
  });

  test("a task that is given out at once is shown as it is when it is answered for", async () => {
    const claimed = yard.claim("quick", "w", "&wait=20s");
    await yard.eventually(async () => {
      const workers = await yard.runtime.port("test").reads.workers();
      return workers.some(({ queues }) => queues.includes("quick")) ? true : undefined;
    });
    const { status, json } = await yard.ask("POST", "/v1/queues/quick/tasks", { body: "x" });
    const { id, state, worker, why } = json as TaskJson;
    assert.deepEqual([status, state, worker, why], [201, "running", "http/w", null]);
    assert.equal((await claimed)[0]?.task, id);
    const next = yard.claim("quick", "w", "&wait=20s");
    await yard.eventually(async () => {
      const workers = await yard.runtime.port("test").reads.workers();
      return workers.some(({ slots }) => slots === 2) ? true : undefined;
    });
    const { items } = (await yard.ask("POST", "/v1/queues/quick/tasks:batch", { body: "{}\n{}" })).json as {
      items: TaskJson[];
    };
    assert.deepEqual(
      items.map(({ state, why }) => [state, why?.code]),
      [
        ["running", undefined],
        ["waiting", "all_busy"],
      ],
    );
    await next;
  });

  test("delay, expires and priority are kept to", async () => {
    const since = Date.now();
    const delayed = await yard.submit("order", "delayed", "?delay=1h");
    assert.equal(delayed.why?.code, "delayed");
    assertAhead(delayed.why.until, 3_600_000, since);
    const short = await yard.submit("order", "short", "?expires=20ms");
    await yard.until(short.id, ({ state }) => state === "expired");
    await yard.submit("order", "low", "?priority=-1");
    await yard.submit("order", "middle");
    await yard.submit("order", "high", "?priority=5");
    const attempts = await yard.claim("order", "w", "&max=10");
    const payloads = attempts.map(({ payload }) => Buffer.from(payload, "base64").toString());
    assert.deepEqual(payloads, ["high", "middle", "low"]);
  });

  test("timeout, attempts and failures are kept to", async () => {
    const slow = await yard.submit("policy", "slow", "?timeout=30ms&attempts=1");
    assert.equal((await yard.claim("policy", "w")).length, 1);
    const lost = await yard.until(slow.id, ({ state }) => state === "failed");
    assert.equal(lost.error?.code, "poison");
    const { id } = await yard.submit("policy", "fails", "?failures=2");
    const [attempt] = await yard.claim("policy", "w");
    assert.ok(attempt);
    await yard.speak(attempt, "fail", { body: '{"message":"no"}' });
    assert.equal((await yard.task(id)).state, "waiting");
  });

  test("the list is newest first, filtered, and goes on by its cursor", async () => {
    const ids: string[] = [];
    for (const body of ["a", "b", "c", "d", "e"]) ids.unshift((await yard.submit("list", body)).id);
    type Page = { items: TaskJson[]; cursor: string | null };
    const first = (await yard.ask("GET", "/v1/tasks?queue=list&limit=3")).json as Page;
    assert.deepEqual(
      first.items.map(({ id }) => id),
      ids.slice(0, 3),
    );
    assert.deepEqual(first.items[0], await yard.task(ids[0] ?? ""));
    const second = (await yard.ask("GET", `/v1/tasks?queue=list&limit=3&cursor=${first.cursor}`))
      .json as Page;
    assert.deepEqual(
      second.items.map(({ id }) => id),
      ids.slice(3),
    );
    assert.equal(second.cursor, null);
    const count = async (query: string) =>
      ((await yard.ask("GET", `/v1/tasks?queue=list&${query}`)).json as Page).items.length;
    assert.equal(await count("state=waiting"), 5);
    assert.equal(await count("state=done"), 0);
    assert.equal(await count("door=udp"), 0);
    assert.equal(await count(`q=${ids[1]}`), 1);
    assert.equal(await count("since=2100-01-01T00:00:00Z"), 0);
    assert.equal(await count("until=2100-01-01T00:00:00%2B01:00"), 5);
    for (const query of [`cursor=${first.cursor}`, "queue=list&cursor=nonsense"]) {
      const { status, json } = await yard.ask("GET", `/v1/tasks?${query}`);
      assert.equal(status, 400);
      assert.match((json as { detail: string }).detail, /^cursor: /);
    }
  });

  test("cancel ends a waiting task, once", async () => {
    const { id } = await yard.submit("cancels", "x");
    const cancelled = await yard.ask("POST", `/v1/tasks/${id}:cancel`);
    assert.equal(cancelled.status, 200);
    assert.equal((cancelled.json as TaskJson).state, "cancelled");
    const again = await yard.ask("POST", `/v1/tasks/${id}:cancel`);
    assert.equal(again.status, 409);
    assert.equal((again.json as { code: string }).code, "wrong_state");
    assert.equal((await yard.ask("POST", "/v1/tasks/999999:cancel")).status, 404);
  });

  test("a result that is not there says whether it may come", async () => {
    const { id } = await yard.submit("results", "x");
    const early = await yard.ask("GET", `/v1/tasks/${id}/result`);
    assert.equal(early.status, 409);
    assert.equal((early.json as { detail: string }).detail, `task ${id} is waiting: it has no result yet`);
    await yard.ask("POST", `/v1/tasks/${id}:cancel`);
    const never = await yard.ask("GET", `/v1/tasks/${id}/result`);
    assert.equal(never.status, 404);
    assert.equal((never.json as { detail: string }).detail, `task ${id} is cancelled: it has no result`);
    assert.equal((await yard.ask("GET", "/v1/tasks/999999/result")).status, 404);
  });

  test("queues are paused, resumed and drained by name", async () => {
    const { id } = await yard.submit("orders", "x");
    const paused = await yard.ask("POST", "/v1/queues/orders:pause");
    assert.equal(paused.status, 200);
    const { oldestAt, pausedAt } = paused.json as { oldestAt: string; pausedAt: string };
    assert.equal(oldestAt, (await yard.task(id)).submittedAt);
    assertAhead(pausedAt, 0, Date.parse(oldestAt));
    assert.deepEqual(paused.json, {
      name: "orders",
      waiting: 1,
      running: 0,
      paused: true,
      draining: false,
      limited: false,
      waitingBy: { paused: 1 },
      waitingBytes: 1,
      oldestAt,
      oldestTask: id,
      workers: 0,
      workersBy: {},
      pausedAt,
      pausedBy: "127.0.0.1",
      refusedAt: null,
      maxWaiting: 1_000_000,
      inPerSecond: [0.1, 0.0167],
      donePerSecond: [0, 0],
      failedPerSecond: [0, 0],
      inBy: { http: 0.0167 },
      doneBy: {},
    });
    assert.equal((await yard.task(id)).why?.code, "paused");
    assert.deepEqual(await yard.claim("orders", "w"), []);
    const list = (await yard.ask("GET", "/v1/queues")).json as { items: { name: string }[] };
    assert.deepEqual(
      list.items.find(({ name }) => name === "orders"),
      // The claim made its worker serve the queue.
      { ...(paused.json as object), workers: 1, workersBy: { http: 1 } },
    );
    await yard.ask("POST", "/v1/queues/orders:resume");
    assert.equal((await yard.claim("orders", "w")).length, 1);
    const drained = await yard.ask("POST", "/v1/queues/orders:drain");
    assert.equal((drained.json as { draining: boolean }).draining, true);
  });

  test("an order to an unknown queue is 404, unless the request allows to create it", async () => {
    for (const order of ["pause", "resume", "drain"]) {
      const { status, json } = await yard.ask("POST", `/v1/queues/typo:${order}`);
      const { code, detail } = json as { code: string; detail: string };
      assert.deepEqual([status, code], [404, "not_found"], order);
      assert.match(detail, /^There is no queue typo now: .* add \?create=true$/);
    }
    const list = (await yard.ask("GET", "/v1/queues")).json as { items: { name: string }[] };
    assert.ok(!list.items.some(({ name }) => name === "typo"));
    const made = await yard.ask("POST", "/v1/queues/typo:pause?create=true");
    assert.deepEqual([made.status, (made.json as { paused: boolean }).paused], [200, true]);
    assert.equal((await yard.ask("POST", "/v1/queues/typo:resume")).status, 200);
    assert.equal((await yard.ask("POST", "/v1/queues/typo:pause?create=yes")).status, 400);
  });

  test("a queue with settings is always there", async () => {
    const set = await new YardUnderTest({ queues: { render: {} } }).open();
    try {
      assert.equal((await set.ask("POST", "/v1/queues/render:pause")).status, 200);
    } finally {
      await set.close();
    }
  });
});
