// The configuration reference, generated from the settings' schema, so that names, expected values
// and defaults cannot be out of date. A door's setting carries its description; those of the yard
// are here. A test fails for a setting without one.

import * as z from "zod";
import { yardSettingsWith } from "../config.js";
import { doorList } from "../registry/doors.js";

const words: Readonly<Record<string, string>> = {
  data: "The engine's folder, relative to the working folder.",
  engine:
    "Where tasks are stored: in `memory`, in a folder of this machine (`embedded`), or in a `postgres` database that replicates them. Default: `embedded`.",
  durability:
    "What a commit survives: `replicated` survives the loss of a server, `fsync` a power failure, `memory` neither. Default: `fsync`; with the memory engine `memory`; with the Postgres engine `replicated`, or `fsync` if `postgres.requireSync` is false.",
  "postgres.url":
    "The database of the Postgres engine. Several servers, separated by commas, may be a primary and its standbys; the one that accepts writes is used. Keep the password in `PGPASSWORD` or `~/.pgpass`. A pooler must pool sessions, not transactions.",
  "postgres.schema": "The schema that holds the tables. It is made if it is not there.",
  "postgres.commitSeconds":
    "Time limit of one call to the database during a commit. After it the connection is dropped, and the commit is tried again on the server that accepts writes.",
  "postgres.requireSync":
    "Whether a server that does not replicate synchronously is refused at the start. Without a synchronous standby, the loss of the server loses acknowledged tasks.",
  "cluster.node":
    "The name of this dispatcher among those that share the database. With `cluster`, one of them owns the yard and the others wait as standbys. See [cluster.md](cluster.md).",
  "cluster.advertise":
    "The URL at which clients reach this dispatcher's http door. Standbys tell it to clients. Default: where the door listens, if that is one address.",
  "cluster.beatMs": "The owner writes to the database at least this often.",
  "cluster.silenceMs":
    "A standby takes over when the owner has written nothing for this time. At least four times `cluster.beatMs`, and longer than any pause between the writes of a healthy owner.",
  reserveBytes:
    "Size of a disk reserve that the embedded engine releases when the disk is full. The dispatcher can then still start, serve reads and record outcomes, while it refuses new tasks. At most an eighth of the disk. 0 turns it off.",
  "limits.payloadBytes":
    "Maximum size of a payload or result, for every door. The http door holds at most twice this size of request bodies at once.",
  "limits.memoryBytes":
    "Maximum memory of the whole process, not counting file pages. At this limit, or at four fifths of V8's heap limit, new tasks are refused (`queue_full`, or the dialect's equivalent), `/readyz` says why, and accepted tasks go on. Below nine tenths of the limit tasks are accepted again, or after five seconds in which objects and buffers take less than a third of it: the rest is then pages that the allocator keeps for new tasks. Default: three quarters of the container's memory (cgroup), or of the machine's.",
  "limits.unfinishedBytes":
    "Maximum memory for partly received messages, over all peers of the ZeroMQ doors (pingpong, monique, scaler), including the overhead of each frame. One message that is larger is still received while other peers hold little. At the limit, peers that have nearly stopped sending are disconnected first, then those with the largest messages of the host that holds the most, or the peer whose data exceeds it if it is of that host; each is counted as `assembly_full`.",
  "limits.dependedOn":
    "Maximum number of finished tasks that are kept out of retention because a task that depends on them has not ended. Beyond it the oldest is settled, and its result can be evicted before its dependents have read it.",
  "access.principals":
    "The principals that may connect, by name. With `access:`, a peer without a credential may do nothing, unless its door has `anonymous`. See [decision 0026](decisions/0026-principals-and-rights.md).",
  "access.principals.NAME.tokens":
    "Bearer tokens of the http door. `yardmaster token new NAME` prints one. Two at a time let you change the token without a gap.",
  "access.principals.NAME.user": "The user name of its passwords. Default: the principal's name.",
  "access.principals.NAME.passwords": "Passwords for ZeroMQ's PLAIN.",
  "access.principals.NAME.curveKeys": "Public keys for ZeroMQ's CURVE.",
  "access.principals.NAME.certificates":
    "Client certificates of the http door. A common name counts only in a certificate that `doors.http.tls.clientCa` signed.",
  "access.principals.NAME.rights.submit": "Queues to which it may submit tasks. Default: none.",
  "access.principals.NAME.rights.work": "Queues whose tasks it may claim and run. Default: none.",
  "access.principals.NAME.rights.read":
    "Queues whose tasks, bodies, events and metrics it may see. Default: none.",
  "access.principals.NAME.rights.operate":
    "Queues that it may operate: cancel, retry, pause, drain, purge, settings and schedules. Default: none.",
  "access.principals.NAME.rights.watch":
    "Queues whose messages on the wire it may see. Messages about no task need `*`. Default: none.",
  "access.principals.NAME.quotas.submissionsPerSecond":
    "Number of tasks that it may submit per second. Default: no limit.",
  "access.principals.NAME.quotas.submissionBurst":
    "Number of tasks that it may submit at once after a pause. Default: the tasks of one second.",
  "access.principals.NAME.quotas.connections": "Maximum number of its connections. Default: no limit.",
  "access.principals.NAME.quotas.inFlightBytes":
    "Maximum size of the bodies that are received for it at one moment. Default: no limit.",
  "queues.NAME.attemptTimeoutSeconds": "Time limit of one attempt. Default: none.",
  "queues.NAME.attempts": "Number of lost attempts after which a task ends `failed`. Default: 5.",
  "queues.NAME.failures": "Number of reported failures after which a task ends `failed`. Default: 1.",
  "queues.NAME.maxWaiting": "Maximum number of waiting tasks; more are refused. Default: 1000000.",
  "queues.NAME.maxBytes":
    "Maximum total size of the payloads of waiting tasks; more are refused. Default: 1073741824.",
  "queues.NAME.maxRunning":
    "Maximum number of tasks that run at once; further ones wait. Default: no limit. See [limits of a queue](queue-limits.md).",
  "queues.NAME.maxRunningPerGroup":
    "Maximum number of tasks of one group that run at once. Default: no limit.",
  "queues.NAME.rate.tasks": "Number of tasks that may start within `rate.perSeconds`. Default: no limit.",
  "queues.NAME.rate.perSeconds":
    "Period of `rate.tasks`. A full burst may start at once; after that, starts are spread evenly.",
  "queues.NAME.backoff.firstSeconds":
    "Delay before the first retry. Without `backoff`, the first retry follows at once and the second after one second.",
  "queues.NAME.backoff.factor": "Each further delay is this many times as long.",
  "queues.NAME.backoff.maxSeconds": "The longest delay between two tries.",
  "queues.NAME.backoff.jitter": "Share by which a delay may be shorter or longer, drawn for each retry.",
  "queues.NAME.retention.bytes":
    "Maximum total size of the queue's finished tasks. With `retention`, a queue has a history of its own; at most 64 queues may have one.",
  "queues.NAME.retention.ageSeconds": "Maximum age of the queue's finished tasks.",
  "queues.NAME.retention.count": "Maximum number of the queue's finished tasks.",
  "schedules.NAME.queue": "The queue of the schedule's tasks.",
  "schedules.NAME.payload": "The payload of each task: text, or any other value as JSON. Default: empty.",
  "schedules.NAME.payloadBase64": "The payload as base64, instead of `payload`.",
  "schedules.NAME.contentType":
    "The media type of the payload. Default: `text/plain` for text, `application/json` for other values.",
  "schedules.NAME.priority": "The priority of each task; higher runs first. Default: 0.",
  "schedules.NAME.group": "The group with which its tasks take turns in their queue. Default: none.",
  "schedules.NAME.attempts": "As for queues, for the tasks of this schedule.",
  "schedules.NAME.failures": "As for queues, for the tasks of this schedule.",
  "schedules.NAME.timeout": "Time limit of one attempt. Default: that of the queue.",
  "schedules.NAME.expires": "How long each task may wait for a worker. Default: unlimited.",
  "schedules.NAME.cron": "When it runs: five cron fields, or six with seconds first. Either this or `every`.",
  "schedules.NAME.timezone": "The IANA time zone of `cron`. Default: UTC.",
  "schedules.NAME.every": "When it runs: at this interval, counted from `start` or from its creation.",
  "schedules.NAME.overlap":
    "What happens at a time when the last task has not finished: `skip` the time, or `queue` another task.",
  "schedules.NAME.catchUp":
    "What happens after times that passed while the dispatcher was down: `one` run, or `none`.",
  "schedules.NAME.start": "No run before this time. Default: none.",
  "schedules.NAME.end": "No run after this time. Default: none.",
  "schedules.NAME.jitter": "Each run is delayed by a random time up to this. Default: none.",
  "retention.bytes": "Maximum total size of retained finished tasks, in bytes.",
  "retention.ageSeconds": "Maximum age of retained finished tasks.",
  "retention.count": "Maximum number of retained finished tasks.",
  keyTtlSeconds: "How long a task's key still refers to it after it finished.",
  replyTtlSeconds: "How long an outcome is kept for a client that cannot be reached.",
  drainSeconds: "How long running attempts may continue after SIGTERM.",
  graceSeconds: "How long, after a start, tasks that were running wait for their workers to come back.",
  traces: "Whether the dispatcher makes spans for the OpenTelemetry SDK that the process was started with.",
};

export interface Setting {
  /** With `NAME` for names that the user chooses. */
  readonly path: string;
  /** What a value has to be, in words. */
  readonly expected: string;
  /** As it would be written in the file. Undefined if it has none. */
  readonly byDefault: unknown;
  /** Undefined if it has none. */
  readonly description: string | undefined;
  /** The path of a section that is absent by default: the setting applies only if that is there. */
  readonly within: string | undefined;
}

/** What a wrapper around a setting says about it. */
interface Known {
  readonly byDefault?: unknown;
  readonly description?: string | undefined;
  readonly within?: string | undefined;
}

/** Throws if a setting has no description or a description has no setting. */
export function allSettings(): Setting[] {
  const settings = settingsIn(yardSettingsWith(doorList), []);
  const wordless = settings.filter(({ description }) => description === undefined).map(({ path }) => path);
  const known = new Set(settings.map(({ path }) => path));
  const idle = Object.keys(words).filter((path) => !known.has(path));
  if (wordless.length > 0 || idle.length > 0) {
    throw new Error(
      `settings without words: ${wordless.join(", ")}; words without a setting: ${idle.join(", ")}`,
    );
  }
  return settings;
}

/** The reference as a Markdown table. */
export function configReference(): string {
  const rows = allSettings().map(({ path, expected, byDefault, description }) => {
    const shownDefault = byDefault === undefined ? "" : `\`${JSON.stringify(byDefault)}\``;
    return `| \`${path}\` | ${expected.replaceAll("|", "\\|")} | ${shownDefault} | ${description} |`;
  });
  return ["| setting | is | default | for |", "|---|---|---|---|", ...rows].join("\n");
}

function settingsIn(schema: z.ZodType, path: readonly string[], known: Known = {}): Setting[] {
  const here: Known = { ...known, description: known.description ?? schema.description };
  if (schema instanceof z.ZodPrefault) {
    return settingsIn(schema.unwrap() as z.ZodType, path, { ...here, byDefault: schema.def.defaultValue });
  }
  if (schema instanceof z.ZodOptional) {
    const inner = schema.unwrap() as z.ZodType;
    const isSection = inner instanceof z.ZodObject && !isDoor(path);
    return settingsIn(inner, path, isSection ? { ...here, within: here.within ?? path.join(".") } : here);
  }
  const { within } = here;
  if (schema instanceof z.ZodObject) {
    return Object.entries(schema.shape).flatMap(([name, child]) =>
      settingsIn(child as z.ZodType, [...path, name], { within }),
    );
  }
  if (schema instanceof z.ZodRecord) {
    const value = schema.valueType as z.ZodType;
    const inner = settingsIn(value, [...path, "NAME"], { within });
    const isTable = value instanceof z.ZodObject;
    if (isTable && path.length === 1) return inner;
    return [settingOf(schema, path, here), ...(isTable ? inner : [])];
  }
  return [settingOf(schema, path, here)];
}

/** A door is open unless the file closes it, although its section is optional. */
function isDoor(path: readonly string[]): boolean {
  return path.length === 2 && path[0] === "doors";
}

function settingOf(
  schema: z.ZodType,
  at: readonly string[],
  { byDefault, description, within }: Known,
): Setting {
  const path = at.join(".");
  return {
    path,
    expected: expectedOf(schema),
    byDefault,
    description: description ?? wordsFor.get(path),
    within,
  };
}

const wordsFor = new Map(Object.entries(words));

/** The text of the error for a wrong value, without a remark that is meant for query parameters. */
function expectedOf(schema: z.ZodType): string {
  const message = schema.safeParse(Symbol.iterator).error?.issues[0]?.message ?? "";
  return message.replace(/, once$/, "");
}
