import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskHead } from "@yardmaster/core";
import { paramsFor } from "./bridge.js";
import { datagramBytesInMax } from "./codec.js";

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
