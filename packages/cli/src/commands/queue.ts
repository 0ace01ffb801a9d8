// `yardmaster queue`: shows the settings of one queue and where each comes from, and changes them.

import { type HttpClient, type QueueDetail, type QueueSettings, YardError } from "@yardmaster/sdk";
import { type Command, InvalidArgumentError } from "commander";
import { count, durationMs, wholeNumber } from "../amounts.js";
import {
  askYard,
  CommandFault,
  ending,
  newCommand,
  print,
  printJson,
  UsageFault,
  withYard,
  type YardOptions,
} from "../command.js";
import { type Column, tableLines } from "../table.js";
import { standing } from "./queues.js";

interface Flags extends YardOptions {
  readonly maxRunning?: number;
  readonly maxRunningPerGroup?: number;
  readonly rate?: QueueSettings["rate"];
  readonly attempts?: number;
  readonly failures?: number;
  readonly timeout?: number;
  readonly maxWaiting?: number;
  readonly maxBytes?: number;
  readonly backoffFirst?: number;
  readonly backoffFactor?: number;
  readonly backoffMax?: number;
  readonly backoffJitter?: number;
  readonly retentionBytes?: number;
  readonly retentionAge?: number;
  readonly retentionCount?: number;
  readonly reset?: readonly string[];
  readonly create?: boolean;
}

const countMax = 1_000_000_000;

export function queueCommand(): Command {
  const command = newCommand("queue", "show one queue and its settings, or change them", [
    { does: "the settings in force, and where each comes from", line: "yardmaster queue mail" },
    {
      does: "at most 5 at once, and 100 a minute",
      line: "yardmaster queue mail --max-running 5 --rate 100/1m",
    },
    {
      does: "reset to the configuration file",
      line: "yardmaster queue mail --reset maxRunning rate",
    },
  ])
    .description(
      `Shows one queue with the settings in force and where each comes from, or changes
settings. A setting given here overrides the configuration file, also after a
restart, until it is reset.`,
    )
    .argument("<name>", "the queue")
    .option("--max-running <number>", "maximum number of running tasks", wholeNumber(1, countMax))
    .option(
      "--max-running-per-group <number>",
      "maximum number of running tasks per group",
      wholeNumber(1, countMax),
    )
    .option("--rate <tasks/duration>", "maximum number of starts per time: 100/1m", rate)
    .option("--attempts <number>", "lost attempts after which a task fails", wholeNumber(1, 1_000_000))
    .option("--failures <number>", "reported failures after which a task fails", wholeNumber(1, 1_000_000))
    .option("--timeout <duration>", "time limit of an attempt", durationMs)
    .option("--max-waiting <number>", "maximum number of waiting tasks; more are refused", wholeNumber(1))
    .option("--max-bytes <number>", "maximum size of their payloads, in bytes", wholeNumber(1))
    .option("--backoff-first <duration>", "delay before the first retry", durationMs)
    .option("--backoff-factor <number>", "factor by which each further delay grows", share(1, 1000))
    .option("--backoff-max <duration>", "the longest delay", durationMs)
    .option("--backoff-jitter <number>", "share by which delays vary at random", share(0, 1))
    .option("--retention-bytes <number>", "bytes of finished tasks that are kept", wholeNumber(1))
    .option("--retention-age <duration>", "how long they are kept", durationMs)
    .option("--retention-count <number>", "how many are kept", wholeNumber(1))
    .option("--reset <setting...>", "reset these settings, by the names that are shown")
    .option("--create", "create the queue if it does not exist");
  return withYard(command).action(ending(queue));
}

/** `100/1m`: tasks, and the time in which they may start. */
function rate(written: string): NonNullable<QueueSettings["rate"]> {
  const [, tasks, time] = /^(\d+)\/(.+)$/.exec(written) ?? [];
  if (tasks === undefined || time === undefined)
    throw new InvalidArgumentError("expected tasks and a time, such as 100/1m.");
  return { tasks: wholeNumber(1, countMax)(tasks), perSeconds: durationMs(time) / 1000 };
}

function share(from: number, to: number) {
  return (written: string): number => {
    const value = Number(written);
    if (written.trim() !== "" && value >= from && value <= to) return value;
    throw new InvalidArgumentError(`expected a number from ${from} to ${to}.`);
  };
}

async function queue(name: string, flags: Flags): Promise<number> {
  const settings = settingsOf(flags);
  return askYard(flags, async (client) => {
    const changes = Object.keys(settings).length > 0;
    const view = changes
      ? await known(name, flags.create !== true, () =>
          client.setQueue(name, settings, { create: flags.create === true }),
        )
      : await knownQueue(client, name, true);
    if (flags.json) printJson(view);
    else show(view);
    return 0;
  });
}

/** Throws CommandFault if there is no such queue. `isAdvised`: the command could create it. */
export function knownQueue(client: HttpClient, name: string, isAdvised = false): Promise<QueueDetail> {
  return known(name, isAdvised, () => client.queue(name));
}

async function known(
  name: string,
  isAdvised: boolean,
  ask: () => ReturnType<HttpClient["queue"]>,
): Promise<QueueDetail> {
  try {
    return await ask();
  } catch (fault) {
    if (!(fault instanceof YardError && fault.code === "not_found")) throw fault;
    const advice = isAdvised ? " To create it, add --create." : "";
    throw new CommandFault(`there is no queue ${name}; yardmaster queues lists them.${advice}`, {
      cause: fault,
    });
  }
}

function settingsOf(flags: Flags): QueueSettings {
  const { maxRunning, maxRunningPerGroup, attempts, failures, maxWaiting, maxBytes, timeout } = flags;
  const backoff = given({
    firstSeconds: secondsOf(flags.backoffFirst),
    factor: flags.backoffFactor,
    maxSeconds: secondsOf(flags.backoffMax),
    jitter: flags.backoffJitter,
  });
  const retention = given({
    bytes: flags.retentionBytes,
    ageSeconds: secondsOf(flags.retentionAge),
    count: flags.retentionCount,
  });
  const changes = given({
    maxRunning,
    maxRunningPerGroup,
    rate: flags.rate,
    attempts,
    failures,
    attemptTimeoutSeconds: secondsOf(timeout),
    maxWaiting,
    maxBytes,
    backoff: Object.keys(backoff).length === 0 ? undefined : backoff,
    retention: Object.keys(retention).length === 0 ? undefined : retention,
  });
  const both = flags.reset?.find((name) => name in changes);
  if (both !== undefined) throw new UsageFault(`${both} is set and reset: give one of them`);
  return { ...changes, ...Object.fromEntries((flags.reset ?? []).map((name) => [name, null])) };
}

function secondsOf(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}

function given<Values extends object>(
  values: Values,
): { [Name in keyof Values]?: Exclude<Values[Name], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;
}

type Row = readonly [name: string, setting: { readonly value: unknown; readonly from: string }];

const columns: readonly Column<Row>[] = [
  { title: "SETTING", value: ([name]) => name },
  { title: "VALUE", value: ([name, { value }]) => shown(name, value) },
  { title: "FROM", value: ([, { from }]) => from },
];

function show(view: QueueDetail): void {
  const { name, waiting, running, groups } = view;
  const grouped = groups === 0 ? "" : `, ${count(groups)} groups`;
  print(`${name}: ${standing(view)}, ${count(waiting)} waiting, ${count(running)} running${grouped}`);
  for (const line of tableLines(Object.entries(view.settings), columns)) print(line);
}

function shown(name: string, value: unknown): string {
  if (value === null) return name === "retention" ? "in common" : "no limit";
  if (typeof value !== "object") return String(value);
  return Object.entries(value as object)
    .map(([name, part]) => `${name} ${part}`)
    .join(", ");
}
