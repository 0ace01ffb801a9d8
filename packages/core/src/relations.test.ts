import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TaskId } from "./names.js";
import type { TaskHead } from "./records.js";
import { relationsOf } from "./relations.js";
import { storyOf } from "./story.js";
import type { Submission } from "./submission.js";

const submission: Submission = { queue: "a", payload: { mediaType: "text/plain", size: 0 } };

describe("a task's principal", () => {
  test("a task without one has no relations", () => {
    assert.equal(relationsOf(submission), undefined);
  });

  test("tasks of one principal share the object, and others do not", () => {
    const first = relationsOf({ ...submission, by: "ci" });
    assert.equal(relationsOf({ ...submission, by: "ci" }), first);
    assert.equal(relationsOf({ ...submission, by: "ann" })?.by, "ann");
    assert.equal(first?.by, "ci");
    assert.deepEqual(relationsOf({ ...submission, by: "ci", group: "g" }), {
      after: [],
      ifFailed: "cancel",
      group: "g",
      schedule: undefined,
      retryOf: undefined,
      by: "ci",
    });
  });

  test("the story names it", () => {
    const head = { id: 1 as TaskId, submittedAt: 5, relations: relationsOf({ ...submission, by: "ci" }) };
    assert.equal(storyOf(head as TaskHead, undefined)[0]?.cause, "submitted by ci");
    assert.equal(storyOf({ ...head, relations: undefined } as TaskHead, undefined)[0]?.cause, "submitted");
  });
});
