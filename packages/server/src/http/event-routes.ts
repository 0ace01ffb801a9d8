// Streams of events over http (SSE): what changes in the yard, and what goes over the wires of its doors.

import type { EventFeed } from "./event-feed.js";
import { operation } from "./operation.js";
import { wireQuery } from "./parameters.js";
import { Problem } from "./problems.js";
import { wireEventSchema, yardEventSchema } from "./schemas.js";
import type { HttpServer } from "./server.js";
import type { WireFeed } from "./wire-feed.js";

/** Of both streams together. */
const listenersMax = 12_000;

export function addEventRoutes(app: HttpServer, events: EventFeed, wire: WireFeed): void {
  const refuseTooMany = () => {
    if (events.listeners + wire.listeners >= listenersMax)
      throw new Problem("queue_full", `${listenersMax} listen already`);
  };

  // Asked for its head alone, a stream would never end.
  const exposeHeadRoute = false;

  app.get("/v1/events", { exposeHeadRoute, ...eventsOperation }, async ({ headers }, reply) => {
    refuseTooMany();
    const lastId = headers["last-event-id"];
    await events.add(reply, typeof lastId === "string" ? lastId : undefined);
    return reply;
  });

  app.get("/v1/wire", { exposeHeadRoute, ...wireOperation }, async ({ query }, reply) => {
    refuseTooMany();
    wire.add(reply, query.door);
    return reply;
  });
}

const eventsOperation = operation({
  id: "followEvents",
  tag: "yard",
  summary: "What changes, as it changes",
  description:
    "Server-sent events. First a `snapshot` `{queues, workers, queueCount, workerCount}`, then `queue`, `queue-gone`, " +
    "`worker`, `worker-gone` and `task` events, each with the whole thing as it is now. `skipped` `{tasks}` says how many " +
    "changes of tasks were left out because there were too many. With `Last-Event-ID` it goes on where it broke off, or, " +
    "when that is too long ago, with a new snapshot. The schema is that of one event, with its `data` read as JSON.",
  answers: { 200: { is: "Events without an end", content: { "text/event-stream": yardEventSchema } } },
  problems: ["queue_full"],
});

const wireOperation = operation({
  id: "followWire",
  tag: "yard",
  summary: "Messages on the doors, decoded",
  description:
    "Server-sent events `message` `{at, door, direction, peer, type, bytes, content}`; `skipped` `{messages}` says how many " +
    "were left out because there were too many. The schema is that of one event, with its `data` read as JSON.",
  query: wireQuery,
  answers: { 200: { is: "Events without an end", content: { "text/event-stream": wireEventSchema } } },
  problems: ["queue_full"],
});
