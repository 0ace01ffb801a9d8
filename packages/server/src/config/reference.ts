// The configuration reference, made from the settings' own schema: names, what is expected and the defaults cannot be
// out of date. What a setting is for stands here; one without words is a mistake that a test finds.

import * as z from "zod";
import { yardSettings } from "../config.js";

const words: Readonly<Record<string, string>> = {
  data: "The folder of the engine, relative to the working folder.",
  engine: "Where tasks are kept. Default: `embedded` where this version has it, else `memory`.",
  durability:
    "What a commit survives: `fsync` a power cut, `memory` nothing. Default: `fsync`; with the memory engine `memory`.",
  reserveBytes:
    "Size of a reserve on the disk, which the embedded engine releases when the disk is full: it then starts, serves reads and records outcomes, and refuses new tasks. At most an eighth of the disk. 0 for none.",
  "limits.payloadBytes":
    "The largest payload or result, of every door. The http door holds at most twice this of bodies on their way.",
  "limits.memoryBytes":
    "Memory of the whole process, without pages of files. At it, or at four fifths of V8's heap, new tasks are refused (`queue_full`; each door in its own words), `/readyz` says why, and what is there goes on; below nine tenths of it they are accepted again. Default: three quarters of the container's memory (cgroup), or of the machine's.",
  "limits.unfinishedBytes":
    "Memory for messages that have not arrived whole, of all peers of one ZeroMQ door (pingpong, monique, scaler), with what each frame costs. At least what one payload of `limits.payloadBytes` takes. Beyond it the peer that adds to it is disconnected, and `assembly_full` counted.",
  "doors.http.listen": "Where the http door listens. Beyond loopback it needs a token.",
  "doors.http.token": "Asked of every request as `Authorization: Bearer …`. Default: none.",
  "doors.http.hosts":
    "Names under which browsers and proxies may reach it, beside addresses and `localhost`.",
  "doors.pingpong.clients": "Where clients connect.",
  "doors.pingpong.workers": "Where workers connect.",
  "doors.pingpong.workerExpireSeconds": "A worker that is silent for so long is lost.",
  "doors.pingpong.form":
    "Which of the two wire forms is spoken. Workers of the original program need `program`.",
  "doors.pingpong.queue": "The queue of this door.",
  "doors.pulse.dir": "The folder of the sockets. Where it cannot be written, `<data>/controller`.",
  "doors.pulse.numbering": "Which numbering of the messages is spoken; `auto` finds out.",
  "doors.pulse.queue": "The queue of this door.",
  "doors.udp.client_address.host": "Where datagrams come in.",
  "doors.udp.client_address.port": "Its port.",
  "doors.udp.timeout_task_placement": "A task that waits for longer expires, in seconds.",
  "doors.udp.timeout_task_execution":
    "A calculator that works on a task for longer loses it to another, in seconds. `attemptTimeoutSeconds` of the queue goes before it.",
  "doors.udp.activity_poll_sec": "A calculator that is silent for so long is asked whether it is there.",
  "doors.udp.inactivity_timeout": "One that is silent for so long is lost.",
  "doors.udp.sends": "All sends of a datagram that is not acknowledged.",
  "doors.udp.resendSeconds": "The time between two of them.",
  "doors.udp.queue": "The queue of this door.",
  "doors.monique.in": "Where messages come in.",
  "doors.monique.out": "Where messages go out.",
  "doors.monique.techIn": "The technical channel, in.",
  "doors.monique.techOut": "The technical channel, out.",
  "doors.monique.form": "Which of the two wire forms is spoken.",
  "doors.monique.allowMessages": "Specs that are let through. All, while this and `specs` are empty.",
  "doors.monique.specs": "Specs that are let through, by name, and shown at `/v1/specs`.",
  "doors.monique.specs.NAME.title": "Its title.",
  "doors.monique.specs.NAME.description": "What it is.",
  "doors.monique.controllers": "The port on which the workers of a spec are reached, by its name.",
  "doors.monique.prefetch": "Tasks that a worker is given before it has answered the first.",
  "doors.scaler.listen": "Where clients and workers connect.",
  "doors.scaler.workerTimeoutSeconds": "A worker that is silent for so long is lost.",
  "doors.scaler.clientTimeoutSeconds": "A client that is silent for so long is gone.",
  "doors.scaler.perWorkerQueueSize": "Tasks that one worker may hold.",
  "doors.scaler.protected": "Whether a client may not shut the workers down.",
  "doors.scaler.objectBytes": "Bytes of all objects together, which lie in memory.",
  "doors.scaler.largestObjectBytes":
    "Bytes of one object. A larger one is refused, and the task that needs it fails with the reason.",
  "doors.scaler.function": "The function that a task from another dialect calls. Default: the queue's name.",
  "doors.scaler.queue": "The queue of this door.",
  "queues.NAME.attemptTimeoutSeconds": "The time limit of one attempt. Default: none.",
  "queues.NAME.attempts": "Lost attempts after which a task ends `failed`. Default: 5.",
  "queues.NAME.failures": "Failures that workers report after which it ends `failed`. Default: 1.",
  "queues.NAME.maxWaiting": "Waiting tasks; more are refused. Default: 1000000.",
  "queues.NAME.maxBytes": "Bytes of their payloads; more are refused. Default: 1073741824.",
  "retention.bytes": "Finished tasks are kept up to so many bytes,",
  "retention.ageSeconds": "and for so long,",
  "retention.count": "and so many of them.",
  keyTtlSeconds: "How long after a task finished its key is still the same task.",
  replyTtlSeconds: "How long an outcome is kept for an asker that cannot be reached.",
  drainSeconds: "How long running attempts may go on after SIGTERM.",
  graceSeconds: "How long after a start tasks that were running wait for their workers to come back.",
  traces: "Whether spans are made for the OpenTelemetry SDK that the process was started with.",
};

const wordsFor = new Map(Object.entries(words));

interface Setting {
  readonly path: string;
  readonly expected: string;
  readonly byDefault: string;
}

/** A table in Markdown. Throws when a setting has no words, or words have no setting. */
export function configReference(): string {
  const settings = settingsIn(yardSettings, []);
  const wordless = settings.filter(({ path }) => !wordsFor.has(path)).map(({ path }) => path);
  const known = new Set(settings.map(({ path }) => path));
  const idle = Object.keys(words).filter((path) => !known.has(path));
  if (wordless.length > 0 || idle.length > 0) {
    throw new Error(
      `settings without words: ${wordless.join(", ")}; words without a setting: ${idle.join(", ")}`,
    );
  }
  const rows = settings.map(
    ({ path, expected, byDefault }) => `| \`${path}\` | ${expected} | ${byDefault} | ${wordsFor.get(path)} |`,
  );
  return ["| setting | is | default | for |", "|---|---|---|---|", ...rows].join("\n");
}

function settingsIn(schema: z.ZodType, path: readonly string[], byDefault?: unknown): Setting[] {
  if (schema instanceof z.ZodPrefault) {
    return settingsIn(schema.unwrap() as z.ZodType, path, schema.def.defaultValue);
  }
  if (schema instanceof z.ZodOptional) return settingsIn(schema.unwrap() as z.ZodType, path);
  if (schema instanceof z.ZodObject) {
    return Object.entries(schema.shape).flatMap(([name, child]) =>
      settingsIn(child as z.ZodType, [...path, name]),
    );
  }
  if (schema instanceof z.ZodRecord) {
    const value = schema.valueType as z.ZodType;
    const inner = settingsIn(value, [...path, "NAME"]);
    const isTable = value instanceof z.ZodObject;
    if (isTable && path.length === 1) return inner;
    return [settingOf(schema, path, byDefault), ...(isTable ? inner : [])];
  }
  return [settingOf(schema, path, byDefault)];
}

function settingOf(schema: z.ZodType, path: readonly string[], byDefault: unknown): Setting {
  return {
    path: path.join("."),
    expected: expectedOf(schema).replaceAll("|", "\\|"),
    byDefault: byDefault === undefined ? "" : `\`${JSON.stringify(byDefault)}\``,
  };
}

/** What it says when it is given something that it cannot be. */
function expectedOf(schema: z.ZodType): string {
  return schema.safeParse(Symbol.iterator).error?.issues[0]?.message ?? "";
}
