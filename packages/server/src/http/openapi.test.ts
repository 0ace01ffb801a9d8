import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { ApiClient, type ApiDocument } from "../testing/api-client.js";
import { patience } from "../testing/patience.js";
import { templateOf } from "./openapi.js";
import { problemKinds } from "./problems.js";
import type { TaskJson } from "./task-json.js";
import { YardUnderTest } from "./yard-under-test.js";

test("the router's paths become the API's", () => {
  assert.equal(templateOf("/v1/tasks"), "/v1/tasks");
  assert.equal(templateOf("/v1/tasks/:id"), "/v1/tasks/{id}");
  assert.equal(templateOf("/v1/queues/:queue(.*)::claim"), "/v1/queues/{queue}:claim");
  assert.equal(templateOf("/v1/tasks/:id/attempts/:n(.*)::beat"), "/v1/tasks/{id}/attempts/{n}:beat");
  assert.equal(templateOf("/v1/attempts::batch"), "/v1/attempts:batch");
});

describe("the API's description", patience, () => {
  let yard: YardUnderTest;
  let document: ApiDocument;
  before(async () => {
    yard = await new YardUnderTest().open();
    document = (await yard.ask("GET", "/openapi.json")).json;
  });
  after(() => yard.close());

  test("is valid OpenAPI 3.1", async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate({ ...structuredClone(document) });
    assert.ok(valid, JSON.stringify(errors, null, 1));
    assert.equal(validator.version, "3.1");
    assert.equal(document.openapi, "3.1.0");
  });

  test("names every operation once, and every problem's code", () => {
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
    const ids = operations.map(({ operationId }) => operationId);
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual(
      document.components.schemas.Problem?.properties?.code?.enum?.toSorted(),
      Object.keys(problemKinds).toSorted(),
    );
  });

  test("a client made from it can use every operation, and is answered as it says", async () => {
    const client = new ApiClient(document, yard.base);
    const call = client.call;
    // A task's whole life.
    const first = await call("submitTask", { queue: "q", priority: "3", body: "payload" });
    const { id } = first.json as TaskJson;
    await call("getTask", { id });
    assert.equal((await call("getPayload", { id })).text, "payload");
    const claimed = await call("claim", { queue: "q", worker: "w" });
    type Held = { attempt: number; token: string };
    const [attempt] = (claimed.json as { attempts: Held[] }).attempts;
    assert.ok(attempt);
    const held = { id, n: String(attempt.attempt), "Yard-Token": attempt.token };
    await call("beatAttempt", held);
    await call("returnAttempt", held);
    const [next] = ((await call("claim", { queue: "q", worker: "w" })).json as { attempts: Held[] }).attempts;
    assert.ok(next);
    Object.assign(held, { n: String(next.attempt), "Yard-Token": next.token });
    await call("completeAttempt", { ...held, body: "result" });
    assert.equal((await call("getResult", { id })).text, "result");
    await call("listTasks", { queue: "q", state: "done", limit: "1" });
    // A task that fails, is retried and is cancelled.
    const bad = (await call("submitTask", { queue: "q", body: "x" })).json as TaskJson;
    const raw = await call("claim", { queue: "q", worker: "w", accept: "application/octet-stream" });
    assert.equal(raw.text, "x");
    await call("failAttempt", {
      id: bad.id,
      n: raw.headers.get("yard-attempt") ?? "",
      "Yard-Token": raw.headers.get("yard-token") ?? "",
      body: '{"message":"no"}',
    });
    const again = await call("retryTask", { id: bad.id });
    assert.equal(again.status, 201);
    assert.equal(
      ((await call("cancelTask", { id: (again.json as TaskJson).id })).json as TaskJson).state,
      "cancelled",
    );
    // A batch.
    const many = await call("submitTasks", { queue: "many", body: '{"payload":1}\noops\n' });
    assert.equal((many.json as { items: unknown[] }).items.length, 2);
    const two = await call("claim", { queue: "many", worker: "w", max: "2" });
    const [one] = (two.json as { attempts: object[] }).attempts;
    await call("endAttempts", {
      body: JSON.stringify([
        { ...one, contentType: undefined, payload: undefined, leaseUntil: undefined, result: 1 },
      ]),
    });
    const graph = [
      { name: "a", queue: "graph" },
      { name: "b", queue: "graph", after: ["a"] },
    ];
    const { status } = await call("submitGraph", { body: JSON.stringify(graph) });
    assert.equal(status, 201);
    // A worker stream, and answers in the minimal view.
    const opened = await call("work", { queue: "streamed", worker: "s", slots: "2", until: /\n/ });
    assert.equal((opened.json as { type: string }).type, "open");
    const brief = await call("submitTask", { queue: "q", body: "x", view: "minimal" });
    assert.deepEqual(Object.keys(brief.json as object), ["id"]);
    await call("submitTasks", { queue: "many", body: '{"payload":1}', view: "minimal" });
    // Operators.
    await call("pauseQueue", { queue: "q" });
    await call("drainQueue", { queue: "q" });
    await call("resumeQueue", { queue: "q" });
    await call("listQueues");
    await call("setQueue", { queue: "q", body: '{"maxRunning":3,"rate":{"tasks":1,"perSeconds":2}}' });
    const shown = (await call("showQueue", { queue: "q" })).json as { settings: object };
    assert.deepEqual(Object.entries(shown.settings)[5], ["maxRunning", { value: 3, from: "api" }]);
    await call("putSchedule", { name: "s", body: '{"queue":"later","every":"1h"}' });
    await call("getSchedule", { name: "s" });
    await call("pauseSchedule", { name: "s" });
    await call("resumeSchedule", { name: "s" });
    await call("runScheduleNow", { name: "s" });
    await call("listSchedules");
    await call("countTasks", { queue: "q", buckets: "3" });
    const { id: action } = (await call("cancelTasks", { queue: "q", state: "waiting" })).json as TaskJson;
    await call("getAction", { id: action });
    await call("stopAction", { id: action });
    await call("retryTasks", { queue: "q", state: "failed" });
    await call("purgeQueue", { queue: "q" });
    await call("listActions");
    await call("deleteSchedule", { name: "s" });
    await call("listWorkers");
    await call("listAlerts");
    await call("getFigures");
    await call("getHistory", { span: "1h", queue: "q,many", since: "2024-05-01T12:00:00Z" });
    await call("getHistory");
    await call("listFailures", { span: "24h", queue: "q" });
    await call("getTraffic");
    await call("getTask", { id, outlook: "true" });
    await call("listLostWorkers");
    await call("drainWorker", { id: "http/w" });
    await call("leaveWorker", { id: "http/w" });
    await call("listDoors");
    await call("getMe");
    await call("listSpecs");
    await call("listNodes");
    await call("stepDown");
    await call("getHealth");
    await call("getReadiness");
    await call("getMetrics");
    await call("getApi");
    const { text } = await call("getPage");
    await call("getPageFile", { file: /assets\/([\w.-]+\.js)/.exec(text)?.[1] ?? "" });
    assert.match((await call("followEvents", { until: /event: snapshot/ })).text, /"queues"/);
    assert.match((await call("followWire", { until: /^:/ })).text, /^:/);
    assert.deepEqual([...client.unused], [], "operations that no test here uses");
  });

  test("numbers say how large they get, and a query's numbers are numbers", () => {
    const { Task, Attempt, Queue, AttemptEnding } = document.components.schemas;
    for (const [schema, name, format] of [
      [Task, "attempt", "int64"],
      [Task, "payloadBytes", "int64"],
      [Task, "resultBytes", "int64"],
      [Task, "priority", "int32"],
      [Attempt, "attempt", "int64"],
      [AttemptEnding, "attempt", "int64"],
      [Queue, "waiting", "int64"],
    ] as const) {
      assert.equal(schema?.properties?.[name]?.format, format, name);
    }
    const parameters = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).flatMap(({ parameters: all = [] }) => all),
    );
    const shapes = (wanted: string) => [
      ...new Set(
        parameters.filter(({ name }) => name === wanted).map(({ schema }) => JSON.stringify(schema)),
      ),
    ];
    const int32 = { type: "integer", format: "int32" };
    assert.deepEqual(shapes("priority"), [
      JSON.stringify({ ...int32, minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }),
    ]);
    assert.deepEqual(shapes("limit"), [
      JSON.stringify({ ...int32, minimum: 1, maximum: 1000, default: 100 }),
      JSON.stringify({ ...int32, minimum: 1, maximum: 100_000 }),
    ]);
    for (const name of ["attempts", "failures", "max"])
      assert.match(shapes(name)[0] ?? "", /"integer"/, name);
    assert.deepEqual(shapes("n"), [
      JSON.stringify({ type: "integer", format: "int64", minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    ]);
  });

  test("problems are as it says, too", async () => {
    const { call } = new ApiClient(document, yard.base);
    assert.equal((await call("getTask", { id: "999999" })).status, 404);
    assert.equal((await call("submitTask", { queue: "-", body: "" })).status, 400);
    assert.equal((await call("getResult", { id: "999999" })).status, 404);
    const { id } = await yard.submit("p", "x");
    assert.equal((await call("getResult", { id })).status, 409);
    assert.equal((await call("retryTask", { id })).status, 409);
    const large = "x".repeat(70_000);
    assert.equal((await call("failAttempt", { id, n: "1", "Yard-Token": "t", body: large })).status, 413);
    assert.equal((await call("setQueue", { queue: "p", body: large })).status, 413);
  });
});

test("with a token, the description asks for it", patience, async () => {
  const yard = await new YardUnderTest({ config: { token: "t0ken" } }).open();
  try {
    const headers = { Authorization: "Bearer t0ken" };
    const document = (await yard.ask("GET", "/openapi.json", { headers })).json as ApiDocument;
    assert.deepEqual(document.security, [{ token: [] }, { certificate: [] }]);
    const client = new ApiClient(document, yard.base, "t0ken");
    assert.equal((await client.call("listTasks")).status, 200);
    assert.equal((await new ApiClient(document, yard.base).call("listTasks")).status, 401);
    assert.equal((await new ApiClient(document, yard.base).call("getHealth")).status, 200);
  } finally {
    await yard.close();
  }
});
