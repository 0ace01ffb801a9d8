// `yardmaster schedules`: lists, sets, runs and deletes the schedules of a dispatcher.

import type { Schedule, ScheduleOptions } from "@yardmaster/sdk";
import type { Command } from "commander";
import { durationMs, durationText, timeText, wholeNumber } from "../amounts.js";
import {
  askYard,
  ending,
  newCommand,
  print,
  printJson,
  UsageFault,
  withYard,
  type YardOptions,
} from "../command.js";
import { printList } from "../listing.js";
import type { Column } from "../table.js";
import { paintState } from "../terminal.js";

interface Flags extends YardOptions {
  readonly queue?: string;
  readonly cron?: string;
  readonly timezone?: string;
  readonly every?: number;
  readonly overlap?: string;
  readonly catchUp?: string;
  readonly start?: string;
  readonly end?: string;
  readonly jitter?: number;
  readonly type?: string;
  readonly priority?: number;
  readonly group?: string;
  readonly attempts?: number;
  readonly failures?: number;
  readonly timeout?: number;
  readonly expires?: number;
}

const verbs = ["list", "show", "set", "delete", "pause", "resume", "run-now"] as const;
type Verb = (typeof verbs)[number];

export function schedulesCommand(): Command {
  const command = newCommand("schedules", "tasks at set times: list, set, run, delete", [
    {
      does: "every night at two, Berlin time",
      line: "yardmaster schedules set report --queue reports \\\n    --cron '0 2 * * *' --timezone Europe/Berlin full",
    },
    { does: "every five minutes", line: "yardmaster schedules set poll --queue polls --every 5m" },
    { does: "its next ten times", line: "yardmaster schedules show report" },
    { does: "one run now", line: "yardmaster schedules run-now report" },
  ])
    .description(
      `Lists and changes schedules: tasks that the dispatcher submits at set times.
Without a verb, it lists them.

list                     all schedules
show NAME                one of them, with its next ten times
set NAME [payload]       create or replace one
delete NAME              delete it; tasks that it has submitted stay
pause NAME, resume NAME  stop and go on; runs that fall in a pause are left out
run-now NAME             submit one task now

Schedules of the configuration file can be paused, resumed and run here, but
changed only in the file.`,
    )
    .usage("[verb] [name] [payload] [options]")
    .argument("[verb]", verbs.join(", "))
    .argument("[name]", "the schedule's name")
    .argument("[payload]", "with set: the payload of each task")
    .option("-q, --queue <name>", "with set: the queue of its tasks")
    .option("--cron <expression>", "five fields, or six with seconds first")
    .option("--timezone <zone>", "time zone of the cron expression (default: UTC)")
    .option("--every <duration>", "instead of --cron: 30s, 5m, 1h, 1d", durationMs)
    .option("--overlap <what>", "if the last task has not finished: skip or queue")
    .option("--catch-up <what>", "runs after downtime: one or none")
    .option("--start <time>", "no run before this time", timeText)
    .option("--end <time>", "no run after this time", timeText)
    .option("--jitter <duration>", "delay each run by a random time up to this", durationMs)
    .option("--type <type>", "content type of the payload (default: text)")
    .option("--priority <number>", "higher goes first", wholeNumber(-(2 ** 31), 2 ** 31 - 1))
    .option("--group <key>", "its tasks take turns with other groups of the queue")
    .option("--attempts <number>", "lost attempts after which a task fails", wholeNumber(1, 1_000_000))
    .option("--failures <number>", "reported failures after which a task fails", wholeNumber(1, 1_000_000))
    .option("--timeout <duration>", "time limit of an attempt", durationMs)
    .option("--expires <duration>", "expire a task if no worker has taken it by then", durationMs);
  return withYard(command).action(
    ending((verb: string | undefined, name: string | undefined, payload: string | undefined, flags: Flags) =>
      schedules(verbOf(verb), name, payload, flags),
    ),
  );
}

function verbOf(word = "list"): Verb {
  const verb = verbs.find((known) => known === word);
  if (verb === undefined) throw new UsageFault(`${JSON.stringify(word)} is not one of ${verbs.join(", ")}`);
  return verb;
}

function schedules(
  verb: Verb,
  name: string | undefined,
  payload: string | undefined,
  flags: Flags,
): Promise<number> {
  if (verb !== "list" && name === undefined) throw new UsageFault(`${verb} needs the name of a schedule`);
  const of = name ?? "";
  return askYard(flags, async (client) => {
    const { schedules: yards } = client;
    if (verb === "list") showAll(await yards.list(), flags);
    else if (verb === "show") showOne(await yards.get(of), flags);
    else if (verb === "set") showOne(await yards.put(of, optionsOf(payload, flags)), flags);
    else if (verb === "pause") showOne(await yards.pause(of), flags);
    else if (verb === "resume") showOne(await yards.resume(of), flags);
    else if (verb === "delete") await yards.delete(of);
    else {
      const task = await yards.runNow(of);
      if (flags.json) printJson({ task });
      else print(task);
    }
    return 0;
  });
}

function optionsOf(payload: string | undefined, flags: Flags): ScheduleOptions {
  const { queue, cron, timezone, every, jitter, type, priority, group } = flags;
  const { attempts, failures, timeout, expires } = flags;
  if (queue === undefined) throw new UsageFault("set needs --queue");
  if ((cron === undefined) === (every === undefined))
    throw new UsageFault("set needs either --cron or --every");
  const options = {
    queue,
    payload,
    cron,
    timezone,
    everyMs: every,
    overlap: flags.overlap,
    catchUp: flags.catchUp,
    start: flags.start === undefined ? undefined : new Date(flags.start),
    end: flags.end === undefined ? undefined : new Date(flags.end),
    jitterMs: jitter,
    contentType: type,
    priority,
    group,
    attempts,
    failures,
    timeoutMs: timeout,
    expiresMs: expires,
  };
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as unknown as ScheduleOptions;
}

function showAll(items: readonly Schedule[], { json }: Flags): void {
  printList(items, columns, { json }, "no schedules; yardmaster schedules set makes one");
}

const columns: readonly Column<Schedule>[] = [
  { title: "SCHEDULE", value: ({ name }) => name, isElastic: true },
  { title: "QUEUE", value: ({ queue }) => queue, isElastic: true },
  { title: "WHEN", value: timing, isElastic: true },
  { title: "NEXT", value: ({ nextTimes: [next = "-"] }) => next },
  { title: "LAST TASK", value: ({ lastTask }) => lastTask ?? "-", align: "right" },
  {
    title: "IS",
    value: standing,
    paint: ({ paused, trouble }, shown) =>
      paintState(trouble !== null ? "failed" : paused ? "paused" : "open", shown),
  },
];

function timing({ cron, timezone, everyMs }: Schedule): string {
  return cron === null ? `every ${durationText(everyMs ?? 0)}` : `${cron} ${timezone}`;
}

function standing({ paused, trouble, nextTimes }: Schedule): string {
  if (trouble !== null) return "refused";
  if (paused) return "paused";
  return nextTimes.length === 0 ? "ended" : "on";
}

function showOne(schedule: Schedule, { json }: Flags): void {
  if (json) {
    printJson(schedule);
    return;
  }
  const { name, queue, overlap, catchUp, origin, lastRunAt, lastTask, lastSkippedAt, trouble } = schedule;
  print(`${name}: ${timing(schedule)} to queue ${queue} (${standing(schedule)})`);
  print(
    `overlap ${overlap}, catch up ${catchUp}${origin === "config" ? ", from the configuration file" : ""}`,
  );
  if (lastRunAt !== null) print(`last run ${lastRunAt}, task ${lastTask}`);
  if (lastSkippedAt !== null) print(`last skipped ${lastSkippedAt}: the previous task had not finished`);
  if (trouble !== null) print(`the current run was refused and is being retried: ${trouble}`);
  for (const time of schedule.nextTimes) print(`next ${time}`);
}
