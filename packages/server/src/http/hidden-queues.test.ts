// A principal that may use some queues must not learn of others, nor act on them, by any route.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Access } from "../access/access.js";
import { sha256 } from "../access/secrets.js";
import { accessSettings } from "../access/settings.js";
import { patience } from "../testing/patience.js";
import type { TaskJson } from "./task-json.js";
import { type ApiResponse, YardUnderTest } from "./yard-under-test.js";

const tokenOf = (name: string) => `${name}-0123456789abcdef`;

function allRightsOn(name: string, pattern: string) {
  const patterns = [pattern];
  const rights = { submit: patterns, work: patterns, read: patterns, operate: patterns, watch: patterns };
  return { [name]: { tokens: [{ sha256: sha256(tokenOf(name)).toString("hex") }], rights } };
}

describe("queues that a principal may not read", () => {
  const principals = { ...allRightsOn("boss", "*"), ...allRightsOn("bob", "b*") };
  const access = new Access({ settings: accessSettings.parse({ principals }), doors: { http: {} } });
  const specs = ["bell", "secret_clock"].map((name) => ({ name, title: null, description: null, port: 1 }));
  const doors = {
    monique: {
      in: "127.0.0.1:1",
      "controllers.bell": "127.0.0.1:2",
      "controllers.secret_clock": "127.0.0.1:3",
    },
  };
  const yard = new YardUnderTest({ access, queues: { bq: {}, secret: {} }, doors, specs });
  let hidden: TaskJson;

  function as(name: string, method: string, path: string, options: RequestInit = {}): Promise<ApiResponse> {
    const headers = { ...options.headers, Authorization: `Bearer ${tokenOf(name)}` };
    return yard.ask(method, path, { ...options, headers });
  }

  /** What bob is told, without the name or number that he asked for himself. */
  async function told(method: string, path: string, asked: string, options: RequestInit = {}) {
    const { status, text } = await as("bob", method, path.replace("{}", asked), options);
    return `${status} ${text.replaceAll(asked, "{}")}`;
  }

  before(async () => {
    await yard.open();
    // So that the number of the hidden task is found nowhere else in an answer.
    for (let at = 0; at < 22; at++) await as("boss", "POST", "/v1/queues/secret/tasks", { body: "y" });
    hidden = (await as("boss", "POST", "/v1/queues/secret/tasks", { body: "y" })).json;
    await as("boss", "PUT", "/v1/schedules/nightly", { body: '{"queue":"secret","every":"1h"}' });
    await as("boss", "POST", "/v1/queues/secret:claim?worker=w1&max=23");
    await as("boss", "POST", "/v1/tasks:cancel?queue=secret&state=failed");
  });
  after(() => yard.close());

  test("a hidden queue is answered like one that does not exist", patience, async () => {
    const item = (id: string) => ({ body: `{"name":"x","queue":"bq","payload":"1","after":["${id}"]}` });
    const cases: [method: string, path: string, hidden: string, absent: string, body?: typeof item][] = [
      ["GET", "/v1/tasks/{}", hidden.id, "77777"],
      ["GET", "/v1/tasks/{}?wait=1ms", hidden.id, "77777"],
      ["GET", "/v1/tasks/{}/payload", hidden.id, "77777"],
      ["GET", "/v1/tasks/{}/result", hidden.id, "77777"],
      ["POST", "/v1/tasks/{}:cancel", hidden.id, "77777"],
      ["POST", "/v1/tasks/{}:retry", hidden.id, "77777"],
      ["POST", "/v1/queues/bq/tasks?after={}", hidden.id, "77777"],
      ["POST", "/v1/tasks:graph", hidden.id, "77777", item],
      ["GET", "/v1/schedules/{}", "nightly", "daily"],
      ["DELETE", "/v1/schedules/{}", "nightly", "daily"],
      ["POST", "/v1/schedules/{}:pause", "nightly", "daily"],
      ["POST", "/v1/schedules/{}:run-now", "nightly", "daily"],
      ["GET", "/v1/actions/{}", "1", "77777"],
      ["POST", "/v1/actions/{}:stop", "1", "77777"],
      ["POST", "/v1/workers/{}:drain", "http%2Fboss%2Fw1", "http%2Fboss%2Fw2"],
      ["POST", "/v1/workers/{}:drain?view=minimal", "http%2Fboss%2Fw1", "http%2Fboss%2Fw2"],
      ["POST", "/v1/workers/{}:leave", "http%2Fboss%2Fw1", "http%2Fboss%2Fw2"],
    ];
    for (const [method, path, there, absent, body] of cases) {
      const plain = (text: string) => text.replaceAll(/http\/(?:bob\/)?boss\/w[12]/g, "{}");
      const ofHidden = plain(await told(method, path, there, body?.(there)));
      assert.equal(ofHidden, plain(await told(method, path, absent, body?.(absent))), `${method} ${path}`);
      assert.match(ofHidden, /^(404|409) /, `${method} ${path}`);
    }
    assert.equal((await as("boss", "GET", `/v1/tasks/${hidden.id}`)).json["state" as never], "running");
  });

  test("events of a task begin with it only if it may be read", patience, async () => {
    const own = (await as("bob", "POST", "/v1/queues/bq/tasks", { body: "x" })).json as TaskJson;
    const stop = new AbortController();
    const headers = { Authorization: `Bearer ${tokenOf("bob")}` };
    const url = `http://${yard.base}/v1/events?task=${hidden.id},${own.id}`;
    const { body } = await fetch(url, { headers, signal: stop.signal });
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    let text = "";
    while (!text.includes('"bq"')) text += Buffer.from((await reader.read()).value ?? []).toString();
    stop.abort();
    assert.doesNotMatch(text, /secret/);
  });

  test("frames of attempts count only attempts that are shown", patience, async () => {
    const stop = new AbortController();
    const headers = { Authorization: `Bearer ${tokenOf("bob")}` };
    const url = `http://${yard.base}/v1/events?types=attempts`;
    const { body } = await fetch(url, { headers, signal: stop.signal });
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    let text = Buffer.from((await reader.read()).value ?? []).toString();
    for (const queue of ["secret", "bq"]) {
      await as("boss", "POST", `/v1/queues/${queue}/tasks`, { body: "x" });
      await as("boss", "POST", `/v1/queues/${queue}:claim?worker=w3`);
    }
    while (!text.includes('"bq"')) text += Buffer.from((await reader.read()).value ?? []).toString();
    stop.abort();
    const began = [...text.matchAll(/"began":(\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);
    assert.equal(began, 1);
  });

  test("no route names a hidden queue", patience, async () => {
    const paths = [
      "/v1/tasks",
      "/v1/queues",
      "/v1/workers",
      "/v1/workers:lost",
      "/v1/schedules",
      "/v1/actions",
      "/v1/alerts",
      "/v1/specs",
      "/v1/doors",
      "/v1/history?queue=bq",
      "/v1/failures?queue=bq",
      "/v1/tasks:count?queue=bq",
      "/metrics",
    ];
    for (const path of paths) {
      const { status, text } = await as("bob", "GET", path);
      assert.equal(status, 200, path);
      assert.doesNotMatch(text, /secret/, path);
    }
    // The name is taken, but what it is for is not said.
    const replaced = await as("bob", "PUT", "/v1/schedules/nightly", { body: '{"queue":"bq","every":"1h"}' });
    assert.equal(replaced.status, 403);
    assert.doesNotMatch(replaced.text, /secret/);
    const history = (await as("bob", "GET", "/v1/history?queue=bq")).json as { tracked: number };
    assert.ok(history.tracked <= 1, String(history.tracked));
  });

  test("specs and addresses of doors: only those that a principal may use", patience, async () => {
    const names = async (name: string) => {
      const { items } = (await as(name, "GET", "/v1/specs")).json as { items: { name: string }[] };
      const { monique = {} } = (await as(name, "GET", "/v1/doors")).json as Record<string, object>;
      return [items.map((item) => item.name), Object.keys(monique)];
    };
    assert.deepEqual(await names("boss"), [
      ["bell", "secret_clock"],
      ["in", "controllers.bell", "controllers.secret_clock"],
    ]);
    assert.deepEqual(await names("bob"), [["bell"], ["in", "controllers.bell"]]);
  });

  test("a retry with dependents does not name the queue of one that is hidden", patience, async () => {
    const own = (await as("bob", "POST", "/v1/queues/bq/tasks", { body: "x" })).json as TaskJson;
    await as("boss", "POST", `/v1/queues/secret/tasks?after=${own.id}`, { body: "y" });
    await as("bob", "POST", `/v1/tasks/${own.id}:cancel`);
    const { status, text } = await as("bob", "POST", `/v1/tasks/${own.id}:retry?dependents=true`);
    assert.equal(status, 403);
    assert.doesNotMatch(text, /secret/);
  });

  test("a worker without queues is drained only by those who may operate all", patience, async () => {
    // Its token has too little room for these queues. When it reports before it reopens its stream,
    // it serves none.
    const also = Array.from({ length: 60 }, (_, index) => `${index}`.padStart(100, "q")).join(",");
    const stream = await fetch(`http://${yard.base}/v1/queues/secret:work?worker=s1&also=${also}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${tokenOf("boss")}` },
    });
    const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
    const [, token = ""] =
      /"token":"([^"]+)"/.exec(Buffer.from((await reader.read()).value ?? []).toString()) ?? [];
    await as("boss", "POST", "/v1/workers/http%2Fboss%2Fs1:leave");
    await as("boss", "POST", "/v1/attempts:batch", {
      body: `{"task":"${hidden.id}","attempt":1,"beat":true}`,
      headers: { "Yard-Token": token },
    });
    assert.equal((await as("bob", "POST", "/v1/workers/http%2Fboss%2Fs1:drain")).status, 404);
    assert.equal((await as("boss", "POST", "/v1/workers/http%2Fboss%2Fs1:drain")).status, 200);
  });
});
