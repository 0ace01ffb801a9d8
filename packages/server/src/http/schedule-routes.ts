// Schedules over http: tasks that are submitted at set times.

import { nextTime, type ScheduleView, type WallTime } from "@yardmaster/core";
import { isNestedDeeper } from "@yardmaster/dialects";
import * as z from "zod";
import { nextCron } from "../schedules/cron.js";
import { scheduleForm, scheduleJson, scheduleName, settingsOf } from "../schedules/form.js";
import { nestingMax } from "./batch.js";
import { scheduleFormSchema } from "./body-schemas.js";
import { asBuffer, type HttpContext } from "./context.js";
import { operation } from "./operation.js";
import { Problem } from "./problems.js";
import { noRight, queueFault } from "./route-rights.js";
import { acceptedRunSchema, scheduleListSchema, scheduleSchema } from "./schemas.js";
import type { HttpServer } from "./server.js";
import { explainIssue } from "./validation.js";

/** Number of future times that a schedule shows when it is asked for alone. */
const timesShown = 10;

/** Room for the largest payload, also if each of its 65,536 bytes is written as `\u0001`. */
const formBytesMax = 7 * 65_536;

const schedulePath = z.object({ name: scheduleName() });

export function addScheduleRoutes(app: HttpServer, context: HttpContext): void {
  const { port, exchange } = context;

  app.get("/v1/schedules", listOperation, async ({ login: { principal } }) => ({
    items: (await port.reads.schedules())
      .filter(({ settings }) => principal.may("read", settings.queue))
      .map((view) => shown(view, 1)),
  }));

  app.get("/v1/schedules/:name", getOperation, async ({ params }) => shown(await find(context, params.name)));

  const bodyLimit = formBytesMax;
  app.put(
    "/v1/schedules/:name",
    { bodyLimit, ...putOperation },
    async ({ params, body, login: { principal } }) => {
      const { name } = params;
      const settings = settingsOf(readForm(body));
      const replaced = (await port.reads.schedules()).find((each) => each.name === name);
      const fault = queueFault(principal, "operate", settings.queue);
      if (fault !== undefined) throw fault;
      // Its queue may be hidden, so it is not named.
      if (replaced !== undefined && !principal.may("operate", replaced.settings.queue))
        throw noRight(principal, "operate", `the schedule ${name}, which exists`);
      await exchange.ask((request) => ({ type: "schedule-put", request, name, settings }));
      return shown(await find(context, name));
    },
  );

  app.delete("/v1/schedules/:name", deleteOperation, async ({ params: { name } }, reply) => {
    await exchange.ask((request) => ({ type: "schedule-dropped", request, name }));
    return reply.code(204).send();
  });

  for (const order of ["pause", "resume"] as const) {
    app.post(`/v1/schedules/:name(.*)::${order}`, orderOperation(order), async ({ params: { name } }) => {
      await exchange.ask((request) => ({ type: "schedule-ordered", request, name, order }));
      return shown(await find(context, name));
    });
  }

  app.post("/v1/schedules/:name(.*)::run-now", runOperation, async ({ params: { name } }, reply) => {
    const made = await exchange.ask((request) => ({
      type: "schedule-ordered",
      request,
      name,
      order: "run-now",
    }));
    const task = made.type === "granted" ? String(made.task) : "";
    return reply.code(201).header("Location", `/v1/tasks/${task}`).send({ task });
  });
}

async function find({ port }: HttpContext, name: string): Promise<ScheduleView> {
  const schedule = (await port.reads.schedules()).find((each) => each.name === name);
  if (schedule === undefined) throw new Problem("not_found", `there is no schedule ${name}`);
  return schedule;
}

function readForm(body: unknown) {
  const data = parsed(body);
  const form = scheduleForm.safeParse(data);
  if (form.success) return form.data;
  const issue = form.error.issues[0];
  throw new Problem("bad_request", explainIssue(issue, { schema: scheduleForm, data, what: "property" }));
}

function parsed(body: unknown): unknown {
  const bytes = asBuffer(body as Uint8Array | undefined);
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch (cause) {
    throw new Problem("bad_request", `the body is not JSON: ${(cause as Error).message.slice(0, 200)}`, {
      cause,
    });
  }
  if (isNestedDeeper(value, nestingMax))
    throw new Problem("bad_request", `nested deeper than ${nestingMax} levels`);
  return value;
}

/** In a list only the next time, which is known: evaluating cron expressions takes long. */
function shown(view: ScheduleView, timesMax = timesShown) {
  const times: WallTime[] = [];
  let next = view.nextAt;
  while (next !== undefined && times.length < timesMax) {
    times.push(next);
    if (times.length < timesMax) next = nextTime(view.settings, view.createdAt, next, nextCron);
  }
  return scheduleJson(view, times);
}

const listOperation = operation({
  id: "listSchedules",
  tag: "schedules",
  summary: "All schedules",
  answers: { 200: { is: "The schedules, each with its next time", json: scheduleListSchema } },
});

const getOperation = operation({
  id: "getSchedule",
  tag: "schedules",
  summary: "One schedule with its next ten times",
  path: schedulePath,
  answers: { 200: { is: "The schedule", json: scheduleSchema } },
  problems: ["not_found"],
});

const putOperation = operation({
  id: "putSchedule",
  tag: "schedules",
  summary: "Create or replace a schedule",
  description:
    "Either `cron` with an IANA `timezone`, or `every`. A run submits a task with the key `schedule:NAME:TIME`, so no " +
    "time runs twice, even after a crash. A paused schedule stays paused when it is replaced.",
  path: schedulePath,
  body: {
    is: "The schedule",
    isRequired: true,
    content: { "application/json": scheduleFormSchema },
  },
  answers: { 200: { is: "The schedule", json: scheduleSchema } },
  problems: ["read_only", "payload_too_large", "queue_full"],
});

const deleteOperation = operation({
  id: "deleteSchedule",
  tag: "schedules",
  summary: "Delete a schedule; its tasks stay",
  path: schedulePath,
  answers: { 204: { is: "The schedule is deleted" } },
  problems: ["not_found", "read_only"],
});

const orders = {
  pause: ["pauseSchedule", "Pause a schedule"],
  resume: ["resumeSchedule", "Resume a schedule with its next time"],
} as const;

function orderOperation(order: keyof typeof orders) {
  const [id, summary] = orders[order];
  return operation({
    id,
    tag: "schedules",
    summary,
    path: schedulePath,
    answers: { 200: { is: "The schedule", json: scheduleSchema } },
    problems: ["not_found"],
  });
}

const runOperation = operation({
  id: "runScheduleNow",
  tag: "schedules",
  summary: "Submit one task of the schedule now; its times do not change",
  path: schedulePath,
  answers: {
    201: { is: "The task", json: acceptedRunSchema, headers: { Location: "Where the task is" } },
  },
  problems: ["not_found", "queue_full", "not_ready"],
});
