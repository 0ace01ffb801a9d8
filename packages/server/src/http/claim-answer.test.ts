import assert from "node:assert/strict";
import { test } from "node:test";
import { fitting } from "./claim-answer.js";

test("a claim in JSON takes as many payloads as fit into one answer", () => {
  const attempts = [4, 3, 2, 1].map((size) => ({ task: { payload: { size } } })) as never[];
  const sizes = (bytesMax: number) => fitting(attempts, bytesMax).length;
  assert.deepEqual([10, 9, 7, 6, 4, 3].map(sizes), [4, 3, 2, 1, 1, 0]);
});
