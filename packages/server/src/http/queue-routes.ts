// Queues over http: how they stand, and what an operator may say of them.

import type { QueueView } from "@yardmaster/core";
import type { HttpContext } from "./context.js";
import { noQuery, queuePath } from "./parameters.js";
import type { HttpServer } from "./server.js";

export function addQueueRoutes(app: HttpServer, { port, exchange }: HttpContext): void {
  app.get("/v1/queues", { schema: { querystring: noQuery } }, async () => ({
    items: (await port.reads.queues()).map(queueJson),
  }));

  for (const order of ["pause", "resume", "drain"] as const) {
    app.post(
      `/v1/queues/:queue(.*)::${order}`,
      { schema: { params: queuePath, querystring: noQuery } },
      async ({ params: { queue } }) => {
        await exchange.ask((request) => ({ type: "queue-order-given", request, queue, order }));
        const view = (await port.reads.queues()).find(({ name }) => name === queue);
        return view
          ? queueJson(view)
          : { name: queue, waiting: 0, running: 0, paused: false, draining: false };
      },
    );
  }
}

function queueJson({ name, waiting, running, paused, draining }: QueueView) {
  return { name, waiting, running, paused, draining };
}
