// Operations on many tasks: count the tasks that match a filter, cancel or retry them, purge a
// queue. Those that may take longer than a request are actions, which can be viewed and stopped.

import type { ActionRecord, WallTime } from "@yardmaster/core";
import type * as z from "zod";
import type { Login } from "../access/principal.js";
import type { Right } from "../access/rights.js";
import type { Actions } from "../actions/actions.js";
import type { TaskFilter } from "../actions/walks.js";
import { given, type HttpContext, refuseNewTasks, refuseWhenStopping, senderOf } from "./context.js";
import { operation } from "./operation.js";
import {
  actionPath,
  cancelManyQuery,
  countQuery,
  type filterQuery,
  queuePath,
  retryManyQuery,
} from "./parameters.js";
import { Problem } from "./problems.js";
import { noRight } from "./route-rights.js";
import { actionListSchema, actionSchema, taskCountSchema } from "./schemas.js";
import type { HttpServer } from "./server.js";
import { TaskCounter } from "./task-count.js";
import { timeJson } from "./task-json.js";

export function addActionRoutes(app: HttpServer, context: HttpContext, actions: Actions): void {
  const { port, lastingQueues } = context;
  const counter = new TaskCounter(port);
  const onRequest = refuseWhenStopping(context);

  app.get("/v1/tasks::count", countOperation, ({ query: { buckets, ...query } }, reply) =>
    counter.count(filterOf(query), { buckets, isWanted: () => !reply.raw.destroyed }),
  );

  app.post("/v1/tasks::cancel", { onRequest, ...cancelOperation }, async (request, reply) => {
    const { query } = request;
    const action = await actions.begin({
      kind: "cancel",
      by: senderOf(request),
      filter: recorded(filterOf(query)),
    });
    return reply.code(202).header("Location", `/v1/actions/${action.id}`).send(actionJson(action));
  });

  app.post(
    "/v1/tasks::retry",
    { onRequest: refuseNewTasks(context), ...retryOperation },
    async (request, reply) => {
      const { query } = request;
      const action = await actions.begin({
        kind: "retry",
        by: senderOf(request),
        filter: recorded(filterOf(query)),
      });
      return reply.code(202).header("Location", `/v1/actions/${action.id}`).send(actionJson(action));
    },
  );

  app.post("/v1/queues/:queue(.*)::purge", { onRequest, ...purgeOperation }, async (request, reply) => {
    const { queue } = request.params;
    const isThere =
      lastingQueues.has(queue) || (await port.reads.queues()).some(({ name }) => name === queue);
    if (!isThere)
      throw new Problem("not_found", `there is no queue ${queue} now: nothing waits or runs in it`);
    const action = await actions.begin({ kind: "purge", by: senderOf(request), filter: { queue } });
    return reply.code(202).header("Location", `/v1/actions/${action.id}`).send(actionJson(action));
  });

  app.get("/v1/actions", listOperation, ({ login }) => ({
    items: actions
      .list()
      .filter((action) => concerns(login, "read", action))
      .map(actionJson),
  }));

  const readable = (id: string, login: Login): ActionRecord => {
    const action = actions.get(id);
    if (!concerns(login, "read", action)) throw new Problem("not_found", `there is no action ${id}`);
    return action;
  };

  app.get("/v1/actions/:id", getOperation, ({ params, login }) => actionJson(readable(params.id, login)));

  app.post("/v1/actions/:id(.*)::stop", stopOperation, async ({ params, login }) => {
    const action = actions.get(params.id);
    if (!concerns(login, "operate", action)) {
      readable(params.id, login);
      throw noRight(login.principal, "operate", `queues of the action ${params.id}`);
    }
    return actionJson(await actions.stop(params.id));
  });
}

/** True if the right holds for the queue of an action, or for all queues if it is about all. */
function concerns({ principal }: Login, right: Right, { filter }: ActionRecord): boolean {
  return filter.queue === undefined
    ? principal.rights.mayForAll(right)
    : principal.may(right, String(filter.queue));
}

function filterOf({ q, ...query }: z.output<typeof filterQuery>): TaskFilter {
  return given({ ...query, text: q });
}

function recorded(filter: TaskFilter): ActionRecord["filter"] {
  return filter as Readonly<Record<string, string | number>>;
}

function actionJson(action: ActionRecord) {
  const { id, kind, state, by, startedAt, endedAt, matched, done, refused, lastRefusal } = action;
  const { since, until, text, ...filter } = action.filter;
  return {
    id,
    kind,
    state,
    filter: given({ ...filter, since: shownTime(since), until: shownTime(until), q: text }),
    by,
    startedAt: timeJson(startedAt),
    endedAt: endedAt === undefined ? null : timeJson(endedAt),
    matched,
    done,
    refused,
    lastRefusal: lastRefusal ?? null,
  };
}

function shownTime(time: string | number | undefined): string | undefined {
  return time === undefined ? undefined : timeJson(Number(time) as WallTime);
}

const accepted = {
  is: "The action, which has started",
  json: actionSchema,
  headers: { Location: "Where the action is" },
} as const;

const countOperation = operation({
  id: "countTasks",
  tag: "tasks",
  summary: "Count tasks",
  description:
    "With the filter of `listTasks`. At most 10,000 are counted, newest first; `isMore` is true if there are more. The " +
    "limit does not apply to waiting or running tasks if the only condition is a queue and there are no `buckets`. " +
    "With `buckets`, a histogram by queue over the time of submission.",
  query: countQuery,
  answers: { 200: { is: "The count", json: taskCountSchema } },
  problems: ["queue_full"],
});

const cancelOperation = operation({
  id: "cancelTasks",
  tag: "actions",
  summary: "Cancel all tasks that match a filter",
  description:
    "With the filter of `listTasks`; without one, all tasks that wait or run. Tasks submitted after the action began " +
    "are not affected. It runs in steps, survives a crash, and can be stopped.",
  query: cancelManyQuery,
  answers: { 202: accepted },
  problems: ["queue_full", "not_ready"],
});

const retryOperation = operation({
  id: "retryTasks",
  tag: "actions",
  summary: "Retry all tasks that match a filter",
  description:
    "Each task that failed, expired or was cancelled is submitted again once, as by `retryTask`. Otherwise like `cancelTasks`.",
  query: retryManyQuery,
  answers: { 202: accepted },
  problems: ["queue_full", "not_ready"],
});

const purgeOperation = operation({
  id: "purgeQueue",
  tag: "actions",
  summary: "Cancel all tasks that wait in a queue",
  description: "Running tasks and tasks submitted after the action began are not affected.",
  path: queuePath,
  answers: { 202: accepted },
  problems: ["not_found", "queue_full", "not_ready"],
});

const listOperation = operation({
  id: "listActions",
  tag: "actions",
  summary: "Bulk actions, newest first",
  description: "The running ones, and the last hundred that have ended.",
  answers: { 200: { is: "The actions", json: actionListSchema } },
});

const getOperation = operation({
  id: "getAction",
  tag: "actions",
  summary: "Progress of a bulk action",
  path: actionPath,
  answers: { 200: { is: "The action", json: actionSchema } },
  problems: ["not_found"],
});

const stopOperation = operation({
  id: "stopAction",
  tag: "actions",
  summary: "Stop a bulk action after its current step",
  description: "Completed steps are not undone. An action that has ended does not change.",
  path: actionPath,
  answers: { 200: { is: "The action, which has ended", json: actionSchema } },
  problems: ["not_found"],
});
