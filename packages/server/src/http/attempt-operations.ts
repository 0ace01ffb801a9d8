// The OpenAPI operations of the routes for http workers.

import { endingSchema, failureSchema } from "./body-schemas.js";
import { anyBytes, operation } from "./operation.js";
import { attemptPath, beatQuery, claimQuery, queuePath, viewQuery } from "./parameters.js";
import { attemptListSchema, batchAnswerSchema, beatSchema, reportSchema, taskSchema } from "./schemas.js";

const token = { "Yard-Token": "The attempt's token, from the claim" };

export const claimOperation = operation({
  id: "claim",
  tag: "attempts",
  summary: "Take tasks of a queue to work on",
  description:
    "Each comes with a lease: beat it, or the task goes to another worker. With `max=1` and " +
    "`Accept: application/octet-stream` the payload comes raw, with its ids in headers.",
  path: queuePath,
  query: claimQuery,
  answers: {
    200: {
      is: "The attempts",
      json: attemptListSchema,
      content: anyBytes,
      headers: {
        "Yard-Task": "In a raw answer: the task",
        "Yard-Attempt": "In a raw answer: the attempt's number",
        "Yard-Token": "In a raw answer: the attempt's token",
        "Yard-Lease-Until": "In a raw answer: when the lease is over",
        "Yard-After": "In a raw answer: the tasks that it depends on, if that is at most 4,096 characters",
      },
    },
    204: { is: "There is no work" },
  },
  problems: ["payload_too_large", "queue_full", "not_ready"],
});

export const beatOperation = operation({
  id: "beatAttempt",
  tag: "attempts",
  summary: "Keep the lease of an attempt, and report progress",
  description:
    "The body may be empty. What it says replaces the report before; it is recorded at most once a second.",
  path: attemptPath,
  query: beatQuery,
  headers: token,
  body: { is: "How far the worker is", content: { "application/json": reportSchema } },
  answers: { 200: { is: "Until when, and whether to give up", json: beatSchema } },
  problems: ["not_found", "stale_attempt", "queue_full"],
});

export const doneOperation = operation({
  id: "completeAttempt",
  tag: "attempts",
  summary: "The attempt is done",
  path: attemptPath,
  query: viewQuery,
  headers: token,
  body: { is: "The result, whatever it is; its Content-Type is kept", content: anyBytes },
  answers: { 200: { is: "The task, done", json: taskSchema, orMinimal: true } },
  problems: ["not_found", "stale_attempt", "payload_too_large", "queue_full"],
});

export const failOperation = operation({
  id: "failAttempt",
  tag: "attempts",
  summary: "The attempt failed",
  path: attemptPath,
  query: viewQuery,
  headers: token,
  body: { is: "What went wrong", isRequired: true, content: { "application/json": failureSchema } },
  answers: { 200: { is: "The task", json: taskSchema, orMinimal: true } },
  problems: ["not_found", "stale_attempt", "queue_full"],
});

export const returnOperation = operation({
  id: "returnAttempt",
  tag: "attempts",
  summary: "Give the task back",
  description:
    "For a worker that has to stop: the task goes to another worker at once, ahead of its queue, and the attempt counts " +
    "neither as lost nor as failed.",
  path: attemptPath,
  query: viewQuery,
  headers: token,
  answers: { 200: { is: "The task", json: taskSchema, orMinimal: true } },
  problems: ["not_found", "stale_attempt", "queue_full"],
});

export const batchOperation = operation({
  id: "endAttempts",
  tag: "attempts",
  summary: "Many attempts are done, failed, given back, or still worked on",
  description:
    "A JSON object a line (NDJSON), or a JSON array of them, read as it comes; each counts by itself. The items of the " +
    "answer are tasks or problems, in order.",
  query: viewQuery,
  body: {
    is: "At most 10,000 items",
    content: {
      "application/x-ndjson": endingSchema,
      "application/json": { type: "array", items: endingSchema },
    },
  },
  answers: { 200: { is: "What became of each", content: { "application/json": batchAnswerSchema } } },
  problems: ["payload_too_large", "queue_full"],
  streamsBody: true,
});
