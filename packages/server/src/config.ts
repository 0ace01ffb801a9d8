// The configuration of a yard: its settings, their defaults, and the messages for mistakes. The
// command line takes precedence over environment variables, those over the file, and the file over
// the defaults.

import { historyLanesMax } from "@yardmaster/core";
import type * as z from "zod";
import { type AccessSettings, accessSettings } from "./access/settings.js";
import { ConfigFault } from "./config/config-fault.js";
import { type ConfigFile, readConfigFile } from "./config/config-file.js";
import { type Layers, withLayers } from "./config/layers.js";
import { type Mistake, mismatch, mistakesIn, showMistakes, unusableKeysIn } from "./config/mistakes.js";
import {
  type ClusterSettings,
  clusterSettings,
  durabilityOf,
  type PostgresSettings,
  postgresMistakes,
  postgresSettings,
} from "./config/postgres-settings.js";
import { type QueueConfig, queueSettings } from "./config/queue-settings.js";
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
import type { AnyDoorConfig, DoorDeclaration, DoorPlace } from "./registry/door-declaration.js";
import { type DoorConfig, type DoorName, doorList } from "./registry/doors.js";
import { exposureOf } from "./registry/network-settings.js";
import { type ScheduleForm, scheduleForm, scheduleName } from "./schedules/form.js";

export type EngineName = "memory" | "embedded" | "postgres";
export type Durability = "fsync" | "memory" | "replicated";
export type DoorConfigs = { readonly [Name in DoorName]: DoorConfig<Name> | false };

export interface YardConfig {
  /** The engine's folder as written, relative to the working folder. */
  readonly data: string;
  readonly engine: EngineName;
  /** What a commit survives. Always `memory` with the memory engine. */
  readonly durability: Durability;
  readonly reserveBytes: number;
  /** Present if the engine is `postgres`. */
  readonly postgres?: PostgresSettings | undefined;
  /** Present if several dispatchers share the database. */
  readonly cluster?: ClusterSettings | undefined;
  readonly limits: {
    readonly payloadBytes: number;
    readonly unfinishedBytes: number;
    readonly memoryBytes?: number | undefined;
    readonly dependedOn: number;
  };
  /** Absent: every peer that reaches a door may do everything there. */
  readonly access?: AccessSettings | undefined;
  /** `false` for a door that is closed. */
  readonly doors: DoorConfigs;
  readonly queues: Readonly<Record<string, QueueConfig>>;
  readonly schedules: Readonly<Record<string, ScheduleForm>>;
  /** Limits of retained finished tasks; all three apply. */
  readonly retention: { readonly bytes: number; readonly ageSeconds: number; readonly count: number };
  /** How long the key of a finished task still refers to it. */
  readonly keyTtlSeconds: number;
  /** How long an outcome is kept for a client that cannot be reached. */
  readonly replyTtlSeconds: number;
  /** How long running attempts may continue after SIGTERM. */
  readonly drainSeconds: number;
  /** How long running tasks wait for their workers after a start. */
  readonly graceSeconds: number;
  /** True to create spans for the OpenTelemetry SDK that the process was started with. */
  readonly traces: boolean;
}

export const engineNames = ["memory", "embedded", "postgres"] as const;
const defaultEngine: EngineName = "embedded";

/** The settings of a yard with these doors. */
export function yardSettingsWith(doors: readonly DoorDeclaration[]) {
  return settings({
    data: words("a folder").prefault("./yard-data"),
    engine: choice(engineNames).optional(),
    durability: choice(["fsync", "memory", "replicated"]).optional(),
    postgres: postgresSettings.optional(),
    cluster: clusterSettings.optional(),
    reserveBytes: wholeNumber({ from: 0 }).prefault(67_108_864),
    limits: settings({
      // A payload is one buffer, and some consumers of buffers limit their size to 32 bits.
      payloadBytes: wholeNumber({ from: 1, to: 2 ** 31 - 1 }).prefault(268_435_456),
      unfinishedBytes: wholeNumber({ from: 1 }).prefault(256 * 2 ** 20),
      memoryBytes: wholeNumber({ from: 1 }).optional(),
      dependedOn: wholeNumber({ from: 1, to: 10_000_000 }).prefault(100_000),
    }).prefault({}),
    access: accessSettings.optional(),
    doors: settings(optionalDoors(doors)).prefault({}),
    queues: namedBy(queueName(), queueSettings).prefault({}),
    schedules: namedBy(scheduleName(), scheduleForm).prefault({}),
    // The memory engine keeps finished tasks in memory, so the defaults leave room for unfinished
    // ones.
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
}

function optionalDoors(
  doors: readonly DoorDeclaration[],
): Record<string, z.ZodOptional<z.ZodType<AnyDoorConfig>>> {
  return Object.fromEntries(doors.map(({ name, settings }) => [name, settings.optional()]));
}

export interface ConfigSources extends Layers {
  /** The working folder. */
  readonly folder: string;
  /**
   * From `--config`, and then it must exist. Without it, the default file in the folder is used if
   * there is one.
   */
  readonly file?: string | undefined;
  /** The doors that can be configured; by default those of this version. */
  readonly doors?: readonly DoorDeclaration[];
}

/** Throws a ConfigFault that lists every mistake. */
export function loadConfig(sources: ConfigSources): YardConfig {
  const { doors = doorList } = sources;
  const yardSettings = yardSettingsWith(doors);
  const file = configFileOf(sources);
  const isAsked = file.givenBy?.(["engine"]) !== undefined;
  const { value, closed } = withoutClosedDoors(file.value, doors);
  const parsed = yardSettings.safeParse(value);
  if (!parsed.success) fail(file, mistakesIn(yardSettings, value, parsed.error));
  const configs = doorConfigs(doors, parsed.data.doors, closed);
  const { engine = defaultEngine } = parsed.data;
  const mistakes = [
    ...unusableKeysIn(value),
    ...mistakesOfDoors(doors, configs, parsed.data.access !== undefined),
    ...unkept(parsed.data, isAsked),
    ...postgresMistakes({ ...parsed.data, engine }, isAsked),
    ...histories(parsed.data),
  ];
  if (mistakes.length > 0) fail(file, mistakes);
  return {
    ...parsed.data,
    engine,
    durability: durabilityIn(parsed.data, engine),
    doors: configs as DoorConfigs,
  };
}

type Parsed = z.output<ReturnType<typeof yardSettingsWith>>;
type AnyConfigs = Readonly<Record<string, AnyDoorConfig | false>>;

const emptyFile: ConfigFile = { name: "yardmaster.yaml", value: {}, lineOf: () => 1 };

/** The configuration file, overridden by variables and flags. */
export function configFileOf(sources: ConfigSources): ConfigFile {
  return withLayers(readConfigFile(sources.folder, sources.file) ?? emptyFile, sources);
}

function fail(file: ConfigFile, mistakes: readonly Mistake[]): never {
  throw new ConfigFault(showMistakes(file, mistakes));
}

/**
 * `NAME: false` closes a door and is not one of its settings, so it is removed before settings are
 * checked.
 */
function withoutClosedDoors(
  value: unknown,
  known: readonly DoorDeclaration[],
): { value: unknown; closed: ReadonlySet<string> } {
  const closed = new Set<string>();
  const doors = (value as { doors?: unknown } | null)?.doors;
  if (typeof doors !== "object" || doors === null || Array.isArray(doors)) return { value, closed };
  const open: Record<string, unknown> = { ...doors };
  for (const { name } of known) {
    if (open[name] !== false) continue;
    closed.add(name);
    delete open[name];
  }
  return { value: { ...(value as object), doors: open }, closed };
}

function doorConfigs(
  doors: readonly DoorDeclaration[],
  given: Parsed["doors"],
  closed: ReadonlySet<string>,
): AnyConfigs {
  return Object.fromEntries(
    doors.map(({ name, settings }) => [name, closed.has(name) ? false : (given[name] ?? settings.parse({}))]),
  );
}

function mistakesOfDoors(
  doors: readonly DoorDeclaration[],
  configs: AnyConfigs,
  hasAccess: boolean,
): Mistake[] {
  return doors.flatMap((door) => {
    const config = configs[door.name];
    if (!config) return [];
    const found = [...(door.mistakes?.(config, { hasAccess }) ?? []), ...exposureOf(door, config, hasAccess)];
    return found.map(({ key, text }) => ({ path: ["doors", door.name, key], text }));
  });
}

/** Each queue with a retention of its own has a history of its own. */
function histories({ queues }: Parsed): Mistake[] {
  const names = Object.entries(queues).filter(([, { retention }]) => retention !== undefined);
  return names.slice(historyLanesMax).map(([name]) => ({
    path: ["queues", name, "retention"],
    text: `at most ${historyLanesMax} queues may have a retention of their own`,
  }));
}

function durabilityIn({ durability, postgres }: Parsed, engine: EngineName): Durability {
  if (engine === "memory") return "memory";
  if (engine === "postgres" && postgres !== undefined) return durabilityOf(postgres);
  return durability === "memory" ? "memory" : "fsync";
}

/** A file that asks for fsync from an engine that writes nothing would not get it. */
function unkept({ engine = defaultEngine, durability }: Parsed, isAsked: boolean): Mistake[] {
  if (isAsked || engine !== "memory" || durability !== "fsync") return [];
  return [
    { path: ["durability"], text: mismatch("fsync", "memory: the memory engine writes nothing to disk") },
  ];
}

/** What the open doors of this configuration need from the machine. */
export function placesOf(
  config: YardConfig,
  doors: readonly DoorDeclaration[] = doorList,
): (readonly [door: string, place: DoorPlace])[] {
  return doors.flatMap((door) => {
    const settings = doorConfigOf(config, door.name);
    return settings === undefined ? [] : door.places(settings).map((place) => [door.name, place] as const);
  });
}

/** Undefined if the door is closed. */
export function doorConfigOf({ doors }: Pick<YardConfig, "doors">, name: string): AnyDoorConfig | undefined {
  return (doors as AnyConfigs)[name] || undefined;
}

/**
 * The doors that a reload would open to everyone beyond loopback, in words. Addresses, `peers` and
 * mechanisms stay as they were at the start, so a reread configuration that is safe by itself may
 * not be safe for the doors that are open.
 */
export function openedByReload(
  running: YardConfig,
  reread: YardConfig,
  doors: readonly DoorDeclaration[] = doorList,
): string[] {
  return doors.flatMap((door) => {
    const settings = doorConfigOf(running, door.name);
    if (settings === undefined) return [];
    const { anonymous, token } = doorConfigOf(reread, door.name) ?? {};
    const opened = exposureOf(door, { ...settings, anonymous, token }, reread.access !== undefined);
    if (opened.length === 0) return [];
    return [
      `doors.${door.name}: it listens beyond loopback and would ask for no credential; restart instead`,
    ];
  });
}
