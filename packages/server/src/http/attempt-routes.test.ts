import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { assertAhead, patience } from "../testing/patience.js";
import type { TaskJson } from "./task-json.js";
import { type Attempt, YardUnderTest } from "./yard-under-test.js";

describe("workers over http", patience, () => {
  let yard: YardUnderTest;
  before(async () => {
    yard = await new YardUnderTest({ payloadBytesMax: 100_000_000 }).open();
  });
  after(() => yard.close());

  async function claimOne(queue: string, worker: string, query = ""): Promise<Attempt> {
    const [attempt, ...rest] = await yard.claim(queue, worker, query);
    assert.ok(attempt);
    assert.deepEqual(rest, []);
    return attempt;
  }

  test("a worker claims, and its answer is the result", async () => {
    const { id } = await yard.submit("work", "payload");
    const since = Date.now();
    const attempt = await claimOne("work", "w%201", "&lease=10s");
    assert.equal(attempt.task, id);
    assert.equal(attempt.contentType, "text/plain;charset=UTF-8");
    assert.equal(Buffer.from(attempt.payload, "base64").toString(), "payload");
    assertAhead(attempt.leaseUntil, 10_000, since);
    const running = await yard.task(id);
    assert.equal(running.state, "running");
    assert.equal(running.worker, "http/w 1");
    assert.equal(running.attempt, attempt.attempt);
    assert.equal(running.why, null);
    const done = await yard.speak(attempt, "done", {
      body: "result",
      headers: { "Content-Type": "application/x-result" },
    });
    assert.equal(done.status, 200);
    const task = done.json as TaskJson;
    assert.equal(task.state, "done");
    assert.equal(task.resultBytes, 6);
    assert.deepEqual(
      task.story.map(({ to, worker }) => [to, worker]),
      [
        ["waiting", undefined],
        ["running", "http/w 1"],
        ["done", "http/w 1"],
      ],
    );
    const result = await yard.ask("GET", `/v1/tasks/${id}/result`);
    assert.equal(result.text, "result");
    assert.equal(result.headers.get("content-type"), "application/x-result");
  });

  test("one payload comes raw if that is asked for", async () => {
    await yard.submit("raw", "bytes");
    const { status, headers, text } = await yard.ask("POST", "/v1/queues/raw:claim?worker=w", {
      headers: { Accept: "application/octet-stream" },
    });
    assert.equal(status, 200);
    assert.equal(text, "bytes");
    assert.equal(headers.get("content-type"), "text/plain;charset=UTF-8");
    const attempt = {
      task: headers.get("yard-task") ?? "",
      attempt: Number(headers.get("yard-attempt")),
      token: headers.get("yard-token") ?? "",
    };
    assert.equal((await yard.speak(attempt as Attempt, "done")).status, 200);
  });

  test("no work is 204, at once or when the wait is over", async () => {
    assert.equal((await yard.ask("POST", "/v1/queues/none:claim?worker=w")).status, 204);
    const { status, text } = await yard.ask("POST", "/v1/queues/none:claim?worker=w&wait=20ms");
    assert.deepEqual([status, text], [204, ""]);
  });

  test("a claim that waits gets the first task that comes, and max no more than there is", async () => {
    const waiting = yard.claim("later", "w", "&wait=20s&max=5");
    const { id } = await yard.submit("later", "x");
    assert.deepEqual(
      (await waiting).map(({ task }) => task),
      [id],
    );
    for (const body of ["a", "b", "c"]) await yard.submit("later", body);
    assert.equal((await yard.claim("later", "w", "&max=2")).length, 2);
    assert.equal((await yard.claim("later", "w", "&max=2")).length, 1);
  });

  test("claims whose connection closes take no task with them", async () => {
    const claim =
      "POST /v1/queues/gone:claim?worker=ghost&wait=1h HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n";
    const socket = yard.connect(claim + claim);
    type Workers = { items: { id: string; slots: number }[] };
    const openClaims = async () => {
      const { items } = (await yard.ask("GET", "/v1/workers")).json as Workers;
      return items.find(({ id }) => id === "http/ghost")?.slots;
    };
    while ((await openClaims()) !== 2);
    socket.destroy();
    while ((await openClaims()) !== 0);
    const { id } = await yard.submit("gone", "x");
    assert.equal((await yard.task(id)).state, "waiting");
  });

  test("an attempt that was not delivered costs the task no try", async () => {
    const { id } = await yard.submit("unread", "x".repeat(50_000_000), "?attempts=1");
    const socket = yard.connect(
      "POST /v1/queues/unread:claim?worker=deaf HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/octet-stream\r\nContent-Length: 0\r\n\r\n",
    );
    socket.pause();
    await yard.until(id, ({ state }) => state === "running");
    socket.destroy();
    const back = await yard.until(id, ({ state }) => state === "waiting");
    assert.equal(back.story.at(-1)?.cause, "returned: undelivered");
  });

  test("an attempt that was delivered on a connection's last breath stays out", async () => {
    const { id } = await yard.submit("last", "x");
    const heard = await yard.hear(
      "POST /v1/queues/last:claim?worker=w HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    );
    assert.match(heard, /^HTTP\/1\.1 200 /);
    // A request on another connection is handled after everything that the closed one caused.
    assert.deepEqual(await yard.claim("last", "w2"), []);
    assert.equal((await yard.task(id)).state, "running");
  });

  test("beats keep a lease, for as long as it was asked for or as they ask", async () => {
    await yard.submit("beats", "x");
    const attempt = await claimOne("beats", "w", "&lease=10s");
    const beat = async (query: string) => {
      const path = `/v1/tasks/${attempt.task}/attempts/${attempt.attempt}:beat${query}`;
      const { status, json } = await yard.ask("POST", path, { headers: { "Yard-Token": attempt.token } });
      assert.equal(status, 200);
      return json as { cancel: boolean; leaseUntil: string };
    };
    const since = Date.now();
    const usual = await beat("");
    assert.equal(usual.cancel, false);
    assertAhead(usual.leaseUntil, 10_000, since);
    const longer = await beat("?lease=1h");
    assertAhead(longer.leaseUntil, 3_600_000, since);
  });

  test("the beat of a cancelled attempt says so, and its answer is refused", async () => {
    const { id } = await yard.submit("cancelled", "x");
    const attempt = await claimOne("cancelled", "w");
    assert.equal((await yard.ask("POST", `/v1/tasks/${id}:cancel`)).status, 200);
    assert.deepEqual((await yard.speak(attempt, "beat")).json, { cancel: true, leaseUntil: null });
    const { status, json } = await yard.speak(attempt, "done", { body: "too late" });
    assert.equal(status, 409);
    assert.equal((json as { code: string }).code, "stale_attempt");
    assert.equal((await yard.task(id)).state, "cancelled");
  });

  test("a lease that is over gives the task to another; the late answer is refused and told", async () => {
    const { id } = await yard.submit("leases", "x");
    const lost = await claimOne("leases", "slow", "&lease=100ms");
    const second = await claimOne("leases", "quick", "&wait=20s");
    assert.equal(second.task, id);
    assert.ok(second.attempt > lost.attempt);
    for (const verb of ["done", "beat"]) {
      const late = await yard.speak(lost, verb);
      assert.equal(late.status, 409);
      assert.equal((late.json as { code: string }).code, "stale_attempt");
    }
    const done = await yard.speak(second, "done", { body: "y" });
    const { state, worker, story } = done.json as TaskJson;
    assert.deepEqual([state, worker], ["done", "http/quick"]);
    assert.ok(story.some(({ cause, attempt }) => cause.startsWith("late") && attempt === lost.attempt));
  });

  test("the same answer again is no fault, another one is", async () => {
    const { id } = await yard.submit("twice", "x");
    const attempt = await claimOne("twice", "w");
    const first = await yard.speak(attempt, "done", { body: "y" });
    const again = await yard.speak(attempt, "done", { body: "y" });
    assert.deepEqual([first.status, again.status], [200, 200]);
    assert.equal((again.json as TaskJson).state, "done");
    const other = await yard.speak(attempt, "fail", { body: '{"message":"no"}' });
    assert.equal(other.status, 409);
    assert.equal((await yard.ask("GET", `/v1/tasks/${id}/result`)).text, "y");
  });

  test("a failure is recorded with its code and message", async () => {
    const { id } = await yard.submit("fails", "x");
    const attempt = await claimOne("fails", "w");
    for (const body of [
      "",
      "no",
      "[]",
      "{}",
      '{"message":7}',
      '{"message":"m","extra":1}',
      '{"code":"a b","message":"m"}',
    ]) {
      const { status, json } = await yard.speak(attempt, "fail", { body });
      assert.equal(status, 400, body);
      assert.equal((json as { code: string }).code, "bad_request");
    }
    const { status, json } = await yard.speak(attempt, "fail", {
      body: '{"code":"E_DISK","message":"full"}',
    });
    assert.equal(status, 200);
    assert.equal((json as TaskJson).state, "failed");
    assert.deepEqual((await yard.task(id)).error, { code: "E_DISK", message: "full" });
  });

  test("without the token of this very attempt nothing can be said of it", async () => {
    await yard.submit("tokens", "x");
    await yard.submit("tokens", "y");
    const one = await claimOne("tokens", "w");
    const two = await claimOne("tokens", "w");
    for (const token of ["", "nonsense", two.token, one.token.slice(0, -2)]) {
      const { status, json } = await yard.speak({ ...one, token }, "done");
      assert.equal(status, 401, token);
      assert.equal((json as { code: string }).code, "unauthorized");
    }
    assert.equal((await yard.speak(one, "done")).status, 200);
  });

  test("an attempt is given back: no try is lost, and the task goes first", async () => {
    await yard.submit("given-back", "x", "?attempts=1");
    const first = await claimOne("given-back", "one");
    const returned = await yard.speak(first, "return");
    assert.deepEqual([returned.status, (returned.json as TaskJson).state], [200, "waiting"]);
    assert.equal((await yard.speak(first, "return")).status, 200, "the same again has no effect");
    assert.equal((await yard.speak(first, "done")).status, 409, "it is not its any more");
    const second = await claimOne("given-back", "two");
    assert.equal(second.task, first.task);
    assert.equal((await yard.speak(second, "done")).status, 200);
    const { story } = await yard.task(first.task);
    assert.ok(
      story.some(({ cause }) => cause === "returned: stopping"),
      JSON.stringify(story),
    );
  });

  test("workers are listed and drained, whatever their name", async () => {
    const name = "a/b:c d%ü";
    await yard.submit("names", "x");
    const attempt = await claimOne("names", encodeURIComponent(name));
    const id = `http/${name}`;
    type Worker = { id: string; state: string; running: number; queues: string[]; dialect: string };
    const find = async () =>
      ((await yard.ask("GET", "/v1/workers")).json as { items: Worker[] }).items.find((one) => one.id === id);
    const busy = await find();
    assert.deepEqual(
      [busy?.state, busy?.running, busy?.queues, busy?.dialect],
      ["busy", 1, ["names"], "http"],
    );
    const drained = await yard.ask("POST", `/v1/workers/${encodeURIComponent(id)}:drain`);
    assert.equal(drained.status, 200);
    assert.equal((drained.json as Worker).state, "draining");
    const refused = await yard.ask("POST", `/v1/queues/names:claim?worker=${encodeURIComponent(name)}`);
    assert.equal(refused.status, 503);
    assert.equal((await yard.speak(attempt, "done")).status, 200);
    assert.equal((await yard.ask("POST", "/v1/workers/http%2Fnobody:drain")).status, 404);
  });
});

test("a worker too many is told to come back", patience, async () => {
  const yard = await new YardUnderTest({ workersMax: 1 }).open();
  try {
    assert.equal((await yard.ask("POST", "/v1/queues/q:claim?worker=one")).status, 204);
    for (let round = 0; round < 2; round++) {
      const { status, json } = await yard.ask("POST", "/v1/queues/q:claim?worker=two");
      assert.deepEqual([status, (json as { code: string }).code], [429, "queue_full"]);
    }
  } finally {
    await yard.close();
  }
});
