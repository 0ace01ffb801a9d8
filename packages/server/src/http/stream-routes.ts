// Routes for the worker stream: a worker opens it once and receives its tasks, as docs/http.md
// describes.

import type { AttemptNumber } from "@yardmaster/core";
import { readItem } from "./batch.js";
import { heldSchema } from "./body-schemas.js";
import { type HttpContext, refuseWhenStopping } from "./context.js";
import { operation } from "./operation.js";
import { heldItem, queuePath, workQuery } from "./parameters.js";
import { Problem } from "./problems.js";
import { queueFault } from "./route-rights.js";
import { workLineSchema } from "./schemas.js";
import type { HttpServer } from "./server.js";
import type { HeldAttempt } from "./work-streams.js";
import { workerNameOf } from "./worker-names.js";

/**
 * A worker holds at most as many attempts as it has slots; each of these lines has about 50
 * characters.
 */
const heldMax = 1_000;
const heldBytesMax = 131_072;

export function addStreamRoutes(app: HttpServer, context: HttpContext): void {
  app.post(
    "/v1/queues/:queue(.*)::work",
    { bodyLimit: heldBytesMax, onRequest: refuseWhenStopping(context), ...workOperation },
    (request, reply) => {
      const { worker, slots, lease: leaseMs, also = [] } = request.query;
      const { principal } = request.login;
      const name = workerNameOf(request.login, worker);
      const queues = [...new Set([request.params.queue, ...also])];
      for (const queue of queues) {
        const fault = queueFault(principal, "work", queue);
        if (fault !== undefined) throw fault;
      }
      const mayWork = () => queues.every((queue) => principal.may("work", queue));
      const opened = { name, address: request.ip, queues, slots, leaseMs, mayWork };
      context.streams.open(opened, readHeld(request.body), reply);
    },
  );
}

function readHeld(body: unknown): HeldAttempt[] {
  if (!Buffer.isBuffer(body)) return [];
  const held: HeldAttempt[] = [];
  for (const [index, text] of body.toString("utf8").split("\n").entries()) {
    if (text.trim() === "") continue;
    if (held.length === heldMax)
      throw new Problem("bad_request", `a worker holds at most ${heldMax} attempts`);
    const { task, attempt } = readItem({ line: index + 1, text }, heldItem);
    held.push({ task, attempt: attempt as AttemptNumber });
  }
  return held;
}

const workOperation = operation({
  id: "work",
  tag: "attempts",
  summary: "Work over a stream",
  description:
    "An endless answer with one JSON object per line: tasks to run when slots are free, cancellations, and beats while " +
    "there is nothing else to send. Attempts are ended with `endAttempts`. A worker whose stream was cut opens it again " +
    "under the same name and lists the attempts that it still holds. With `also`, it serves further queues in the same slots.",
  path: queuePath,
  query: workQuery,
  body: {
    is: "The attempts that the worker still holds, one JSON object per line; at most 1,000",
    content: { "application/x-ndjson": heldSchema },
  },
  answers: { 200: { is: "Endless lines", content: { "application/x-ndjson": workLineSchema } } },
  problems: ["payload_too_large", "queue_full", "not_ready"],
});
