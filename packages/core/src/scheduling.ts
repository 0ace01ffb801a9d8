// Operations on schedules: put, pause, run and drop. A run and the schedule's next time are
// committed in one step, and the task's key names the time, so that a crash neither repeats nor
// skips a run.

import { submitOwn } from "./accepting.js";
import type { Refusal } from "./admission.js";
import { Deadline } from "./deadlines.js";
import type { DoorState } from "./door-state.js";
import type { YardEvent } from "./events.js";
import { queueNamePattern, type TaskId } from "./names.js";
import { coreMemoDoor } from "./records.js";
import {
  isSameSchedule,
  memoNameOf,
  nextTime,
  type Schedule,
  type ScheduleOrigin,
  type ScheduleSettings,
  type ScheduleState,
  type ScheduleView,
  scheduleMemo,
} from "./schedule.js";
import { isFinished } from "./task-states.js";
import { after, later, type WallTime } from "./time.js";
import type { Timed } from "./timed.js";
import type { Yard } from "./yard.js";

type SchedulePut = Extract<YardEvent, { type: "schedule-put" }>;
type ScheduleDropped = Extract<YardEvent, { type: "schedule-dropped" }>;
type ScheduleOrdered = Extract<YardEvent, { type: "schedule-ordered" }>;

/** The door that the tasks of schedules came in by. */
const scheduleDoor = "schedule";

/** The wall clock may be set while we wait, so it is looked at this often. */
const lookMs = 60_000;

/** A run that was refused, because its queue is full for instance, is tried again after this. */
const retryMs = 1_000;

export function handleSchedulePut(yard: Yard, door: DoorState, event: SchedulePut): void {
  const { name, settings, request } = event;
  const refusal = refusePut(yard, name, settings);
  if (refusal !== undefined) {
    yard.reply(door, request, { type: "refused", ...refusal });
    return;
  }
  put(yard, name, settings, "api");
  yard.reply(door, request, { type: "granted" });
}

function refusePut(yard: Yard, name: string, settings: ScheduleSettings): Refusal | undefined {
  const { limits } = yard.options;
  const known = yard.schedules.get(name);
  if (!queueNamePattern.test(name))
    return { code: "bad_request", message: `A schedule's name must match ${queueNamePattern.source}.` };
  if (!queueNamePattern.test(settings.queue))
    return { code: "bad_request", message: `A queue's name must match ${queueNamePattern.source}.` };
  if (known?.state.origin === "config") return readOnly(name);
  if (settings.payload.size > limits.schedulePayloadBytes) {
    yard.limitReached("schedulePayloadBytes");
    const message = `The payload of a schedule has at most ${limits.schedulePayloadBytes} bytes.`;
    return { code: "payload_too_large", message };
  }
  if (known === undefined && yard.schedules.size >= limits.schedules) {
    yard.limitReached("schedules");
    return { code: "queue_full", message: `There are ${limits.schedules} schedules, the limit.` };
  }
  if (timeAfter(yard, settings, yard.now.wall, yard.now.wall) === undefined)
    return { code: "bad_request", message: "This schedule would never run: none of its times is to come." };
  return undefined;
}

function readOnly(name: string): Refusal {
  const message = `Schedule ${name} is in the configuration file; change it there. Only pause, resume and run-now are possible here.`;
  return { code: "read_only", message };
}

/** A schedule that is replaced stays paused if it was, and knows its last task. */
function put(yard: Yard, name: string, settings: ScheduleSettings, origin: ScheduleOrigin): void {
  const known = yard.schedules.get(name);
  const createdAt = yard.now.wall;
  const paused = known?.state.paused ?? false;
  const state: ScheduleState = {
    origin,
    createdAt,
    paused,
    nextAt: paused ? undefined : timeAfter(yard, settings, createdAt, createdAt),
    lastRunAt: known?.state.lastRunAt,
    lastTask: known?.state.lastTask,
    lastSkippedAt: known?.state.lastSkippedAt,
  };
  const schedule = known ?? addSchedule(yard, name, settings, state);
  schedule.settings = settings;
  schedule.trouble = undefined;
  write(yard, schedule, state);
}

export function handleScheduleDropped(yard: Yard, door: DoorState, event: ScheduleDropped): void {
  const schedule = yard.schedules.get(event.name);
  const refusal =
    schedule === undefined
      ? notFound(event.name)
      : schedule.state.origin === "config"
        ? readOnly(event.name)
        : undefined;
  if (schedule === undefined || refusal !== undefined) {
    yard.reply(door, event.request, { type: "refused", ...(refusal as Refusal) });
    return;
  }
  drop(yard, schedule);
  yard.reply(door, event.request, { type: "granted" });
}

function drop(yard: Yard, schedule: Schedule): void {
  yard.disarm(schedule.deadline);
  yard.schedules.delete(schedule.name);
  yard.step.change({ kind: "memo-gone", door: coreMemoDoor, name: memoNameOf(schedule.name) });
}

function notFound(name: string): Refusal {
  return { code: "not_found", message: `There is no schedule ${name}.` };
}

export function handleScheduleOrdered(yard: Yard, door: DoorState, event: ScheduleOrdered): void {
  const schedule = yard.schedules.get(event.name);
  if (schedule === undefined) {
    yard.reply(door, event.request, { type: "refused", ...notFound(event.name) });
    return;
  }
  if (event.order === "run-now") {
    runNow(yard, door, schedule, event);
    return;
  }
  const paused = event.order === "pause";
  // Times that passed during a pause do not run.
  const { createdAt } = schedule.state;
  const nextAt = paused ? undefined : timeAfter(yard, schedule.settings, createdAt, yard.now.wall);
  if (paused !== schedule.state.paused) write(yard, schedule, { ...schedule.state, paused, nextAt });
  yard.reply(door, event.request, { type: "granted" });
}

/** Runs regardless of `overlap`, because an operator asked for it. */
function runNow(yard: Yard, door: DoorState, schedule: Schedule, event: ScheduleOrdered): void {
  const made = submit(yard, schedule, undefined);
  if ("code" in made) {
    yard.reply(door, event.request, { type: "refused", ...made });
    return;
  }
  write(yard, schedule, { ...schedule.state, lastRunAt: yard.now.wall, lastTask: made.task });
  yard.reply(door, event.request, { type: "granted", task: made.task });
}

/** The schedule's deadline has come: its time, or only a look at the wall clock. */
export function runSchedule(yard: Yard, schedule: Schedule): void {
  const { state, runAt, settings } = schedule;
  if (state.nextAt === undefined || runAt === undefined || yard.isClosing) return;
  if (yard.now.wall < runAt) {
    arm(yard, schedule);
    return;
  }
  const time = state.nextAt;
  const following = timeAfter(yard, settings, state.createdAt, time);
  // More than one time has passed: after a stall, a jump of the clock, or while we were down.
  const isBehind = following !== undefined && following <= yard.now.wall;
  if (isBehind && settings.catchUp === "none") {
    advance(yard, schedule, yard.now.wall, {});
    return;
  }
  const from = isBehind ? yard.now.wall : time;
  if (settings.overlap === "skip" && isUnfinished(yard, state.lastTask)) {
    yard.counters.scheduleRuns.add("skipped");
    advance(yard, schedule, from, { lastSkippedAt: time });
    return;
  }
  const made = submit(yard, schedule, time);
  if ("code" in made) {
    yard.counters.scheduleRuns.add("refused");
    schedule.trouble = made.message;
    yard.deadlines.arm(schedule.deadline, after(yard.now.instant, retryMs));
    return;
  }
  yard.counters.scheduleRuns.add("submitted");
  schedule.trouble = undefined;
  advance(yard, schedule, from, { lastRunAt: time, lastTask: made.task });
}

function submit(
  yard: Yard,
  schedule: Schedule,
  time: WallTime | undefined,
): Refusal | { readonly task: TaskId } {
  const { queue, payload, priority, group, attempts, failures } = schedule.settings;
  const { attemptTimeoutMs, expiresMs } = schedule.settings;
  return submitOwn(yard, yard.door(scheduleDoor), {
    queue,
    payload,
    ...(priority === undefined ? {} : { priority }),
    ...(group === undefined ? {} : { group }),
    ...(attempts === undefined ? {} : { attempts }),
    ...(failures === undefined ? {} : { failures }),
    ...(attemptTimeoutMs === undefined ? {} : { attemptTimeoutMs }),
    ...(expiresMs === undefined ? {} : { expiresAt: later(yard.now.wall, expiresMs) }),
    schedule: schedule.name,
    ...(time === undefined ? {} : { key: `schedule:${schedule.name}:${new Date(time).toISOString()}` }),
  });
}

function isUnfinished(yard: Yard, id: TaskId | undefined): boolean {
  const task = id === undefined ? undefined : yard.tasks.get(id);
  return task !== undefined && !isFinished(task.state);
}

function advance(yard: Yard, schedule: Schedule, from: WallTime, happened: Partial<ScheduleState>): void {
  const nextAt = timeAfter(yard, schedule.settings, schedule.state.createdAt, from);
  write(yard, schedule, { ...schedule.state, ...happened, nextAt });
}

/** Records the state and arms the next run. */
function write(yard: Yard, schedule: Schedule, state: ScheduleState): void {
  if (schedule.runAt === undefined || state.nextAt !== schedule.state.nextAt)
    schedule.runAt = withJitter(yard, schedule, state.nextAt);
  schedule.state = state;
  yard.step.change({ kind: "memo", memo: scheduleMemo(schedule) });
  arm(yard, schedule);
}

function withJitter(yard: Yard, { settings }: Schedule, nextAt: WallTime | undefined): WallTime | undefined {
  if (nextAt === undefined || settings.jitterMs === 0) return nextAt;
  return later(nextAt, Math.floor(settings.jitterMs * yard.options.random()));
}

function arm(yard: Yard, schedule: Schedule): void {
  const { deadline, runAt } = schedule;
  if (runAt === undefined || schedule.state.nextAt === undefined) yard.disarm(deadline);
  else {
    const waitMs = Math.min(Math.max(0, runAt - yard.now.wall), lookMs);
    yard.deadlines.arm(deadline, after(yard.now.instant, waitMs));
  }
}

function timeAfter(
  yard: Yard,
  settings: ScheduleSettings,
  createdAt: WallTime,
  from: WallTime,
): WallTime | undefined {
  return nextTime(settings, createdAt, from, yard.options.nextCron);
}

/** Adds a schedule to the table; it is armed by `write`, or when restoring ends. */
export function addSchedule(
  yard: Yard,
  name: string,
  settings: ScheduleSettings,
  state: ScheduleState,
): Schedule {
  const timed = { type: "schedule" } as { type: "schedule"; schedule: Schedule };
  const deadline = new Deadline<Timed>(timed);
  const schedule: Schedule = { name, settings, state, runAt: undefined, deadline, trouble: undefined };
  timed.schedule = schedule;
  yard.schedules.set(name, schedule);
  return schedule;
}

/**
 * Ends restoring: the configuration's schedules are put, those it no longer has are dropped, and
 * times that passed while the dispatcher was down run once or not at all.
 */
export function beginSchedules(yard: Yard): void {
  const { schedules: configured } = yard.options;
  for (const schedule of [...yard.schedules.values()]) {
    if (schedule.state.origin === "config" && !configured.has(schedule.name)) drop(yard, schedule);
    else resume(yard, schedule);
  }
  for (const [name, settings] of configured) {
    const known = yard.schedules.get(name);
    const isKnown = known?.state.origin === "config" && isSameSchedule(known.settings, settings);
    if (!isKnown) put(yard, name, settings, "config");
  }
}

function resume(yard: Yard, schedule: Schedule): void {
  const { state, settings } = schedule;
  const isMissed = state.nextAt !== undefined && state.nextAt <= yard.now.wall;
  if (isMissed && settings.catchUp === "none") advance(yard, schedule, yard.now.wall, {});
  else {
    schedule.runAt = withJitter(yard, schedule, state.nextAt);
    arm(yard, schedule);
  }
}

export function viewSchedule({ name, settings, state, trouble }: Schedule): ScheduleView {
  return { name, settings, ...state, trouble };
}
