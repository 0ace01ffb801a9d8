import assert from "node:assert/strict";
import { test } from "node:test";
import type { Outcome, Submission, TaskHead } from "@yardmaster/core";
import fc from "fast-check";
import { bodyOf } from "../body.js";
import { bodyOfParts, partsMediaType, partsOf } from "../parts.js";
import { writeToClient } from "./codec.js";
import { answerFor, refusalFor, refuseRequest, submissionFor } from "./door-client.js";

const bytes = (...texts: string[]) => texts.map((text) => Buffer.from(text));

function submitted(correlation: readonly Buffer[], parts: readonly Buffer[]): Submission {
  return submissionFor({ correlation, payload: bodyOfParts(parts) }, "q", {
    address: "client-1",
    diesWithConnection: false,
  });
}

function headOf({ payload, replyTo, envelope }: Submission): TaskHead {
  return { payload, replyTo, envelope } as TaskHead;
}

const done = (...parts: string[]): Outcome => ({
  state: "done",
  result: bodyOfParts(bytes(...parts)),
  error: undefined,
});
const frames = (task: TaskHead, outcome: Outcome) => writeToClient(answerFor(task, outcome)).map(String);

test("a request becomes a task of the door's queue, answered to its client", () => {
  const { queue, payload, replyTo, envelope } = submitted([], bytes("job"));
  assert.deepEqual([queue, replyTo], ["q", { address: "client-1", diesWithConnection: false }]);
  assert.deepEqual([payload.mediaType, partsOf(payload).map(String)], ["application/octet-stream", ["job"]]);
  assert.equal(envelope, undefined);
  const several = submitted([], bytes("a", "b"));
  assert.deepEqual([several.payload.mediaType, partsOf(several.payload)], [partsMediaType, bytes("a", "b")]);
});

test("correlation frames come back in front of the answer, whatever they are", () => {
  const frame = fc.uint8Array({ minLength: 1, maxLength: 255 }).map((given) => Buffer.from(given));
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 16 }), (correlation) => {
      const task = headOf(submitted(correlation, bytes("job")));
      const answer = writeToClient(answerFor(task, done("r")));
      assert.deepEqual(answer, [...correlation, ...bytes("", "r")]);
    }),
    { numRuns: 200 },
  );
});

test("a result's parts are frames, and no parts are an empty one", () => {
  const task = headOf(submitted([], bytes("job")));
  assert.deepEqual(frames(task, done("a", "", "b")), ["", "a", "", "b"]);
  assert.deepEqual(frames(task, done()), ["", ""]);
  const json = { ...done(), result: bodyOf(Buffer.from("{}"), "application/json") };
  assert.deepEqual(frames(task, json), ["", "{}"]);
});

test("a task that ended otherwise is answered with ERROR, a code and words", () => {
  const task = headOf(submitted(bytes("c"), bytes("job")));
  const error = { code: "poison", message: "Lost 5 times." };
  assert.deepEqual(frames(task, { state: "failed", result: undefined, error }), [
    "c",
    "",
    "ERROR",
    "poison",
    "Lost 5 times.",
  ]);
  for (const state of ["cancelled", "expired"] as const) {
    const ended = frames(task, { state, result: undefined, error: undefined });
    assert.deepEqual(ended, ["c", "", "ERROR", state, `The task ended ${state}.`]);
  }
});

test("a refusal goes to where the outcome would have gone", () => {
  const refusal = refusalFor(submitted(bytes("c1", "c2"), bytes("job")), "queue_full", "No room.");
  assert.deepEqual(writeToClient(refusal).map(String), ["c1", "c2", "", "ERROR", "queue_full", "No room."]);
});

test("a job that is just PONG is refused at once", () => {
  const refusal = refuseRequest({ correlation: bytes("c"), payload: bodyOfParts(bytes("PONG")) });
  assert.deepEqual(refusal && writeToClient(refusal).map(String).slice(0, 4), [
    "c",
    "",
    "ERROR",
    "does_not_fit",
  ]);
  assert.equal(refuseRequest({ correlation: [], payload: bodyOfParts(bytes("PONG", "PONG")) }), undefined);
});
