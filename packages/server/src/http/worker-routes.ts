// Workers of every dialect over http: who is there, and sending one home.

import type { WorkerId, WorkerView } from "@yardmaster/core";
import { type HttpContext, showWorker } from "./context.js";
import { noQuery, workerPath } from "./parameters.js";
import type { HttpServer } from "./server.js";
import { timeJson } from "./task-json.js";

export function addWorkerRoutes(app: HttpServer, context: HttpContext): void {
  const { port, exchange } = context;

  app.get("/v1/workers", { schema: { querystring: noQuery } }, async () => ({
    items: (await port.reads.workers()).map(workerJson),
  }));

  app.post(
    "/v1/workers/:id(.*)::drain",
    { schema: { params: workerPath, querystring: noQuery } },
    async ({ params }) => {
      const worker = params.id as WorkerId;
      await exchange.ask((request) => ({ type: "worker-drain-asked", request, worker }));
      return workerJson(await showWorker(context, worker));
    },
  );
}

function workerJson({ joinedAt, lastSeenAt, lostReason, info, ...view }: WorkerView) {
  return {
    ...view,
    joinedAt: timeJson(joinedAt),
    lastSeenAt: timeJson(lastSeenAt),
    lostReason: lostReason ?? null,
    info: info ?? null,
  };
}
