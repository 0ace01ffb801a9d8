// Streams of server-sent events: changes in the yard, and messages on the wires of its doors.

import type { Principal } from "../access/principal.js";
import type { EventFeed } from "./event-feed.js";
import { EventFilter, type Sight } from "./event-filter.js";
import { wireEventSchema, yardEventSchema } from "./event-schemas.js";
import { operation } from "./operation.js";
import { eventsQuery, wireQuery } from "./parameters.js";
import { Problem } from "./problems.js";

import type { HttpServer } from "./server.js";
import type { WireFeed } from "./wire-feed.js";

/** Maximum number of listeners of both streams together. */
const listenersMax = 12_000;

export function addEventRoutes(app: HttpServer, events: EventFeed, wire: WireFeed): void {
  const refuseTooMany = () => {
    if (events.listeners + wire.listeners >= listenersMax)
      throw new Problem("queue_full", `${listenersMax} listen already`);
  };

  // A HEAD request for a stream would never end.
  const exposeHeadRoute = false;

  app.get("/v1/events", { exposeHeadRoute, ...eventsOperation }, async ({ headers, query, login }, reply) => {
    refuseTooMany();
    const lastId = headers["last-event-id"];
    const filter = new EventFilter(query, sightOf(login.principal));
    await events.add(reply, typeof lastId === "string" ? lastId : undefined, filter);
    return reply;
  });

  app.get(
    "/v1/wire",
    { exposeHeadRoute, ...wireOperation },
    async ({ query, login: { principal } }, reply) => {
      refuseTooMany();
      wire.add(reply, query, principal.by === undefined ? undefined : principal);
      return reply;
    },
  );
}

/** Its rights are looked up with each event, so a reload takes effect at once. */
function sightOf(principal: Principal): Sight | undefined {
  if (principal.by === undefined) return undefined;
  return {
    key: `${principal.by} ${principal.revision}`,
    maySeeAll: () => principal.rights.mayForAll("read"),
    mayRead: (queue) => principal.may("read", queue),
  };
}

const eventsOperation = operation({
  id: "followEvents",
  tag: "yard",
  summary: "Follow changes of the yard",
  description:
    "Server-sent events. First a `snapshot` `{now, durability, queues, workers, queueCount, workerCount}`, then `queue`, `queue-gone`, " +
    "`worker`, `worker-gone` and `task` events, each with the complete current state. `skipped` `{tasks}` is the number of " +
    "task changes that were left out because there were too many. `types` selects among these and `alert`, `attempts`, " +
    "`beats` and `figures`; `queue` selects queues; `task` follows tasks and reports all their changes. With " +
    "`Last-Event-ID` the stream continues after that event, or with a new snapshot if that is too long ago. The schema is " +
    "that of one event. Its `data` is JSON text, and `contentSchema` describes the value.",
  query: eventsQuery,
  answers: { 200: { is: "An endless stream of events", content: { "text/event-stream": yardEventSchema } } },
  problems: ["queue_full"],
});

const wireOperation = operation({
  id: "followWire",
  tag: "yard",
  summary: "Messages on the doors, decoded",
  description:
    "Server-sent events `message`, decoded and with the first 4,096 bytes; `skipped` `{messages}` is the number left out " +
    "because there were too many. Messages are decoded only while a listener is connected. The schema is that of one " +
    "event. Its `data` is JSON text, and `contentSchema` describes the value.",
  query: wireQuery,
  answers: { 200: { is: "An endless stream of events", content: { "text/event-stream": wireEventSchema } } },
  problems: ["queue_full"],
});
