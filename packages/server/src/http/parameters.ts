// The parameters of the API's URLs: what each may be, and what it becomes. A value is taken whole or refused with the
// parameter's name and what was expected; nothing is coerced.

import { queueNamePattern, type TaskId, type WallTime } from "@yardmaster/core";
import * as z from "zod";
import { taskStates } from "./schemas.js";

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
/** Ten years: more than anybody waits, and milliseconds of it are exact. */
const durationMsMax = 10 * 365 * 24 * 3_600_000;

/** `500ms`, `30s`, `5m`, `1h`. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,15})(ms|s|m|h)$/.exec(text);
  const ms = Number(match?.[1]) * (unitMs[match?.[2] ?? ""] ?? Number.NaN);
  return ms <= durationMsMax ? ms : undefined;
}

function duration(options: { fromMs?: number; toMs?: number } = {}) {
  const { fromMs = 0, toMs = durationMsMax } = options;
  const range = `${fromMs > 0 ? `, at least ${fromMs}ms` : ""}${toMs < durationMsMax ? `, at most ${toMs / 1000}s` : ""}`;
  const expected = `a duration such as 500ms, 30s, 5m or 1h${range}`;
  return text(expected)
    .meta({ description: expected, pattern: "^\\d{1,15}(ms|s|m|h)$" })
    .transform((written, context) => {
      const ms = parseDuration(written);
      if (ms !== undefined && ms >= fromMs && ms <= toMs) return ms;
      context.addIssue({ code: "custom", message: expected, input: written });
      return z.NEVER;
    });
}

function integer({ from, to }: { from: number; to: number }) {
  const expected = `a whole number from ${from} to ${to}`;
  return text(expected)
    .regex(/^-?\d{1,16}$/, { error: expected })
    .meta({ description: expected })
    .transform(Number)
    .refine((value) => value >= from && value <= to, { error: expected });
}

/** One value: the same parameter twice is a list, and no parameter is one. */
function text(expected: string) {
  return z.string({ error: `${expected}, once` });
}

function printable({ to }: { to: number }) {
  const error = `1 to ${to} printable characters`;
  return text(error)
    .regex(/^[^\p{C}\p{Zl}\p{Zp}]+$/u, { error })
    .max(to, { error });
}

function time() {
  const error = "a time such as 2024-05-01T12:00:00Z";
  return z.iso
    .datetime({ offset: true, error })
    .transform((written) => Date.parse(written) as WallTime)
    .refine((value) => !Number.isNaN(value), { error });
}

function queueName() {
  const error = "a queue's name: 1 to 128 of A-Z a-z 0-9 . _ -, the first a letter or digit";
  return text(error).regex(queueNamePattern, { error });
}

/** A long poll ends some time, so that what is between the two ends does not take it for dead. */
const waitMsMax = 3_600_000;
const int32 = 2 ** 31;

const priorityRange = { from: -int32, to: int32 - 1 };
const triesRange = { from: 1, to: 1_000_000 };

// What may be said of a task beside its payload, the same in a URL and in a line of a batch.
const delay = duration().optional();
const timeout = duration({ fromMs: 1 }).optional();
const expires = duration({ fromMs: 1 }).optional();
const key = printable({ to: 512 }).optional();

export const submitQuery = z.strictObject({
  priority: integer(priorityRange).optional(),
  delay,
  timeout,
  expires,
  wait: duration({ toMs: waitMsMax }).optional(),
  attempts: integer(triesRange).optional(),
  failures: integer(triesRange).optional(),
  key,
});

const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

export function base64() {
  const error = "base64";
  return z.string({ error }).refine((written) => base64Pattern.test(written), { error });
}

export function mediaType() {
  const error = "a media type of at most 255 characters";
  return z.string({ error }).regex(/^[\x21-\x7e][\x20-\x7e]{0,254}$/, { error });
}

/** A line of a batch. */
export const submitItem = z.strictObject(
  {
    payload: z.unknown().optional(),
    payloadBase64: base64().optional(),
    contentType: mediaType().optional(),
    priority: wholeNumber(priorityRange).optional(),
    delay,
    timeout,
    expires,
    attempts: wholeNumber(triesRange).optional(),
    failures: wholeNumber(triesRange).optional(),
    key,
  },
  { error: (issue) => (issue.code === "unrecognized_keys" ? undefined : "a JSON object") },
);

export type Wishes = Omit<z.output<typeof submitQuery>, "wait">;

function wholeNumber({ from, to }: { from: number; to: number }) {
  const error = `a whole number from ${from} to ${to}`;
  return z.number({ error }).int({ error }).gte(from, { error }).lte(to, { error });
}

/** Without a key each call makes another task. */
export const retryQuery = z.strictObject({ key });

export const wireQuery = z.strictObject({ door: printable({ to: 128 }).optional() });

export const listQuery = z.strictObject({
  queue: queueName().optional(),
  state: z.enum(taskStates, { error: `one of ${taskStates.join(", ")}` }).optional(),
  door: printable({ to: 128 }).optional(),
  worker: printable({ to: 512 }).optional(),
  since: time().optional(),
  until: time().optional(),
  q: printable({ to: 256 }).optional(),
  limit: integer({ from: 1, to: 1000 }).prefault("100"),
  cursor: printable({ to: 1024 }).optional(),
});

/** A lease much shorter than a round trip would be over before its first beat. */
const lease = { fromMs: 100, toMs: 24 * 3_600_000 };

export const claimQuery = z.strictObject({
  worker: printable({ to: 128 }),
  max: integer({ from: 1, to: 1000 }).prefault("1"),
  wait: duration({ toMs: waitMsMax }).prefault("0s"),
  lease: duration(lease).prefault("30s"),
});

/** `true` where the caller means a queue that is not there yet. */
export const orderQuery = z.strictObject({
  create: z
    .enum(["true", "false"], { error: "true or false" })
    .prefault("false")
    .transform((written) => written === "true"),
});

export const beatQuery = z.strictObject({ lease: duration(lease).optional() });

export const queuePath = z.object({ queue: queueName() });
export const taskPath = z.object({ id: taskId() });
export const attemptPath = z.object({ id: taskId(), n: wholeId("an attempt's number") });
export const workerPath = z.object({ id: z.string().min(1).max(1024) });

function taskId() {
  return wholeId("a task's id").transform((id) => id as TaskId);
}

function wholeId(expected: string) {
  return z
    .string()
    .regex(/^[1-9]\d{0,15}$/, { error: expected })
    .transform(Number)
    .refine(Number.isSafeInteger, { error: expected });
}
