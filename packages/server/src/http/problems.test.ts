import assert from "node:assert/strict";
import { test } from "node:test";
import { Unavailable } from "@yardmaster/engines";
import { Problem, problemKinds, problemOf } from "./problems.js";

test("a problem is an RFC 9457 document with a stable code", () => {
  assert.deepEqual(JSON.parse(JSON.stringify(new Problem("queue_full", "too many"))), {
    type: "urn:yardmaster:problem:queue_full",
    title: "A limit is reached; try again later",
    status: 429,
    detail: "too many",
    code: "queue_full",
  });
});

test("a database that does not answer is no mistake of the dispatcher", () => {
  const problem = problemOf(new Unavailable("the engine is closed"));
  assert.deepEqual([problem.code, problem.message], ["not_ready", "the database does not answer"]);
});

test("the codes of the API keep their status", () => {
  const statuses = Object.entries(problemKinds).map(([code, { status }]) => `${status} ${code}`);
  assert.deepEqual(statuses, [
    "400 bad_request",
    "400 dependency_cycle",
    "401 unauthorized",
    "403 forbidden",
    "403 no_right",
    "404 not_found",
    "405 method_not_allowed",
    "408 request_timeout",
    "409 wrong_state",
    "409 key_conflict",
    "409 unknown_dependency",
    "409 stale_attempt",
    "409 read_only",
    "413 payload_too_large",
    "429 queue_full",
    "429 quota_reached",
    "429 too_many_logins",
    "431 headers_too_large",
    "500 internal_error",
    "503 not_ready",
    "503 not_owner",
  ]);
});

test("an error of our own keeps its words for the log", () => {
  const cause = new Error("the disk is on fire");
  const problem = problemOf(cause);
  assert.equal(problem.code, "internal_error");
  assert.equal(problem.cause, cause);
  assert.doesNotMatch(JSON.stringify(problem), /fire/);
});
