// Settings of a queue that were given while the dispatcher runs. They win over the configuration,
// each until it is reset, and are committed as one of the core's own memos for each queue.

import { refuseQueue } from "./admission.js";
import type { DoorState } from "./door-state.js";
import type { QueueSettingsPatch, YardEvent } from "./events.js";
import { historyLanesMax } from "./history-segment.js";
import { defaultQueueSettings, type QueueSettings } from "./limits.js";
import { armBucket, askForBalance, serveQueue } from "./matching.js";
import type { Queue, QueueOverrides } from "./queue.js";
import { isThere } from "./queue-orders.js";
import { rateMemo } from "./rate-bucket.js";
import { coreMemoDoor } from "./records.js";
import { trimHistory } from "./settling.js";
import type { Yard } from "./yard.js";

type SettingsGiven = Extract<YardEvent, { type: "queue-settings-given" }>;

export function handleSettings(yard: Yard, door: DoorState, event: SettingsGiven): void {
  if (event.mustExist === true && !isThere(yard, event.queue)) {
    const message = `There is no queue ${event.queue} now.`;
    yard.reply(door, event.request, { type: "refused", code: "not_found", message });
    return;
  }
  const fault = faultIn(event.settings);
  const queue = fault === undefined ? yard.queue(event.queue, door) : undefined;
  if (queue === undefined) {
    const refusal =
      fault === undefined ? refuseQueue(event.queue) : ({ code: "bad_request", message: fault } as const);
    yard.reply(door, event.request, { type: "refused", ...refusal });
    return;
  }
  if (event.settings.retention != null && !hasRoomForHistory(yard, queue)) {
    const message = `${historyLanesMax} queues have a retention of their own, which is the limit.`;
    yard.reply(door, event.request, { type: "refused", code: "queue_full", message });
    yard.dropIfEmpty(queue);
    return;
  }
  override(yard, queue, withPatch(queue.overrides, event.settings));
  if (event.settings.retention !== undefined) {
    yard.histories.retain(queue.name, queue.settings.retention);
    trimHistory(yard);
  }
  recordOverrides(yard, queue);
  serveQueue(yard, queue);
  askForBalance(yard, queue);
  yard.reply(door, event.request, { type: "granted" });
  yard.dropIfEmpty(queue);
}

/** Looks at all queues, which is acceptable because only operators change settings. */
function hasRoomForHistory(yard: Yard, { name }: Queue): boolean {
  const names = new Set<string>();
  for (const [other, { retention }] of yard.options.queues) if (retention !== undefined) names.add(other);
  for (const { name: other, settings } of yard.queues.values())
    if (settings.retention !== undefined) names.add(other);
  return names.has(name) || names.size < historyLanesMax;
}

/** Puts settings in force. The caller serves the queue. */
export function override(yard: Yard, queue: Queue, overrides: QueueOverrides | undefined): void {
  const hadBucket = queue.bucket !== undefined;
  queue.override(overrides);
  const { bucket } = queue;
  if (bucket !== undefined) {
    bucket.bound(yard.now);
    armBucket(yard, bucket);
  } else if (hadBucket) {
    yard.step.change({ kind: "memo-gone", door: coreMemoDoor, name: rateMemo(queue.name) });
  }
}

export function settingsMemo(queue: string): string {
  return `settings/${queue}`;
}

/** Reads a committed memo. A value that this version cannot use is left out. */
export function overridesIn(bytes: Uint8Array): QueueOverrides | undefined {
  let read: unknown;
  try {
    read = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
  if (typeof read !== "object" || read === null) return undefined;
  const usable = Object.entries(read).filter(([name, value]) => faultIn({ [name]: value }) === undefined);
  return withPatch(undefined, Object.fromEntries(usable));
}

function recordOverrides(yard: Yard, { name: queue, overrides }: Queue): void {
  const name = settingsMemo(queue);
  if (overrides === undefined) {
    yard.step.change({ kind: "memo-gone", door: coreMemoDoor, name });
    return;
  }
  const bytes = new TextEncoder().encode(JSON.stringify(overrides));
  yard.step.change({ kind: "memo", memo: { door: coreMemoDoor, name, bytes } });
}

/** `null` resets a setting. Undefined when nothing is left. */
function withPatch(known: QueueOverrides | undefined, patch: QueueSettingsPatch): QueueOverrides | undefined {
  const values = Object.entries({ ...known, ...patch }).filter(([, value]) => value != null);
  return values.length === 0 ? undefined : (Object.fromEntries(values) as QueueOverrides);
}

const settingNames: ReadonlySet<string> = new Set(Object.keys(defaultQueueSettings));

/** What is wrong with a patch. Doors have kinder messages; this check keeps invalid values out. */
function faultIn(patch: QueueSettingsPatch): string | undefined {
  for (const [name, value] of Object.entries(patch)) {
    if (!settingNames.has(name)) return `A queue has no setting ${name}.`;
    if (value != null && !isUsable(name as keyof QueueSettings, value))
      return `${name} of a queue cannot be ${JSON.stringify(value)}.`;
  }
  return undefined;
}

function isUsable(name: keyof QueueSettings, value: unknown): boolean {
  if (name === "attemptTimeoutMs") return isFrom(value, 0);
  const fields = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (name === "rate") return isCount(fields.tasks) && isFrom(fields.perMs, 1);
  if (name === "retention") return isCount(fields.bytes) && isFrom(fields.ageMs, 1) && isCount(fields.count);
  if (name !== "backoff") return isCount(value);
  return (
    isFrom(fields.atOnce, 0) &&
    isFrom(fields.firstMs, 0) &&
    isFrom(fields.factor, 1) &&
    isFrom(fields.maxMs, 0) &&
    isFrom(fields.jitter, 0) &&
    (fields.jitter as number) <= 1
  );
}

function isFrom(value: unknown, least: number): boolean {
  return typeof value === "number" && Number.isFinite(value) && value >= least;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}
