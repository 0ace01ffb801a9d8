// A schedule: a task that is submitted repeatedly at set times. This file defines its data, times
// and record; `scheduling.ts` has the operations.

import type { Deadline } from "./deadlines.js";
import type { TaskId } from "./names.js";
import { type Body, coreMemoDoor, type MemoRecord } from "./records.js";
import type { WallTime } from "./time.js";
import type { Timed } from "./timed.js";

/** When a schedule runs. Cron expressions are evaluated outside the core. */
export type ScheduleTiming =
  | { readonly cron: string; readonly timezone: string }
  | { readonly everyMs: number };

/** The next time of a cron expression after `after`; undefined when there is none. */
export type NextCron = (cron: string, timezone: string, after: WallTime) => WallTime | undefined;

/** The settings that a schedule's owner gives. */
export interface ScheduleSettings {
  readonly queue: string;
  readonly payload: Body;
  readonly priority?: number;
  /** The group with which its tasks take turns in their queue. */
  readonly group?: string;
  readonly attempts?: number;
  readonly failures?: number;
  readonly attemptTimeoutMs?: number;
  /** How long each of its tasks may wait for a worker. */
  readonly expiresMs?: number;
  readonly timing: ScheduleTiming;
  /**
   * If the last task has not finished when the next is due: skip the run, or submit another task.
   */
  readonly overlap: "skip" | "queue";
  /** After a downtime in which times passed: no run, or one run. */
  readonly catchUp: "none" | "one";
  /** The first and the last possible time. */
  readonly startAt?: WallTime;
  readonly endAt?: WallTime;
  /** Each run is delayed by a random time up to this. */
  readonly jitterMs: number;
}

/** `config`: it stands in the configuration file and cannot be changed through the API. */
export type ScheduleOrigin = "api" | "config";

/** The state of a schedule that is stored. */
export interface ScheduleState {
  readonly origin: ScheduleOrigin;
  readonly createdAt: WallTime;
  readonly paused: boolean;
  /** The next time; undefined while it is paused and after its last time. */
  readonly nextAt: WallTime | undefined;
  /** The time of its last run, and the task that it made. */
  readonly lastRunAt: WallTime | undefined;
  readonly lastTask: TaskId | undefined;
  /** The last time that was skipped because the task before had not finished. */
  readonly lastSkippedAt: WallTime | undefined;
}

export interface Schedule {
  readonly name: string;
  settings: ScheduleSettings;
  state: ScheduleState;
  /** When the next run is made: its time, with jitter. */
  runAt: WallTime | undefined;
  readonly deadline: Deadline<Timed>;
  /** Why the run that is due could not be submitted; it is tried again. */
  trouble: string | undefined;
}

/** A schedule as people see it. */
export interface ScheduleView extends ScheduleState {
  readonly name: string;
  readonly settings: ScheduleSettings;
  readonly trouble: string | undefined;
}

/** The first time after `after` that its settings allow. */
export function nextTime(
  settings: ScheduleSettings,
  createdAt: WallTime,
  after: WallTime,
  nextCron: NextCron,
): WallTime | undefined {
  const { timing, startAt, endAt } = settings;
  const from = startAt !== undefined && after < startAt ? ((startAt - 1) as WallTime) : after;
  const next =
    "cron" in timing
      ? nextCron(timing.cron, timing.timezone, from)
      : nextMultiple(startAt ?? createdAt, timing.everyMs, from);
  return next === undefined || (endAt !== undefined && next > endAt) ? undefined : next;
}

/** Intervals are counted from a fixed start, so that a late run does not move the later ones. */
function nextMultiple(start: WallTime, everyMs: number, after: WallTime): WallTime {
  const passed = Math.max(0, Math.floor((after - start) / everyMs) + 1);
  return (start + passed * everyMs) as WallTime;
}

const memoPrefix = "schedule/";

/** A line of JSON, then the bytes of the payload. */
export function scheduleMemo(schedule: Schedule): MemoRecord {
  const { name, settings, state } = schedule;
  const { bytes = new Uint8Array(0), ...payload } = settings.payload;
  const head = new TextEncoder().encode(`${JSON.stringify({ settings: { ...settings, payload }, state })}\n`);
  const memo = new Uint8Array(head.length + bytes.length);
  memo.set(head);
  memo.set(bytes, head.length);
  return { door: coreMemoDoor, name: memoNameOf(name), bytes: memo };
}

export function memoNameOf(schedule: string): string {
  return `${memoPrefix}${schedule}`;
}

/** Reads what `scheduleMemo` wrote; undefined for a memo of another kind. */
export function readScheduleMemo({
  name,
  bytes,
}: MemoRecord): { name: string; settings: ScheduleSettings; state: ScheduleState } | undefined {
  if (!name.startsWith(memoPrefix)) return undefined;
  const end = bytes.indexOf(10);
  const { settings, state } = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end))) as {
    settings: ScheduleSettings;
    state: ScheduleState;
  };
  const payload = { ...settings.payload, bytes: bytes.slice(end + 1) };
  return { name: name.slice(memoPrefix.length), settings: { ...settings, payload }, state };
}

/** True if both say the same, so that a restart with the same configuration changes nothing. */
export function isSameSchedule(one: ScheduleSettings, other: ScheduleSettings): boolean {
  return comparable(one) === comparable(other);
}

function comparable(settings: ScheduleSettings): string {
  const { payload, ...rest } = settings;
  const entries = Object.entries(rest).filter(([, value]) => value !== undefined);
  entries.sort(([first], [second]) => (first < second ? -1 : 1));
  return JSON.stringify([entries, payload.mediaType, [...(payload.bytes ?? [])]]);
}
