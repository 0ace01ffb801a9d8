// Queues over http: how they stand, and what an operator may say of them.

import type { QueueView } from "@yardmaster/core";
import type { HttpContext } from "./context.js";
import { operation } from "./operation.js";
import { queuePath } from "./parameters.js";
import { queueListSchema, queueSchema } from "./schemas.js";
import type { HttpServer } from "./server.js";

export function addQueueRoutes(app: HttpServer, { port, exchange }: HttpContext): void {
  app.get("/v1/queues", listOperation, async () => ({
    items: (await port.reads.queues()).map(queueJson),
  }));

  for (const order of ["pause", "resume", "drain"] as const) {
    app.post(`/v1/queues/:queue(.*)::${order}`, orderOperation(order), async ({ params: { queue } }) => {
      await exchange.ask((request) => ({ type: "queue-order-given", request, queue, order }));
      const view = (await port.reads.queues()).find(({ name }) => name === queue);
      return view ? queueJson(view) : { name: queue, waiting: 0, running: 0, paused: false, draining: false };
    });
  }
}

export function queueJson({ name, waiting, running, paused, draining }: QueueView) {
  return { name, waiting, running, paused, draining };
}

const listOperation = operation({
  id: "listQueues",
  tag: "queues",
  summary: "How the queues stand",
  answers: { 200: { is: "All queues", json: queueListSchema } },
});

const orders = {
  pause: ["pauseQueue", "Give out nothing more; tasks are still accepted"],
  resume: ["resumeQueue", "Take back a pause or a drain"],
  drain: ["drainQueue", "Accept nothing more; what is there is still given out"],
} as const;

function orderOperation(order: keyof typeof orders) {
  const [id, summary] = orders[order];
  return operation({
    id,
    tag: "queues",
    summary,
    path: queuePath,
    answers: { 200: { is: "The queue", json: queueSchema } },
    problems: ["queue_full"],
  });
}
