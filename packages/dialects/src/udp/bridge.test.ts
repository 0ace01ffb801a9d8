// Params come from peers and payloads from clients, so keys that every object inherits must work
// like any other key.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TaskHead, TaskId } from "@yardmaster/core";
import { answerIn, jsonBody, paramsFor } from "./bridge.js";
import { datagramBytesInMax } from "./codec.js";
import type { Params } from "./messages.js";

const odd = '{"__proto__":{"task_id":9,"error":"no"},"constructor":1,"toString":null}';

describe("keys that every object inherits", () => {
  test("reach a calculator as they are, and name no task", () => {
    const task = { id: 7 as TaskId, payload: jsonBody(JSON.parse(odd)), door: "http" } as TaskHead;
    const params = paramsFor(task, { taskId: 7, uuid: "0.0.0.0:0:7" });
    assert.equal(params, `${odd.slice(0, -1)},"task_id":7,"task_uuid":"0.0.0.0:0:7"}`);
  });

  test("are part of an answer, and fail no attempt", () => {
    const { error, result } = answerIn(JSON.parse(odd) as Params);
    assert.equal(error, undefined);
    assert.equal(Buffer.from(result?.bytes ?? "").toString(), odd);
  });
});

function headOf(json: string): TaskHead {
  const bytes = Buffer.from(json);
  return { payload: { mediaType: "application/json", size: bytes.length, bytes } } as unknown as TaskHead;
}

const named = { taskId: 1, uuid: "0.0.0.0:0:1" };

test("JSON from another door is merged into params as deep as a datagram may nest; deeper it goes as bytes", () => {
  const nested = (levels: number) => `{"x":${"[".repeat(levels)}${"]".repeat(levels)}}`;
  const given = (json: string) =>
    JSON.parse(paramsFor(headOf(json), named, datagramBytesInMax) ?? "") as Record<string, unknown>;
  assert.deepEqual(given(nested(63)), { ...JSON.parse(nested(63)), task_id: 1, task_uuid: "0.0.0.0:0:1" });
  for (const levels of [64, 30_000]) {
    assert.equal(given(nested(levels)).payload, Buffer.from(nested(levels)).toString("base64"));
  }
});
