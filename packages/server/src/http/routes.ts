// All routes of the http door, in the order in which the API's description lists them.

import type { Actions } from "../actions/actions.js";
import type { Faults } from "../door-kit/faults.js";
import type { Tap } from "../door-kit/tap.js";
import type { Lookout } from "../watching/lookout.js";
import { addActionRoutes } from "./action-routes.js";
import { addAttemptRoutes } from "./attempt-routes.js";
import type { HttpContext } from "./context.js";
import type { EventFeed } from "./event-feed.js";
import { addEventRoutes } from "./event-routes.js";
import { addGraphRoutes } from "./graph-routes.js";
import { addMeRoute } from "./me-route.js";
import { addNodeRoutes } from "./node-routes.js";
import { ApiDescription } from "./openapi.js";
import { addPageRoute } from "./page-route.js";
import { addQueueRoutes } from "./queue-routes.js";
import { addRetryRoutes } from "./retry-routes.js";
import { addScheduleRoutes } from "./schedule-routes.js";
import type { HttpServer } from "./server.js";
import { addStreamRoutes } from "./stream-routes.js";
import { addSubmitRoutes } from "./submit-routes.js";
import { addTaskRoutes } from "./task-routes.js";
import { addWatchRoutes } from "./watch-routes.js";
import type { WireFeed } from "./wire-feed.js";
import { addWorkerRoutes } from "./worker-routes.js";
import { addYardRoutes, type YardFacts } from "./yard-routes.js";

/** What single routes need besides the context of all. */
export interface RouteParts {
  readonly facts: YardFacts;
  /** True if requests need a credential. */
  readonly hasAccess: boolean;
  readonly actions: Actions;
  readonly lookout: Lookout;
  readonly events: EventFeed;
  readonly wire: WireFeed;
  readonly tap: Tap;
  /** The faults of each door. */
  readonly faults: () => Iterable<readonly [string, Faults]>;
}

export function addRoutes(app: HttpServer, context: HttpContext, parts: RouteParts): void {
  const { facts, hasAccess, actions, lookout, events, wire, tap, faults } = parts;
  const api = new ApiDescription();
  api.watch(app);
  addYardRoutes(app, { facts, api, apiFacts: { version: facts.version, hasAccess } });
  addMeRoute(app);
  addNodeRoutes(app, facts.cluster);
  addSubmitRoutes(app, context);
  addGraphRoutes(app, context);
  addRetryRoutes(app, context);
  addTaskRoutes(app, context);
  addQueueRoutes(app, context);
  addActionRoutes(app, context, actions);
  addScheduleRoutes(app, context);
  addWorkerRoutes(app, context, lookout);
  addWatchRoutes(app, context, { lookout, tap, faults });
  addAttemptRoutes(app, context);
  addStreamRoutes(app, context);
  addEventRoutes(app, events, wire);
  addPageRoute(app);
}
