import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { ApiClient, type ApiDocument } from "../testing/api-client.js";
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

describe("the API's description", { timeout: 60_000 }, () => {
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
    // One that fails, and is tried anew, and cancelled.
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
    // Many at once.
    const many = await call("submitTasks", { queue: "many", body: '{"payload":1}\noops\n' });
    assert.equal((many.json as { items: unknown[] }).items.length, 2);
    const two = await call("claim", { queue: "many", worker: "w", max: "2" });
    const [one] = (two.json as { attempts: object[] }).attempts;
    await call("endAttempts", {
      body: JSON.stringify([
        { ...one, contentType: undefined, payload: undefined, leaseUntil: undefined, result: 1 },
      ]),
    });
    // Operators.
    await call("pauseQueue", { queue: "q" });
    await call("drainQueue", { queue: "q" });
    await call("resumeQueue", { queue: "q" });
    await call("listQueues");
    await call("listWorkers");
    await call("drainWorker", { id: "http/w" });
    await call("listDoors");
    await call("listSpecs");
    await call("getHealth");
    await call("getReadiness");
    await call("getMetrics");
    await call("getApi");
    await call("getPage");
    assert.match((await call("followEvents", { until: /event: snapshot/ })).text, /"queues"/);
    assert.match((await call("followWire", { until: /^:/ })).text, /^:/);
    assert.deepEqual([...client.unused], [], "operations that no test here uses");
  });

  test("problems are as it says, too", async () => {
    const { call } = new ApiClient(document, yard.base);
    assert.equal((await call("getTask", { id: "999999" })).status, 404);
    assert.equal((await call("submitTask", { queue: "-", body: "" })).status, 400);
    assert.equal((await call("getResult", { id: "999999" })).status, 404);
    const { id } = await yard.submit("p", "x");
    assert.equal((await call("getResult", { id })).status, 409);
    assert.equal((await call("retryTask", { id })).status, 409);
  });
});

test("with a token, the description asks for it", { timeout: 30_000 }, async () => {
  const yard = await new YardUnderTest({ config: { token: "t0ken" } }).open();
  try {
    const headers = { Authorization: "Bearer t0ken" };
    const document = (await yard.ask("GET", "/openapi.json", { headers })).json as ApiDocument;
    assert.deepEqual(document.security, [{ token: [] }]);
    const client = new ApiClient(document, yard.base, "t0ken");
    assert.equal((await client.call("listTasks")).status, 200);
    assert.equal((await new ApiClient(document, yard.base).call("listTasks")).status, 401);
    assert.equal((await new ApiClient(document, yard.base).call("getHealth")).status, 200);
  } finally {
    await yard.close();
  }
});
