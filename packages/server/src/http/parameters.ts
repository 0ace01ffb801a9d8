// The parameters of the API's URLs, with their validation and conversion. A value is accepted
// unchanged, or refused with the parameter's name and what was expected. Nothing is coerced.

import { defaultLimits, queueNamePattern, type TaskId, type WallTime } from "@yardmaster/core";
import * as z from "zod";
import { retryStates } from "../actions/walks.js";
import { eventTypes } from "./event-filter.js";
import { wholeNumberPattern } from "./number-pattern.js";
import { taskStates } from "./schemas.js";

const unitMs: ReadonlyMap<string, number> = new Map(
  Object.entries({ ms: 1, s: 1000, m: 60_000, h: 3_600_000 }),
);
/** Ten years: longer than any practical wait, and its milliseconds are exact. */
const durationMsMax = 10 * 365 * 24 * 3_600_000;

/** `500ms`, `30s`, `5m`, `1h`. */
export function parseDuration(text: string): number | undefined {
  const match = /^0*(\d{1,15})(ms|s|m|h)$/.exec(text);
  const ms = Number(match?.[1]) * (unitMs.get(match?.[2] ?? "") ?? Number.NaN);
  return ms <= durationMsMax ? ms : undefined;
}

export function duration(options: { fromMs?: number; toMs?: number } = {}) {
  const { fromMs = 0, toMs = durationMsMax } = options;
  const least = fromMs > 0 ? `, at least ${fromMs}ms` : "";
  const expected = `a duration such as 500ms, 30s, 5m or 1h${least}, at most ${toMs / 3_600_000}h`;
  return text(expected)
    .meta({ description: expected, pattern: durationPattern(fromMs, toMs) })
    .transform((written, context) => {
      const ms = parseDuration(written);
      if (ms !== undefined && ms >= fromMs && ms <= toMs) return ms;
      context.addIssue({ code: "custom", message: expected, input: written });
      return z.NEVER;
    });
}

function durationPattern(fromMs: number, toMs: number): string {
  const units = [...unitMs].flatMap(([unit, ms]) => {
    const [from, to] = [Math.ceil(fromMs / ms), Math.floor(toMs / ms)];
    return from > to ? [] : [`(${wholeNumberPattern(from, to)})${unit}`];
  });
  return `^0*(${units.join("|")})$`;
}

export function integer({ from, to }: { from: number; to: number }) {
  const expected = `a whole number from ${from} to ${to}`;
  return text(expected)
    .regex(/^-?\d{1,16}$/, { error: expected })
    .meta({
      description: expected,
      shownAs: { type: "integer", format: "int32", minimum: from, maximum: to },
    })
    .transform(Number)
    .refine((value) => value >= from && value <= to, { error: expected });
}

/** One value: a repeated parameter is a list, and no parameter takes a list. */
function text(expected: string) {
  return z.string({ error: ({ input }) => (Array.isArray(input) ? `${expected}, once` : expected) });
}

/**
 * Excludes control characters, line separators, and invisible characters that reorder text. The
 * ranges are written out because readers of the OpenAPI document do not know \p{...} classes.
 */
const printablePattern =
  "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ue000-\\uf8ff\\ufeff\\ufff0-\\uffff]+$";
const printableText = new RegExp(printablePattern, "u");
/** A lone surrogate: half of a character, which no URL and no UTF-8 text can carry. */
const halfOfPair = /[\ud800-\udfff]/u;

export function printable({ to, error = `1 to ${to} printable characters` }: { to: number; error?: string }) {
  // The length first: over very long text the pattern would overflow the stack.
  return characters({ to, error })
    .refine((written) => printableText.test(written) && !halfOfPair.test(written), { error })
    .meta({ pattern: printablePattern, minLength: 1, maxLength: to });
}

/** Limits the length in characters, as JSON Schema counts it. JavaScript counts an emoji twice. */
function characters({ to, error }: { to: number; error: string }) {
  return text(error)
    .refine((written) => written.length <= 2 * to && [...written].length <= to, { error, abort: true })
    .meta({ minLength: 1, maxLength: to });
}

export function time() {
  const error = "a time such as 2024-05-01T12:00:00Z";
  return z.iso
    .datetime({ offset: true, error })
    .transform((written) => Date.parse(written) as WallTime)
    .refine((value) => !Number.isNaN(value), { error });
}

export function queueName() {
  const error = "a queue's name: 1 to 128 of A-Z a-z 0-9 . _ -, the first a letter or digit";
  return text(error).regex(queueNamePattern, { error });
}

/** A long poll must end some time, so that proxies in between do not take it for dead. */
const waitMsMax = 3_600_000;
/** Ids of tasks and numbers of attempts. */
export const taskIdPattern = /^[1-9]\d{0,15}$/;
const int32 = 2 ** 31;

export const priorityRange = { from: -int32, to: int32 - 1 };
export const triesRange = { from: 1, to: 1_000_000 };

// Options of a task besides its payload, the same in a URL and in a line of a batch.
const delay = duration().optional();
const timeout = duration({ fromMs: 1 }).optional();
const expires = duration({ fromMs: 1 }).optional();
const key = printable({ to: 512 }).optional();
export const groupName = () => printable({ to: defaultLimits.groupLength });
const group = groupName().optional();

/** The core's limit per task. */
const dependenciesMax = defaultLimits.dependencies;
/** Ids of 16 digits and commas; a longer text is not parsed. */
const afterLengthMax = dependenciesMax * 17;
const afterExpected = `at most ${dependenciesMax} ids of tasks`;
const ifFailed = z.enum(["cancel", "run"], { error: "cancel or run" }).optional();

/** `17,18` in a URL. */
function idList() {
  const expected = `${afterExpected}, separated by commas`;
  return text(expected)
    .max(afterLengthMax, { error: expected, abort: true })
    .regex(/^[1-9]\d{0,15}(,[1-9]\d{0,15})*$/, { error: expected, abort: true })
    .meta({ description: expected })
    .transform((written) => distinctIds(written.split(",")))
    .refine(isWithinLimits, { error: expected });
}

function distinctIds(written: readonly string[]): readonly TaskId[] {
  return [...new Set(written.map((id) => Number(id) as TaskId))];
}

function isWithinLimits(ids: readonly TaskId[]): boolean {
  return ids.length <= dependenciesMax && ids.every(Number.isSafeInteger);
}
/** `minimal`: only the ids, for programs. */
const view = z.enum(["full", "minimal"], { error: "full or minimal" }).optional();

export const viewQuery = z.strictObject({ view });

export const submitQuery = z.strictObject({
  priority: integer(priorityRange).optional(),
  delay,
  timeout,
  expires,
  wait: duration({ toMs: waitMsMax }).optional(),
  attempts: integer(triesRange).optional(),
  failures: integer(triesRange).optional(),
  key,
  group,
  after: idList().optional(),
  ifFailed,
  view,
});

export function base64() {
  const error = "base64";
  return z
    .string({ error })
    .refine(isBase64, { error })
    .meta({ contentEncoding: "base64", pattern: base64Pattern });
}

/** For the description only: matching a long text would need a stack as deep as it is long. */
const base64Pattern = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}(==)?|[A-Za-z0-9+/]{3}=?)?$";

/** A payload or a result in an item of a batch. */
export function anyText() {
  return z.unknown().meta({ description: "Text as it is, or any other JSON value as JSON." }).optional();
}

/** With or without padding. */
function isBase64(written: string): boolean {
  const padding = written.endsWith("==") ? 2 : written.endsWith("=") ? 1 : 0;
  const digits = written.length - padding;
  const isWhole = padding === 0 ? digits % 4 !== 1 : digits % 4 === 4 - padding;
  return isWhole && !/[^A-Za-z0-9+/]/.test(written.slice(0, digits));
}

export function mediaType() {
  const error = "a media type of at most 255 characters";
  return z.string({ error }).regex(/^[\x21-\x7e][\x20-\x7e]{0,254}$/, { error });
}

const itemAfter = z
  .array(z.string({ error: afterExpected }).regex(/^[1-9]\d{0,15}$/, { error: afterExpected }), {
    error: afterExpected,
  })
  .max(dependenciesMax, { error: afterExpected })
  .transform(distinctIds)
  .refine(isWithinLimits, { error: afterExpected });

/** A line of a batch. */
export const submitItem = z.strictObject(
  {
    payload: anyText(),
    payloadBase64: base64().optional(),
    contentType: mediaType().optional(),
    priority: wholeNumber(priorityRange).optional(),
    delay,
    timeout,
    expires,
    attempts: wholeNumber(triesRange).optional(),
    failures: wholeNumber(triesRange).optional(),
    key,
    group,
    after: itemAfter.meta({ description: "Ids of the tasks that must end before it may start." }).optional(),
    ifFailed,
  },
  { error: (issue) => (issue.code === "unrecognized_keys" ? undefined : "a JSON object") },
);

const nameExpected = "1 to 256 printable characters, unlike every other name of the graph";

/** A task of a graph. It refers to its dependencies by name or by id. */
export const graphItem = z.strictObject(
  {
    ...submitItem.shape,
    name: printable({ to: 256, error: nameExpected }),
    queue: queueName(),
    after: z
      .array(z.string({ error: "names or ids of tasks" }), { error: "names or ids of tasks" })
      .max(dependenciesMax, { error: `at most ${dependenciesMax} names or ids of tasks` })
      .meta({ description: "Names of this graph, or ids, of the tasks that must end before." })
      .optional(),
  },
  { error: (issue) => (issue.code === "unrecognized_keys" ? undefined : "a JSON object") },
);

export type SubmissionOptions = Omit<z.output<typeof submitQuery>, "wait" | "view">;

export function wholeNumber({ from, to }: { from: number; to: number }) {
  const error = `a whole number from ${from} to ${to}`;
  return z.number({ error }).int({ error }).gte(from, { error }).lte(to, { error });
}

/** Without a key, each call creates another task. */
export const retryQuery = z.strictObject({
  key,
  /** Also retries the tasks that were cancelled because this task failed. */
  dependents: z
    .enum(["true", "false"], { error: "true or false" })
    .prefault("false")
    .transform((written) => written === "true"),
});

/** A list of values in one parameter. `pattern` describes one value. */
function listOf<Item extends z.ZodType<unknown, string>>(
  item: Item,
  { what, pattern, to }: { what: string; pattern: string; to: number },
) {
  const expected = `${what}, separated by commas, at most ${to}`;
  const each = pattern.replace(/^\^|\$$/g, "");
  return text(expected)
    .max(to * 130, { error: expected })
    .meta({ description: expected, pattern: `^(${each})(,(${each})){0,${to - 1}}$` })
    .transform((written) => written.split(","))
    .pipe(z.array(item).min(1).max(to, { error: expected }));
}

const queueNames = (to: number) =>
  listOf(queueName(), { what: "names of queues", pattern: queueNamePattern.source, to }).optional();

export const eventsQuery = z.strictObject({
  types: listOf(z.enum(eventTypes, { error: `any of ${eventTypes.join(", ")}` }), {
    what: `any of ${eventTypes.join(", ")}`,
    pattern: eventTypes.join("|"),
    to: eventTypes.length,
  }).optional(),
  queue: queueNames(50),
  task: listOf(taskId(), { what: "ids of tasks", pattern: taskIdPattern.source, to: 50 }).optional(),
});

export const historyQuery = z.strictObject({
  span: z.enum(["5m", "1h", "24h"], { error: "one of 5m, 1h, 24h" }).prefault("5m"),
  queue: queueNames(100),
  since: time().optional(),
});

export const failuresQuery = z.strictObject({
  span: z.enum(["1h", "24h"], { error: "1h or 24h" }).prefault("1h"),
  queue: queueName().optional(),
});

export const lookQuery = z.strictObject({
  outlook: yesOrNo(),
  wait: duration({ toMs: waitMsMax }).optional(),
  view,
});

function yesOrNo() {
  return z
    .enum(["true", "false"], { error: "true or false" })
    .prefault("false")
    .transform((written) => written === "true");
}

export const wireQuery = z.strictObject({
  door: printable({ to: 128 }).optional(),
  peer: printable({ to: 512 }).optional(),
  type: printable({ to: 128 }).optional(),
  task: taskId().optional(),
  max: integer({ from: 1, to: 1_000 }).optional(),
});

export const listQuery = z.strictObject({
  queue: queueName().optional(),
  state: z.enum(taskStates, { error: `one of ${taskStates.join(", ")}` }).optional(),
  door: printable({ to: 128 }).optional(),
  worker: printable({ to: 512 }).optional(),
  since: time().optional(),
  until: time().optional(),
  q: printable({ to: 256 })
    .meta({ description: "An id, key or error code, or words of an error's message." })
    .optional(),
  limit: integer({ from: 1, to: 1000 }).prefault("100"),
  cursor: printable({ to: 1024 }).optional(),
});

/** The filter of tasks. */
export const filterQuery = listQuery.omit({ limit: true, cursor: true });

export const countQuery = filterQuery.extend({ buckets: integer({ from: 1, to: 240 }).optional() });

const unfinished = ["waiting", "running"] as const;
export const cancelManyQuery = filterQuery.extend({
  state: z.enum(unfinished, { error: `one of ${unfinished.join(", ")}: other tasks have ended` }).optional(),
});

export const retryManyQuery = filterQuery.extend({
  state: z
    .enum(retryStates, { error: `one of ${retryStates.join(", ")}: other tasks cannot be retried` })
    .optional(),
});

/** A lease much shorter than a round trip would expire before its first heartbeat. */
const lease = { fromMs: 100, toMs: 24 * 3_600_000 };

export const claimQuery = z.strictObject({
  worker: printable({ to: 128 }),
  max: integer({ from: 1, to: 1000 }).prefault("1"),
  wait: duration({ toMs: waitMsMax }).prefault("0s"),
  lease: duration(lease).prefault("30s"),
});

/** Maximum number of unanswered attempts of a worker, the same as the maximum of one claim. */
const slotsRange = { from: 1, to: 1000 };

export const workQuery = z.strictObject({
  worker: printable({ to: 128 }),
  /** Further queues beside the one of the path: as many as the core allows a worker. */
  also: queueNames(defaultLimits.queuesPerWorker - 1),
  slots: integer(slotsRange).prefault("1"),
  lease: duration(lease).prefault("30s"),
});

/** A line that names one attempt that a worker still holds. */
export const heldItem = z.strictObject(
  {
    task: taskId(),
    attempt: z.number({ error: "an attempt's number" }).int({ error: "an attempt's number" }).positive(),
  },
  { error: (issue) => (issue.code === "unrecognized_keys" ? undefined : "a JSON object") },
);

/** `true` if the caller means a queue that does not exist yet. */
export const orderQuery = z.strictObject({
  create: yesOrNo(),
});

export const beatQuery = z.strictObject({ lease: duration(lease).optional() });

/** A number, as in answers; a task's id is text in both. */
const attemptShown = { type: "integer", format: "int64", minimum: 1, maximum: Number.MAX_SAFE_INTEGER };

export const queuePath = z.object({ queue: queueName() });
export const taskPath = z.object({ id: taskId() });
export const attemptPath = z.object({ id: taskId(), n: wholeId("an attempt's number", attemptShown) });
export const actionPath = z.object({ id: wholeId("an action's id").transform(String) });
export const workerPath = z.object({ id: characters({ to: 1024, error: "a worker's id" }) });

function taskId() {
  return wholeId("a task's id").transform((id) => id as TaskId);
}

function wholeId(expected: string, shownAs?: object) {
  return z
    .string()
    .regex(taskIdPattern, { error: expected })
    .meta(shownAs === undefined ? {} : { shownAs })
    .transform(Number)
    .refine(Number.isSafeInteger, { error: expected });
}
