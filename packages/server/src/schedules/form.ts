// The written form of a schedule, shared by http and the configuration file, and its conversion for
// the core.

import { type Body, queueNamePattern, type ScheduleSettings, type ScheduleView } from "@yardmaster/core";
import * as z from "zod";
import { bytesOf } from "../http/batch.js";
import {
  base64,
  duration,
  groupName,
  mediaType,
  priorityRange,
  queueName,
  time,
  triesRange,
  wholeNumber,
} from "../http/parameters.js";
import { timeJson } from "../http/task-json.js";
import { cronFault } from "./cron.js";

function oneOf<const Words extends readonly [string, ...string[]]>(...words: Words) {
  return z.enum(words, { error: `one of ${words.join(", ")}` });
}

const defaultTimezone = "UTC";
const cronText = "a cron expression: five fields, or six with seconds first";

export function scheduleName() {
  const error = "a schedule's name: 1 to 128 of A-Z a-z 0-9 . _ -, the first a letter or digit";
  return z.string({ error }).regex(queueNamePattern, { error });
}

/** Any other property is refused. */
export const scheduleForm = z
  .strictObject(
    {
      queue: queueName(),
      payload: z.unknown().optional(),
      payloadBase64: base64().optional(),
      contentType: mediaType().optional(),
      priority: wholeNumber(priorityRange).optional(),
      group: groupName().optional(),
      attempts: wholeNumber(triesRange).optional(),
      failures: wholeNumber(triesRange).optional(),
      timeout: duration({ fromMs: 1 }).optional(),
      expires: duration({ fromMs: 1 }).optional(),
      cron: z
        .string({ error: cronText })
        .min(1, { error: cronText })
        .max(256, { error: cronText })
        .optional(),
      timezone: z.string({ error: "an IANA time zone" }).max(64, { error: "an IANA time zone" }).optional(),
      every: duration({ fromMs: 1_000 }).optional(),
      overlap: oneOf("skip", "queue").prefault("skip"),
      catchUp: oneOf("none", "one").prefault("one"),
      start: time().optional(),
      end: time().optional(),
      jitter: duration().optional(),
    },
    { error: (issue) => (issue.code === "unrecognized_keys" ? undefined : "a JSON object") },
  )
  .check((context) => {
    const fault = faultOf(context.value);
    if (fault === undefined) return;
    const { name, expected } = fault;
    context.issues.push({ code: "custom", path: [name], message: expected, input: context.value });
  });

export type ScheduleForm = z.output<typeof scheduleForm>;

function faultOf(form: {
  cron?: string | undefined;
  timezone?: string | undefined;
  every?: number | undefined;
  payload?: unknown;
  payloadBase64?: string | undefined;
}): { name: string; expected: string } | undefined {
  if ((form.cron === undefined) === (form.every === undefined))
    return { name: "cron", expected: "either cron or every" };
  if (form.payload !== undefined && form.payloadBase64 !== undefined)
    return { name: "payload", expected: "payload or payloadBase64, not both" };
  if (form.cron !== undefined) return cronFault(form.cron, form.timezone ?? defaultTimezone);
  return form.timezone === undefined ? undefined : { name: "timezone", expected: "no timezone without cron" };
}

export function settingsOf(form: ScheduleForm): ScheduleSettings {
  const { queue, cron, timezone = defaultTimezone, every, overlap, catchUp, start, end, jitter = 0 } = form;
  const { priority, group, attempts, failures, timeout, expires } = form;
  const payload: Body = bytesOf(form.payload, form.payloadBase64, form.contentType);
  return {
    queue,
    payload,
    timing: cron === undefined ? { everyMs: every as number } : { cron, timezone },
    overlap,
    catchUp,
    jitterMs: jitter,
    ...(priority === undefined ? {} : { priority }),
    ...(group === undefined ? {} : { group }),
    ...(attempts === undefined ? {} : { attempts }),
    ...(failures === undefined ? {} : { failures }),
    ...(timeout === undefined ? {} : { attemptTimeoutMs: timeout }),
    ...(expires === undefined ? {} : { expiresMs: expires }),
    ...(start === undefined ? {} : { startAt: start }),
    ...(end === undefined ? {} : { endAt: end }),
  };
}

export function scheduleJson(view: ScheduleView, nextTimes: readonly number[]) {
  const { name, settings, origin, paused, lastRunAt, lastTask, lastSkippedAt, trouble } = view;
  const { timing, payload } = settings;
  return {
    name,
    queue: settings.queue,
    cron: "cron" in timing ? timing.cron : null,
    timezone: "cron" in timing ? timing.timezone : null,
    everyMs: "cron" in timing ? null : timing.everyMs,
    overlap: settings.overlap,
    catchUp: settings.catchUp,
    start: timeOrNull(settings.startAt),
    end: timeOrNull(settings.endAt),
    jitterMs: settings.jitterMs,
    priority: settings.priority ?? 0,
    group: settings.group ?? null,
    attempts: settings.attempts ?? null,
    failures: settings.failures ?? null,
    timeoutMs: settings.attemptTimeoutMs ?? null,
    expiresMs: settings.expiresMs ?? null,
    contentType: payload.mediaType,
    payloadBytes: payload.size,
    origin,
    paused,
    nextTimes: nextTimes.map((each) => timeJson(each as never)),
    lastRunAt: timeOrNull(lastRunAt),
    lastTask: lastTask === undefined ? null : String(lastTask),
    lastSkippedAt: timeOrNull(lastSkippedAt),
    trouble: trouble ?? null,
  };
}

function timeOrNull(time: number | undefined): string | null {
  return time === undefined ? null : timeJson(time as never);
}
