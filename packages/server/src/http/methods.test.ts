// A known path with a wrong method gives 405 with the allowed methods. An unknown path gives 404.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { patience } from "../testing/patience.js";
import { YardUnderTest } from "./yard-under-test.js";

describe("the methods of a path", patience, () => {
  let yard: YardUnderTest;
  before(async () => {
    yard = await new YardUnderTest().open();
  });
  after(() => yard.close());

  async function refused(method: string, path: string): Promise<string> {
    const { status, headers, json } = await yard.ask(method, path);
    const { code, detail } = (json ?? {}) as { code?: string; detail?: string };
    if (method !== "HEAD") {
      assert.equal(headers.get("content-type"), "application/problem+json");
      assert.match(detail ?? "", status === 405 ? /it has [A-Z, ]+$/ : /^there is/);
      assert.equal(code, status === 405 ? "method_not_allowed" : "not_found", `${method} ${path}`);
    }
    return `${status} ${headers.get("allow")}`;
  }

  test("are in the Allow header when another one comes", async () => {
    const { id } = await yard.submit("methods", "x");
    for (const [method, path, allowed] of [
      ["POST", "/healthz", "GET, HEAD"],
      ["DELETE", "/v1/tasks", "GET, HEAD"],
      ["DELETE", "/v1/tasks/1", "GET, HEAD"],
      ["POST", `/v1/tasks/${id}`, "GET, HEAD"],
      ["PUT", `/v1/tasks/${id}/payload?x=1`, "GET, HEAD"],
      ["GET", `/v1/tasks/${id}:cancel`, "POST"],
      ["GET", "/v1/tasks/999999:retry", "POST"],
      ["HEAD", `/v1/tasks/${id}:cancel`, "POST"],
      ["GET", "/v1/queues/q/tasks", "POST"],
      ["PATCH", "/v1/queues/q/tasks:batch", "POST"],
      ["GET", "/v1/queues/q:claim", "POST"],
      ["GET", "/v1/queues/q:pause", "POST"],
      ["POST", "/v1/queues/q", "GET, HEAD, PATCH"],
      ["GET", "/v1/workers/http%2Fw:drain", "POST"],
      ["GET", `/v1/tasks/${id}/attempts/7:done`, "POST"],
      ["POST", "/", "GET, HEAD"],
      ["HEAD", "/v1/events", "GET"],
      ["OPTIONS", "/v1/queues", "GET, HEAD"],
      ["PROPFIND", "/v1/queues", "GET, HEAD"],
      ["QUERY", "/v1/queues", "GET, HEAD"],
      ["QUERY", `/v1/tasks/${id}:cancel`, "POST"],
    ] as const) {
      assert.equal(await refused(method, path), `405 ${allowed}`, `${method} ${path}`);
    }
    assert.equal((await yard.task(id)).state, "waiting");
  });

  test("are no matter where there is no such path", async () => {
    for (const [method, path] of [
      ["GET", "/v2/tasks"],
      ["OPTIONS", "/nowhere"],
      ["HEAD", "/nowhere"],
      ["POST", "/v1/tasks/1:frob"],
      ["POST", "/v1/queues/q:frob"],
      ["GET", "/v1/tasks/"],
      ["DELETE", "/v1/tasks/"],
      ["GET", "/v1/queues/"],
      ["POST", "/v1/queues/q/tasks/"],
      ["GET", "/healthz/"],
      ["GET", "//healthz"],
      ["GET", "/V1/tasks"],
      ["POST", "/v1/queues/q/r/tasks"],
    ] as const) {
      assert.equal(await refused(method, path), "404 null", `${method} ${path}`);
    }
  });

  test("HEAD is GET without the body", async () => {
    for (const path of ["/healthz", "/readyz", "/v1/queues", "/openapi.json", "/"]) {
      const { status, text } = await yard.ask("HEAD", path);
      assert.deepEqual([status, text], [200, ""], path);
    }
  });
});
