import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskHead } from "@yardmaster/core";
import { askedIn, envelopeOf, payloadOf } from "./bodies.js";
import type { TaskMessage } from "./messages.js";

const name = (text: string) => Buffer.from(text);

/** A task's head as the core hands it over once an engine keeps its payload: without the bytes. */
function headOf(count: number): TaskHead {
  const message: TaskMessage = {
    ...{
      type: "task",
      task: name("task"),
      source: name("client"),
      metadata: Buffer.alloc(0),
      function: name("f"),
    },
    arguments: Array.from({ length: count }, (_, index) => ({ kind: "R", id: name(`argument ${index}`) })),
  };
  const { bytes, ...payload } = payloadOf(message);
  const envelope = envelopeOf(message, { ...payload, ...(bytes && { bytes }) });
  const isKept = payload.size <= 4_096;
  return { payload: isKept ? { ...payload, bytes } : payload, envelope } as TaskHead;
}

for (const count of [0, 10, 50, 200, 2_000]) {
  test(`who asked for a task of ${count} arguments is known when it is told`, () => {
    const asked = askedIn(headOf(count));
    assert.deepEqual([asked?.task.toString(), asked?.source.toString()], ["task", "client"]);
  });
}

test("a task of another door's is nobody's here", () => {
  const head = { payload: { mediaType: "text/plain", size: 1, bytes: name("x") }, envelope: name("x") };
  assert.equal(askedIn(head as unknown as TaskHead), undefined);
});
