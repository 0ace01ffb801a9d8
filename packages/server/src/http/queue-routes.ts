// Routes for queues: their state, and operators' orders.

import { defaultQueueSettings, type QueueView } from "@yardmaster/core";
import {
  coreNameOf,
  corePatchOf,
  queueSettingNames,
  queueSettingsPatch,
  shownSettings,
} from "../config/queue-settings.js";
import { queuePatchSchema } from "./body-schemas.js";
import { type HttpContext, senderOf } from "./context.js";
import { hasWords, partQuery } from "./list-part.js";
import { operation } from "./operation.js";
import { orderQuery, queuePath } from "./parameters.js";
import { Problem } from "./problems.js";
import { emptyQueueJson, queueJson } from "./queue-json.js";
import type { HttpServer } from "./server.js";
import { explainIssue } from "./validation.js";
import { queueDetailSchema, queueListSchema, queueSchema } from "./yard-schemas.js";

/** Without a colon: the text after a colon is a verb, which has its own path. */
const onePath = "/v1/queues/:queue([^:/]+)";

export function addQueueRoutes(app: HttpServer, context: HttpContext): void {
  const { port, exchange, lastingQueues } = context;
  app.get("/v1/queues", listOperation, async ({ query: { q, limit }, login: { principal } }) => ({
    items: (await port.reads.queues())
      .filter(({ name }) => hasWords(q, [name]) && principal.may("read", name))
      .slice(0, limit)
      .map(queueJson),
  }));

  for (const order of ["pause", "resume", "drain"] as const) {
    app.post(`/v1/queues/:queue(.*)::${order}`, orderOperation(order), async (asked) => {
      const { params, query, ip } = asked;
      const { queue } = params;
      const by = senderOf(asked);
      const mustExist = !query.create && !lastingQueues.has(queue);
      await exchange
        .ask((request) => ({
          type: "queue-order-given",
          request,
          queue,
          order,
          mustExist,
          host: ip,
          by,
        }))
        .catch(advised);
      const view = await port.reads.queue(queue);
      return view ? queueJson(view) : emptyQueueJson(queue);
    });
  }

  app.get(onePath, showOperation, async ({ params }) => {
    const view = await port.reads.queue(params.queue);
    if (view === undefined) throw new Problem("not_found", `there is no queue ${params.queue}`);
    return detailJson(context, view);
  });

  app.patch(onePath, settingsOperation, async ({ params, query, body }) => {
    const { queue } = params;
    const settings = corePatchOf(patchIn(body));
    const mustExist = !query.create && !lastingQueues.has(queue);
    await exchange
      .ask((request) => ({ type: "queue-settings-given", request, queue, settings, mustExist }))
      .catch(advised);
    const view = await port.reads.queue(queue);
    return view ? detailJson(context, view) : settingsJson(context, emptyQueueJson(queue), nothing);
  });
}

/** A queue that was forgotten when its last setting was reset. */
const nothing = { groups: 0, settings: defaultQueueSettings, overridden: [] };

function patchIn(body: unknown) {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.isBuffer(body) ? body.toString() : "");
  } catch (cause) {
    throw new Problem("bad_request", "the body is not JSON; expected an object of settings", { cause });
  }
  const parsed = queueSettingsPatch.safeParse(value);
  if (parsed.success) return parsed.data;
  const found = { schema: queueSettingsPatch, data: value, what: "property" } as const;
  throw new Problem("bad_request", explainIssue(parsed.error.issues[0], found));
}

function detailJson(context: HttpContext, view: QueueView) {
  return settingsJson(context, queueJson(view), view);
}

function settingsJson(
  { fileSettings }: HttpContext,
  queue: ReturnType<typeof queueJson>,
  view: Pick<QueueView, "groups" | "settings" | "overridden">,
) {
  const values = shownSettings(view.settings);
  const inFile = fileSettings.get(queue.name);
  const settings = queueSettingNames.map((name) => {
    const isGiven = view.overridden.includes(coreNameOf(name));
    const from = isGiven ? "api" : inFile?.has(name) ? "file" : "default";
    return [name, { value: values[name], from }];
  });
  return { ...queue, groups: view.groups, settings: Object.fromEntries(settings) };
}

/**
 * Adds advice: a queue without tasks and workers is forgotten, so the caller may mean one that
 * existed before.
 */
function advised(fault: unknown): never {
  if (!(fault instanceof Problem) || fault.code !== "not_found") throw fault;
  const why = "nothing waits or runs in it, and no worker serves it; if you mean it anyway, add ?create=true";
  throw new Problem("not_found", `${fault.message.replace(/\.$/, "")}: ${why}`, { cause: fault });
}

const showOperation = operation({
  id: "showQueue",
  tag: "queues",
  summary: "Show a queue, with the settings in force and the origin of each",
  description:
    "`api`: given by `PATCH`. `file`: from the configuration file. `default`: neither. A queue without tasks, workers " +
    "and settings is forgotten; then the answer is `not_found`.",
  path: queuePath,
  answers: { 200: { is: "The queue", json: queueDetailSchema } },
  problems: ["not_found"],
});

const settingsOperation = operation({
  id: "setQueue",
  tag: "queues",
  summary: "Change settings of a queue",
  description:
    "The settings in the body override the configuration file from now on, also after a restart. `null` resets one. " +
    "`attempts`, `failures` and `attemptTimeoutSeconds` apply to tasks submitted from now on, the others at once.",
  path: queuePath,
  query: orderQuery,
  body: { is: "The settings to change", isRequired: true, content: { "application/json": queuePatchSchema } },
  answers: { 200: { is: "The queue", json: queueDetailSchema } },
  problems: ["not_found", "queue_full"],
});

const listOperation = operation({
  id: "listQueues",
  tag: "queues",
  summary: "List queues with their state",
  query: partQuery,
  answers: { 200: { is: "The queues, by name", json: queueListSchema } },
});

const orders = {
  pause: ["pauseQueue", "Assign no tasks of this queue; new ones are still accepted"],
  resume: ["resumeQueue", "End a pause or a drain"],
  drain: ["drainQueue", "Accept no new tasks; those in the queue still run"],
} as const;

function orderOperation(order: keyof typeof orders) {
  const [id, summary] = orders[order];
  return operation({
    id,
    tag: "queues",
    summary,
    description:
      "A queue that does not exist is `not_found`, unless `create=true`. Queues with settings in the configuration, and " +
      "those of doors, always exist.",
    path: queuePath,
    query: orderQuery,
    answers: { 200: { is: "The queue", json: queueSchema } },
    problems: ["not_found", "queue_full"],
  });
}
