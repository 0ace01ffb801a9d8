// The composition root, the only file that knows engine, runtime and doors.

import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { defaultLimits, type WallTime } from "@yardmaster/core";
import { type Engine, PostgresEngine } from "@yardmaster/engines";
import { Assembly } from "@yardmaster/zmtp";
import type { Logger } from "pino";
import { Access, type AccessOptions } from "./access/access.js";
import { realClock } from "./clock.js";
import { asLoss, type ClusterFacts, clusterFacts, OwnershipEnded } from "./cluster.js";
import { ConfigFault } from "./config/config-fault.js";
import { msOf } from "./config/queue-settings.js";
import { doorConfigOf, openedByReload, type YardConfig } from "./config.js";
import { ConnectionLimit, connectionsIn } from "./connection-limit.js";
import { coreOptionsOf } from "./core-options.js";
import type { Door, DoorAddresses } from "./door-kit/door.js";
import type { LogFault } from "./door-kit/faults.js";
import { Tap } from "./door-kit/tap.js";
import { asStartFault, createEngine, diskOf, storedBytes } from "./engine-choice.js";
import type { YardFacts } from "./http/yard-routes.js";
import { defaultMemoryBytes, MemoryWatch } from "./memory-watch.js";
import { Metrics } from "./metrics.js";
import type { DeclaredDoor, DoorDeclaration } from "./registry/door-declaration.js";
import { doorList } from "./registry/doors.js";
import type { Loading } from "./restore.js";
import { Runtime } from "./runtime.js";
import type { Tracing } from "./tracing.js";

export interface ServeOptions {
  readonly config: YardConfig;
  readonly log: Logger;
  /** The doors that can be configured; by default those of this version. */
  readonly declarations?: readonly DoorDeclaration[];
  /**
   * Progress of the start: called once before the store is opened, once when it is open, and
   * repeatedly while it is loaded.
   */
  readonly onLoading?: (loading: StartLoading) => void;
  /** With `cluster`: it waits for its turn, and these doors are open. */
  readonly onStandby?: (standby: Standby) => void;
}

export interface Standby {
  readonly node: string;
  readonly doors: Readonly<Record<string, DoorAddresses>>;
}

export type StartLoading =
  | { readonly type: "opening"; readonly storeBytes: number }
  /** `tasks` is the number of tasks to load, if the engine knows it. */
  | { readonly type: "opened"; readonly tasks: number | undefined }
  | ({ readonly type: "loading" } & Loading);

/** A dispatcher with all its doors open. */
export interface RunningYard {
  readonly engine: string;
  readonly durability: Engine["durability"];
  /** The folder of the engine, as configured. */
  readonly data: string;
  readonly doors: Readonly<Record<string, DoorAddresses>>;
  readonly closedDoors: readonly string[];
  /** Remarks on doors, by door name, shown next to their addresses. */
  readonly notes: Readonly<Record<string, string>>;
  /** Resolves when the dispatcher cannot continue. Everything committed is safe. */
  readonly fault: Promise<Error>;
  /**
   * Applies settings that can be added while running, from a config that was read again. Returns
   * what was added, in words.
   */
  reload(config: YardConfig): Promise<readonly string[]>;
  /** Drains, commits and closes. */
  stop(): Promise<void>;
}

/** Rejects with a StartFault if a door or the engine cannot be opened. Nothing stays open then. */
export async function serve(options: ServeOptions): Promise<RunningYard> {
  const { config, log, declarations = doorList, onLoading, onStandby } = options;
  const access = new Access(accessOptionsOf(config));
  sayWarnings(access, log);
  let shortage: string | undefined;
  let refusingSince: number | undefined;
  const engine = createEngine(config, log, {
    onFault: (broken) => runtime.fail(broken),
    onShortage: (found) => {
      shortage = found;
      refusingSince = Date.now();
      store.post({ type: "store-room-changed", shortage });
    },
    advertised: () => config.cluster?.advertise ?? ownUrl(config, doors.http?.listen),
  });
  const postgres = engine instanceof PostgresEngine ? engine : undefined;
  const member = postgres?.member;
  let fail: (fault: Error) => void = () => {};
  const fault = new Promise<Error>((resolve) => {
    fail = resolve;
  });
  const core = coreOptionsOf(config, Math.random);
  const metrics = new Metrics();
  const tap = new Tap();
  metrics.watchTap(tap);
  const runtime = new Runtime({
    engine,
    tap,
    clock: realClock,
    core,
    // Open requests are answered with an error, and no new connections are accepted.
    onFatal: (broken) => void runtime.closeDoors().finally(() => fail(asLoss(broken, postgres))),
    onCommitted: metrics.committed,
    onOpened: (tasks) => onLoading?.({ type: "opened", tasks }),
    onLoading: (loading) => onLoading?.({ type: "loading", ...loading }),
  });
  const store = runtime.port("yard");
  metrics.watchAccess(access);
  const memory = new MemoryWatch({
    bytesMax: config.limits.memoryBytes ?? defaultMemoryBytes(),
    onChange: (isShort) => {
      runtime.noteMemory(isShort);
      refusingSince = Date.now();
      if (isShort) log.warn({ reason: memory.shortage }, "short of memory: new tasks are refused");
      else log.info("memory is there again: new tasks are accepted");
    },
  });
  metrics.watchMachine({
    version,
    engine: engine.name,
    durability: engine.durability,
    memoryBytesMax: memory.bytesMax,
    memoryBytes: () => memory.bytes,
    disk: () => diskOf(config),
  });
  // Loaded only when configured.
  const traces = config.traces ? (await import("./tracing.js")).startTracing(version) : undefined;
  if (traces) runtime.port("traces").reads.follow(traces.follow);
  let doors: Readonly<Record<string, DoorAddresses>> = {};
  let isOpen = false;
  onLoading?.({ type: "opening", storeBytes: storedBytes(config) });
  const refusing = () => {
    const reason =
      shortage ?? (memory.shortage === undefined ? undefined : `short of memory: ${memory.shortage}`);
    return reason === undefined ? undefined : { reason, since: refusingSince as WallTime | undefined };
  };
  const cluster =
    member &&
    clusterFacts(
      member,
      () => isOpen,
      () => void stepDown().catch(fail),
    );
  const stepDown = async () => {
    log.info("this node steps down");
    memory.stop();
    // What was decided is committed. Attempts stay with their workers, as after a crash.
    await Promise.race([store.reads.whenSafe(), pause(handOverMsMax)]);
    runtime.kill();
    const closing = runtime.closeDoors();
    await engine.close();
    await closing;
    fail(new OwnershipEnded("This dispatcher stepped down."));
  };
  const attached = attachDoors({
    cluster,
    engine,
    runtime,
    metrics,
    memory,
    traces,
    config,
    log,
    declarations,
    doors: () => doors,
    refusing,
    tap,
    access,
  });
  if (member !== undefined) {
    metrics.watchCluster(member);
    doors = await openEarly(attached);
    onStandby?.({ node: member.node, doors });
  }
  try {
    await asStartFault(runtime.start());
  } catch (failure) {
    await Promise.all(attached.map((door) => door.openEarly && door.close()));
    throw asLoss(failure as Error, postgres);
  }
  metrics.watchRuntime(runtime);
  // A shortage that was found before the core existed.
  if (shortage !== undefined) store.post({ type: "store-room-changed", shortage });
  try {
    doors = await runtime.openDoors();
    isOpen = true;
  } catch (failure) {
    await runtime.stop(0);
    throw failure;
  }
  memory.start();
  const connections = limitConnections(runtime, log);
  return {
    engine: engine.name,
    durability: engine.durability,
    data: config.data,
    get doors() {
      return doors;
    },
    closedDoors: Object.keys(config.doors).filter((name) => doors[name] === undefined),
    notes: notesOf(attached),
    fault,
    async reload(reread) {
      const opened = openedByReload(config, reread, declarations);
      if (opened.length > 0) throw new ConfigFault(opened);
      const { revoked, ...principals } = access.reload(accessOptionsOf(reread));
      sayWarnings(access, log);
      const added = await reloadDoors(attached, reread);
      const addresses = Object.entries(added).flatMap(([name, given]) => {
        doors = { ...doors, [name]: { ...doors[name], ...given } };
        return Object.entries(given).map(([key, address]) => `doors.${name}.${key}: ${address}`);
      });
      return [
        ...addresses,
        ...principals.added.map((name) => `access.principals.${name}: added`),
        ...principals.removed.map((name) => `access.principals.${name}: removed`),
        ...revoked.map((name) => `access.principals.${name}: a credential was revoked`),
      ];
    },
    // Results still arrive while it drains, and need to know how much memory is free.
    stop: () =>
      asStartFault(runtime.stop(msOf(config.drainSeconds))).finally(() => {
        memory.stop();
        connections?.stop();
      }),
  };
}

/** How often a lack of descriptors is logged at most. */
const refusedLogMs = 60_000;

function limitConnections(runtime: Runtime, log: Logger): ConnectionLimit | undefined {
  const connectionsMax = connectionsIn();
  if (connectionsMax === undefined) return undefined;
  let quietUntil = 0;
  const limit = new ConnectionLimit({
    connectionsMax,
    onRefused: () => {
      runtime.counters.limitsReached.add("descriptors");
      if (performance.now() < quietUntil) return;
      quietUntil = performance.now() + refusedLogMs;
      const open = limit.open;
      log.warn({ open, connectionsMax }, "too many connections are open: raise the limit of open files");
    },
  });
  limit.start();
  return limit;
}

/** How long a batch may take when a node steps down. */
const handOverMsMax = 2_000;

/** Where the http door listens, unless it listens on all addresses. */
function ownUrl({ doors }: YardConfig, listen: string | undefined): string | undefined {
  if (doors.http === false || listen === undefined || /^(0\.0\.0\.0|\[::\]):/.test(listen)) return undefined;
  return `${doors.http.tls === undefined ? "http" : "https"}://${listen}`;
}

async function openEarly(attached: readonly Door[]): Promise<Record<string, DoorAddresses>> {
  const doors: Record<string, DoorAddresses> = {};
  for (const door of attached) {
    const opened = await door.openEarly?.();
    if (opened !== undefined) doors[door.name] = opened;
  }
  return doors;
}

interface Parts extends Required<Pick<ServeOptions, "config" | "log" | "declarations">> {
  readonly runtime: Runtime;
  readonly metrics: Metrics;
  readonly memory: MemoryWatch;
  readonly traces: Tracing | undefined;
  readonly doors: () => Readonly<Record<string, DoorAddresses>>;
  readonly refusing: NonNullable<YardFacts["refusing"]>;
  readonly tap: Tap;
  readonly access: Access;
  readonly cluster: ClusterFacts | undefined;
  readonly engine: Engine;
}

function attachDoors(parts: Parts): readonly DeclaredDoor[] {
  const { runtime, metrics, memory, traces, config, log, doors, refusing, tap, access, declarations } = parts;
  const attached: DeclaredDoor[] = [];
  const facts: YardFacts = {
    version,
    // True only when all doors are open.
    isReady: () => runtime.isRunning && doors().http !== undefined,
    shortage: () => memory.shortage,
    metrics: () => metrics.render(),
    doors,
    specs: () => attached.flatMap((door) => door.specs?.() ?? []),
    faults: () => attached.map(({ name, faults }) => [name, faults] as const),
    refusing,
    durability: parts.engine.durability,
    retentionMs: msOf(config.retention.ageSeconds),
    ownHosts: config.cluster?.advertise ? [new URL(config.cluster.advertise).hostname] : [],
    cluster: parts.cluster,
  };
  const assembly = new Assembly(config.limits.unfinishedBytes);
  memory.bound(assembly);
  const shared = {
    payloadBytesMax: config.limits.payloadBytes,
    peersMax: defaultLimits.workers,
    assembly,
    queues: queuesIn(config),
    data: config.data,
    isRemembered: config.engine !== "memory",
    tap,
    access,
    api: { facts, fileSettings: settingsInFile(config), log, traces },
  };
  for (const declaration of declarations) {
    const { name } = declaration;
    const settings = doorConfigOf(config, name);
    if (settings === undefined) continue;
    const door = declaration.make(settings, {
      ...shared,
      port: runtime.port(name),
      log: logFaults(name, log),
    });
    runtime.attach(door);
    metrics.watchFaults(name, door.faults);
    memory.bound(...(door.rooms ?? []));
    attached.push(door);
  }
  return attached;
}

/** What decides who may come in, out of the whole configuration. */
function accessOptionsOf({ access, doors }: YardConfig): AccessOptions {
  return { settings: access, doors: doors as AccessOptions["doors"] };
}

function sayWarnings({ warnings }: Access, log: Logger): void {
  for (const warning of warnings) log.warn(warning);
}

/** Queues that always exist: those with settings, and those of doors. */
function queuesIn({ queues, doors }: YardConfig): readonly string[] {
  const ofDoors = Object.values(doors).flatMap((door) =>
    door !== false && "queue" in door ? [door.queue] : [],
  );
  return [...new Set([...Object.keys(queues), ...ofDoors])];
}

/** Which settings of each queue are in the configuration file. */
function settingsInFile({ queues }: YardConfig): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map(Object.entries(queues).map(([name, given]) => [name, new Set(Object.keys(given))]));
}

/** The addresses that were added, by door. */
async function reloadDoors(
  doors: readonly Door[],
  config: YardConfig,
): Promise<Readonly<Record<string, DoorAddresses>>> {
  const added: Record<string, DoorAddresses> = {};
  for (const door of doors) {
    const settings = doorConfigOf(config, door.name);
    if (settings !== undefined && door.reload !== undefined)
      added[door.name] = await door.reload(settings, queuesIn(config));
  }
  return added;
}

function notesOf(doors: readonly Door[]): Readonly<Record<string, string>> {
  return Object.fromEntries(doors.flatMap(({ name, note }) => (note === undefined ? [] : [[name, note]])));
}

function logFaults(door: string, log: Logger): LogFault {
  return (kind, peer, detail) =>
    log.warn({ door, kind, peer, ...(detail === "" ? {} : { detail }) }, "a peer's fault");
}

const version: string = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version;
