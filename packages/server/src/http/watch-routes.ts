// Routes for the dashboard and `top` about the yard as a whole: problems, figures, history,
// failures, traffic.

import type { Instant, Moment } from "@yardmaster/core";
import type { Faults } from "../door-kit/faults.js";
import type { Tap } from "../door-kit/tap.js";
import type { RecentFault } from "../watching/alerts.js";
import type { Lookout } from "../watching/lookout.js";
import type { HttpContext } from "./context.js";
import { operation } from "./operation.js";
import { failuresQuery, historyQuery } from "./parameters.js";
import type { HttpServer } from "./server.js";
import { timeJson } from "./task-json.js";
import { alertJson, failuresJson, figuresJson, historyJson } from "./watch-json.js";
import {
  alertListSchema,
  failureListSchema,
  figuresSchema,
  historySchema,
  trafficSchema,
} from "./yard-schemas.js";

export interface WatchRoutesOptions {
  readonly lookout: Lookout;
  readonly tap: Tap;
  /** The faults of each door, by its name. */
  readonly faults: () => Iterable<readonly [door: string, faults: Faults]>;
}

export function addWatchRoutes(app: HttpServer, { port }: HttpContext, options: WatchRoutesOptions): void {
  const { lookout, tap, faults } = options;
  const at = () => timeJson(port.now().wall);

  app.get("/v1/alerts", alertsOperation, async ({ login: { principal } }) => {
    const { items, more } = await lookout.alerts();
    if (principal.rights.mayForAll("read")) return { at: at(), items: items.map(alertJson), more };
    const shown = items.filter(
      ({ subject: { queue } }) => queue !== undefined && principal.may("read", queue),
    );
    return { at: at(), items: shown.map(alertJson), more: 0 };
  });

  app.get("/v1/figures", figuresOperation, async () => figuresJson(await lookout.figures()));

  app.get(
    "/v1/history",
    historyOperation,
    async ({ query: { span, queue, since }, login: { principal } }) => {
      await port.reads.whenSafe();
      const view = lookout.history.view(span, port.now(), queue, since);
      const startedAt = timeJson(port.reads.health().startedAt as never);
      // The number of all queues is for those who may see them.
      const tracked = principal.rights.mayForAll("read") ? lookout.history.tracked : view.series.length;
      return { ...historyJson(view), startedAt, tracked };
    },
  );

  app.get("/v1/failures", failuresOperation, async ({ query: { span, queue } }) => {
    await port.reads.whenSafe();
    return { at: at(), ...failuresJson(lookout.failures.list(span, port.now(), queue), span) };
  });

  app.get("/v1/traffic", trafficOperation, () => ({
    at: at(),
    items: [...tap.traffic()].map(({ door, direction, type, messages, bytes }) => ({
      door,
      direction,
      type,
      messages,
      bytes,
    })),
    faults: [...faultCounts(faults(), port.now())],
  }));
}

/** Mistakes of the peers of all doors in the last ten minutes. */
export function* recentFaults(
  all: Iterable<readonly [door: string, faults: Faults]>,
  now: Instant,
): Generator<RecentFault> {
  for (const [door, faults] of all) for (const fault of faults.recent(now)) yield { door, ...fault };
}

function* faultCounts(all: Iterable<readonly [door: string, faults: Faults]>, now: Moment) {
  for (const [door, faults] of all) {
    for (const [kind, count] of faults.entries())
      yield { door, kind, count, lastHour: Math.round(faults.lastHour(kind, now.instant)) };
  }
}

const alertsOperation = operation({
  id: "listAlerts",
  tag: "yard",
  summary: "Current problems, and what to do about them",
  description: "Worst first, then longest-lasting first. The dashboard and `top` show the same texts.",
  answers: { 200: { is: "The current problems", json: alertListSchema } },
});

const figuresOperation = operation({
  id: "getFigures",
  tag: "yard",
  summary: "Key figures of the yard",
  answers: {
    200: { is: "Counts, rates of the last 10 s, and the oldest waiting task", json: figuresSchema },
  },
});

const historyOperation = operation({
  id: "getHistory",
  tag: "yard",
  summary: "Recent throughput of queues",
  description:
    "Steps of 1 s, 10 s and 2 min. `waiting`, `running` and `oldestMs` are values at the end of a step, the others are " +
    "counts within it, and null means unknown. Without `queue`: all queues together. Kept in memory for the 200 busiest queues.",
  query: historyQuery,
  answers: { 200: { is: "A series for each queue", json: historySchema } },
});

const failuresOperation = operation({
  id: "listFailures",
  tag: "yard",
  summary: "Failed and expired tasks by kind",
  description:
    "A kind is a code, a queue, and a message without numbers, quoted text, paths and ids. `shares` shows how its tasks " +
    "differ most from done tasks of the queue. Counted since the process started, regardless of retention.",
  query: failuresQuery,
  answers: { 200: { is: "The kinds, the most frequent first", json: failureListSchema } },
});

const trafficOperation = operation({
  id: "getTraffic",
  tag: "yard",
  summary: "Messages on the doors, counted",
  answers: { 200: { is: "Counts since the process started", json: trafficSchema } },
});
