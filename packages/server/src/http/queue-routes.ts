// Queues over http: how they stand, and what an operator may say of them.

import type { QueueView } from "@yardmaster/core";
import type { HttpContext } from "./context.js";
import { operation } from "./operation.js";
import { orderQuery, queuePath } from "./parameters.js";
import { Problem } from "./problems.js";
import { queueListSchema, queueSchema } from "./schemas.js";
import type { HttpServer } from "./server.js";

export function addQueueRoutes(app: HttpServer, { port, exchange, lastingQueues }: HttpContext): void {
  app.get("/v1/queues", listOperation, async () => ({
    items: (await port.reads.queues()).map(queueJson),
  }));

  for (const order of ["pause", "resume", "drain"] as const) {
    app.post(`/v1/queues/:queue(.*)::${order}`, orderOperation(order), async ({ params, query }) => {
      const { queue } = params;
      const mustExist = !query.create && !lastingQueues.has(queue);
      await exchange
        .ask((request) => ({ type: "queue-order-given", request, queue, order, mustExist }))
        .catch(advised);
      const view = (await port.reads.queues()).find(({ name }) => name === queue);
      return view ? queueJson(view) : { name: queue, waiting: 0, running: 0, paused: false, draining: false };
    });
  }
}

/** A queue without tasks and workers is forgotten, so one that was there yesterday may be meant. */
function advised(fault: unknown): never {
  if (!(fault instanceof Problem) || fault.code !== "not_found") throw fault;
  const why =
    "nothing waits or runs in it, and no worker serves it; if you mean it all the same, add ?create=true";
  throw new Problem("not_found", `${fault.message.replace(/\.$/, "")}: ${why}`, { cause: fault });
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
    description:
      "A queue that is not there is `not_found`, unless `create=true`. Queues with settings in the configuration, and those " +
      "of doors, are always there.",
    path: queuePath,
    query: orderQuery,
    answers: { 200: { is: "The queue", json: queueSchema } },
    problems: ["not_found", "queue_full"],
  });
}
