import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { patience } from "../testing/patience.js";
import { YardUnderTest } from "./yard-under-test.js";

describe("a body with a Content-Encoding, which is not kept with it", patience, () => {
  let yard: YardUnderTest;
  before(async () => {
    yard = await new YardUnderTest().open();
  });
  after(() => yard.close());

  const post = (path: string, coding: string, body: Buffer) =>
    yard.ask("POST", path, { body, headers: { "content-encoding": coding } } as RequestInit);

  for (const path of [
    "/v1/queues/q/tasks",
    "/v1/queues/q/tasks:batch",
    "/v1/tasks:graph",
    "/v1/attempts:batch",
  ]) {
    test(`is refused: ${path}`, async () => {
      const { status, json } = await post(path, "gzip", gzipSync('{"payload":"x"}\n'));
      const { code, detail } = json as { code: string; detail: string };
      assert.deepEqual([status, code], [400, "bad_request"]);
      assert.match(detail, /^Content-Encoding: gzip is not understood here; send the body as it is/);
    });
  }

  test("is accepted if it changes nothing", async () => {
    assert.equal((await post("/v1/queues/q/tasks", "Identity", Buffer.from("x"))).status, 201);
  });
});
