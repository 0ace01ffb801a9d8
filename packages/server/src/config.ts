// The configuration of a yard: what may be set, what it is when nobody sets it, and how a mistake is refused.
// A value comes from the command line, else from the file, else from here.

import type * as z from "zod";
import { ConfigFault } from "./config/config-fault.js";
import { type ConfigFile, readConfigFile } from "./config/config-file.js";
import { type DoorConfig, type DoorName, doorNames, doorSettings } from "./config/door-settings.js";
import { type Mistake, mismatch, mistakesIn, showMistakes, unusableKeysIn } from "./config/mistakes.js";
import {
  choice,
  namedBy,
  queueName,
  seconds,
  settings,
  wholeNumber,
  words,
  yesOrNo,
} from "./config/values.js";
import { isLoopback, showListenAddress } from "./listen-address.js";

export type EngineName = "memory" | "embedded";
export type Durability = "fsync" | "memory";
export type DoorConfigs = { readonly [Name in DoorName]: DoorConfig<Name> | false };

export interface YardConfig {
  /** The folder of the engine, as written: relative to the working folder. */
  readonly data: string;
  readonly engine: EngineName;
  /** What a commit survives. With the memory engine always `memory`. */
  readonly durability: Durability;
  readonly reserveBytes: number;
  readonly limits: {
    readonly payloadBytes: number;
    readonly unfinishedBytes: number;
    readonly memoryBytes?: number | undefined;
  };
  /** False: closed. */
  readonly doors: DoorConfigs;
  readonly queues: Readonly<Record<string, QueueConfig>>;
  /** Finished tasks are kept within all three. */
  readonly retention: { readonly bytes: number; readonly ageSeconds: number; readonly count: number };
  /** How long a finished task's key is still the same task. */
  readonly keyTtlSeconds: number;
  /** How long an outcome is kept for an asker that cannot be reached. */
  readonly replyTtlSeconds: number;
  /** How long running attempts may go on after SIGTERM. */
  readonly drainSeconds: number;
  /** How long after a start tasks that were running wait for their workers to come back. */
  readonly graceSeconds: number;
  /** Whether spans are made for whatever OpenTelemetry SDK the process was started with. */
  readonly traces: boolean;
}

/** What is not set falls to the yard's defaults. */
export type QueueConfig = z.output<typeof queueSettings>;

const engineNames = ["memory", "embedded"] as const;
const defaultEngine: EngineName = "embedded";

const queueSettings = settings({
  attemptTimeoutSeconds: seconds().optional(),
  attempts: wholeNumber({ from: 1, to: 1_000_000 }).optional(),
  failures: wholeNumber({ from: 1, to: 1_000_000 }).optional(),
  maxWaiting: wholeNumber({ from: 1 }).optional(),
  maxBytes: wholeNumber({ from: 1 }).optional(),
});

export const yardSettings = settings({
  data: words("a folder").prefault("./yard-data"),
  engine: choice(engineNames).optional(),
  durability: choice(["fsync", "memory"]).optional(),
  reserveBytes: wholeNumber({ from: 0 }).prefault(67_108_864),
  limits: settings({
    // A payload is one buffer, and a buffer's size is a 32-bit matter for some of what reads it.
    payloadBytes: wholeNumber({ from: 1, to: 2 ** 31 - 1 }).prefault(268_435_456),
    unfinishedBytes: wholeNumber({ from: 1 }).prefault(320 * 2 ** 20),
    memoryBytes: wholeNumber({ from: 1 }).optional(),
  }).prefault({}),
  doors: settings(optionalDoors()).prefault({}),
  queues: namedBy(queueName(), queueSettings).prefault({}),
  // What is finished lies in memory with the memory engine, so the defaults leave room for what is not.
  // The rest is not in the first design: what was a constant there can be set here.
  retention: settings({
    bytes: wholeNumber({ from: 1 }).prefault(1_073_741_824),
    ageSeconds: seconds().prefault(7 * 24 * 3600),
    count: wholeNumber({ from: 1 }).prefault(100_000),
  }).prefault({}),
  keyTtlSeconds: seconds().prefault(24 * 3600),
  replyTtlSeconds: seconds().prefault(3600),
  drainSeconds: seconds().prefault(10),
  graceSeconds: seconds().prefault(10),
  traces: yesOrNo().prefault(false),
});

function optionalDoors() {
  const shape = {} as { [Name in DoorName]: z.ZodOptional<(typeof doorSettings)[Name]> };
  for (const name of doorNames) Object.assign(shape, { [name]: doorSettings[name].optional() });
  return shape;
}

export interface ConfigSources {
  /** The working folder. */
  readonly folder: string;
  /** `--config`, which has to exist; without it the folder's own file, if there is one. */
  readonly file?: string | undefined;
  /** `--data` and `--engine`. */
  readonly data?: string | undefined;
  readonly engine?: string | undefined;
}

/** Throws a ConfigFault with every mistake in it. */
export function loadConfig(sources: ConfigSources): YardConfig {
  const asked = askedEngine(sources.engine);
  const file = readConfigFile(sources.folder, sources.file) ?? emptyFile;
  const { value, closed } = withoutClosedDoors(file.value);
  const parsed = yardSettings.safeParse(value);
  if (!parsed.success) fail(file, mistakesIn(yardSettings, value, parsed.error));
  const mistakes = [...unusableKeysIn(value), ...exposed(parsed.data), ...unkept(parsed.data, asked)];
  if (mistakes.length > 0) fail(file, mistakes);
  const engine = asked ?? parsed.data.engine ?? defaultEngine;
  return {
    ...parsed.data,
    data: sources.data ?? parsed.data.data,
    engine,
    durability: engine === "memory" ? "memory" : (parsed.data.durability ?? "fsync"),
    doors: doorConfigs(parsed.data.doors, closed),
  };
}

type Parsed = z.output<typeof yardSettings>;

const emptyFile: ConfigFile = { name: "yardmaster.yaml", value: {}, lineOf: () => 1 };

function fail(file: ConfigFile, mistakes: readonly Mistake[]): never {
  throw new ConfigFault(showMistakes(file, mistakes));
}

function askedEngine(name: string | undefined): EngineName | undefined {
  if (name === undefined) return undefined;
  const engine = engineNames.find((known) => known === name);
  if (!engine) throw new ConfigFault([`--engine: ${mismatch(name, `one of ${engineNames.join(", ")}`)}`]);
  return engine;
}

/** `NAME: false` is said of a door and not a setting of it, so it is taken out before settings are checked. */
function withoutClosedDoors(value: unknown): { value: unknown; closed: ReadonlySet<string> } {
  const closed = new Set<string>();
  const doors = (value as { doors?: unknown } | null)?.doors;
  if (typeof doors !== "object" || doors === null || Array.isArray(doors)) return { value, closed };
  const open: Record<string, unknown> = { ...doors };
  for (const name of doorNames) {
    if (open[name] !== false) continue;
    closed.add(name);
    delete open[name];
  }
  return { value: { ...(value as object), doors: open }, closed };
}

function doorConfigs(given: Parsed["doors"], closed: ReadonlySet<string>): DoorConfigs {
  const configs = doorNames.map((name) => [
    name,
    closed.has(name) ? false : (given[name] ?? doorSettings[name].parse({})),
  ]);
  return Object.fromEntries(configs) as DoorConfigs;
}

/** Beyond loopback anybody can submit work, so there a token is asked for. */
function exposed({ doors: { http } }: Parsed): Mistake[] {
  if (!http || http.token !== undefined || isLoopback(http.listen.host)) return [];
  const where = showListenAddress(http.listen);
  return [
    { path: ["doors", "http", "listen"], text: `${where} is beyond loopback, which needs doors.http.token` },
  ];
}

/** A file that asks for fsync of an engine that writes nothing asks for what it will not get. */
function unkept({ engine = defaultEngine, durability }: Parsed, asked: EngineName | undefined): Mistake[] {
  if (asked || engine !== "memory" || durability !== "fsync") return [];
  return [
    { path: ["durability"], text: mismatch("fsync", "memory: the memory engine writes nothing to disk") },
  ];
}
