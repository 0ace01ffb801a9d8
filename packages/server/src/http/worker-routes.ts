// Workers of every dialect over http: who is there, sending one home, and their goodbye.

import type { WorkerId, WorkerView } from "@yardmaster/core";
import { type HttpContext, showWorker } from "./context.js";
import { operation } from "./operation.js";
import { workerPath } from "./parameters.js";
import { workerListSchema, workerSchema } from "./schemas.js";
import type { HttpServer } from "./server.js";
import { timeJson } from "./task-json.js";

export function addWorkerRoutes(app: HttpServer, context: HttpContext): void {
  const { port, exchange, roster } = context;

  app.get("/v1/workers", listOperation, async () => ({
    items: (await port.reads.workers()).map(workerJson),
  }));

  app.post("/v1/workers/:id(.*)::leave", leaveOperation, async ({ params }, reply) => {
    const worker = params.id as WorkerId;
    const retired = exchange.ask((request) => ({ type: "worker-retired", request, worker }));
    // In the same turn as the yard: what it says from now on makes it join again.
    roster.forget(worker);
    await retired;
    return reply.code(204).send();
  });

  app.post("/v1/workers/:id(.*)::drain", drainOperation, async ({ params }) => {
    const worker = params.id as WorkerId;
    await exchange.ask((request) => ({ type: "worker-drain-asked", request, worker }));
    return workerJson(await showWorker(context, worker));
  });
}

export function workerJson({ joinedAt, lastSeenAt, lostReason, info, ...view }: WorkerView) {
  return {
    ...view,
    joinedAt: timeJson(joinedAt),
    lastSeenAt: timeJson(lastSeenAt),
    lostReason: lostReason ?? null,
    info: info ?? null,
  };
}

const listOperation = operation({
  id: "listWorkers",
  tag: "workers",
  summary: "Who works, and who was lost lately",
  answers: { 200: { is: "The workers of all doors", json: workerListSchema } },
});

const leaveOperation = operation({
  id: "leaveWorker",
  tag: "workers",
  summary: "A worker says goodbye",
  description:
    "For a worker of this door that ends in order. What it still holds goes to other workers at once and costs no try; " +
    "the worker is not counted among the lost. Its next claim makes it join again.",
  path: workerPath,
  answers: { 204: { is: "It has left" } },
  problems: ["not_found"],
});

const drainOperation = operation({
  id: "drainWorker",
  tag: "workers",
  summary: "Give a worker nothing more; what it holds it may finish",
  path: workerPath,
  answers: { 200: { is: "The worker", json: workerSchema } },
  problems: ["not_found"],
});
