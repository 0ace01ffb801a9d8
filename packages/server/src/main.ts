// The composition root: the only place that knows engine, runtime and doors together.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { defaultLimits } from "@yardmaster/core";
import type { Engine } from "@yardmaster/engines";
import type { Logger } from "pino";
import { realClock } from "./clock.js";
import type { YardConfig } from "./config.js";
import { coreOptionsOf, msOf } from "./core-options.js";
import type { Door, DoorAddresses } from "./door-kit/door.js";
import type { LogFault } from "./door-kit/faults.js";
import { Tap } from "./door-kit/tap.js";
import { HttpDoor } from "./doors/http.js";
import { MoniqueDoor, type ShownSpec } from "./doors/monique.js";
import { PingpongDoor } from "./doors/pingpong.js";
import { PulseDoor } from "./doors/pulse.js";
import { ScalerDoor } from "./doors/scaler.js";
import { UdpDoor } from "./doors/udp.js";
import { asStartFault, createEngine, storedBytes } from "./engine-choice.js";
import { defaultMemoryBytes, MemoryWatch } from "./memory-watch.js";
import { Metrics } from "./metrics.js";
import type { Loading } from "./restore.js";
import { Runtime } from "./runtime.js";
import type { Tracing } from "./tracing.js";

export interface ServeOptions {
  readonly config: YardConfig;
  readonly log: Logger;
  /** How far the start is: once before the store is opened, once when it is, and often while it is loaded. */
  readonly onLoading?: (loading: StartLoading) => void;
}

export type StartLoading =
  | { readonly type: "opening"; readonly storeBytes: number }
  /** `tasks`: how many there are to load, where the engine knows. */
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
  /** What is to be known of a door beside its addresses, by its name. */
  readonly notes: Readonly<Record<string, string>>;
  /** Resolves when it cannot go on; what was committed is safe. */
  readonly fault: Promise<Error>;
  /** Takes on what can be added while it runs, from a config that was read again; what that was, in words. */
  reload(config: YardConfig): Promise<readonly string[]>;
  /** Drains, commits and closes. */
  stop(): Promise<void>;
}

/** Rejects with a StartFault when a door or the engine cannot be opened; then nothing is left open. */
export async function serve({ config, log, onLoading }: ServeOptions): Promise<RunningYard> {
  let shortage: string | undefined;
  const engine = createEngine(config, log, {
    onFault: (broken) => runtime.fail(broken),
    onShortage: (found) => {
      shortage = found;
      store.post({ type: "store-room-changed", shortage });
    },
  });
  let fail: (fault: Error) => void = () => {};
  const fault = new Promise<Error>((resolve) => {
    fail = resolve;
  });
  const core = coreOptionsOf(config, Math.random);
  const metrics = new Metrics();
  const runtime = new Runtime({
    engine,
    clock: realClock,
    core,
    onFatal: (broken) => {
      // Whoever waits for an answer is told that there will be none, and nobody is taken in any more.
      void runtime.closeDoors().finally(() => fail(broken));
    },
    onCommitted: metrics.committed,
    onOpened: (tasks) => onLoading?.({ type: "opened", tasks }),
    onLoading: (loading) => onLoading?.({ type: "loading", ...loading }),
  });
  const store = runtime.port("yard");
  metrics.watchRuntime(runtime);
  const memory = new MemoryWatch({
    bytesMax: config.limits.memoryBytes ?? defaultMemoryBytes(),
    onChange: (isShort) => {
      runtime.noteMemory(isShort);
      if (isShort) log.warn({ reason: memory.shortage }, "short of memory: new tasks are refused");
      else log.info("memory is there again: new tasks are accepted");
    },
  });
  // Not even loaded unless it was asked for.
  const traces = config.traces ? (await import("./tracing.js")).startTracing(version) : undefined;
  if (traces) runtime.port("traces").reads.follow(traces.follow);
  let doors: Readonly<Record<string, DoorAddresses>> = {};
  onLoading?.({ type: "opening", storeBytes: storedBytes(config) });
  const attached = attachDoors({ runtime, metrics, memory, traces, config, log, doors: () => doors });
  await asStartFault(runtime.start());
  // What was found before there was a core to tell.
  if (shortage !== undefined) store.post({ type: "store-room-changed", shortage });
  try {
    doors = await runtime.openDoors();
  } catch (failure) {
    await runtime.stop(0);
    throw failure;
  }
  memory.start();
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
      const added = await reloadDoors(attached, reread);
      if (doors.monique !== undefined) doors = { ...doors, monique: { ...doors.monique, ...added } };
      return Object.entries(added).map(([name, address]) => `doors.monique.${name}: ${address}`);
    },
    stop: () => {
      memory.stop();
      return asStartFault(runtime.stop(msOf(config.drainSeconds)));
    },
  };
}

interface Parts extends ServeOptions {
  readonly runtime: Runtime;
  readonly metrics: Metrics;
  readonly memory: MemoryWatch;
  readonly traces: Tracing | undefined;
  readonly doors: () => Readonly<Record<string, DoorAddresses>>;
}

function attachDoors({ runtime, metrics, memory, traces, config, log, doors }: Parts): readonly Door[] {
  const { http, monique, pingpong, pulse, scaler, udp } = config.doors;
  const attached: Door[] = [];
  const attach = (door: HttpDoor | MoniqueDoor | PingpongDoor | PulseDoor | ScalerDoor | UdpDoor) => {
    runtime.attach(door);
    metrics.watchFaults(door.name, door.faults);
    attached.push(door);
  };
  const tap = new Tap();
  metrics.watchTap(tap);
  const { payloadBytes: payloadBytesMax } = config.limits;
  const common = (name: string) => ({
    port: runtime.port(name),
    payloadBytesMax,
    peersMax: defaultLimits.workers,
    unfinishedBytesMax: config.limits.unfinishedBytes,
    log: logFaults(name, log),
    tap,
  });
  if (http !== false) {
    const facts = {
      version,
      // Known only when all doors are open.
      isReady: () => runtime.isRunning && doors().http !== undefined,
      shortage: () => memory.shortage,
      metrics: () => metrics.render(),
      doors,
      specs: () => specsOf(attached),
    };
    const secret = randomBytes(secretBytes);
    const port = runtime.port("http");
    const queues = queuesIn(config);
    attach(new HttpDoor({ port, config: http, payloadBytesMax, secret, facts, log, tap, traces, queues }));
  }
  if (pingpong !== false) attach(new PingpongDoor({ ...common("pingpong"), config: pingpong }));
  if (pulse !== false) attach(new PulseDoor({ ...common("pulse"), config: pulse, data: config.data }));
  if (udp !== false) attach(new UdpDoor({ ...common("udp"), config: udp }));
  if (monique !== false)
    attach(new MoniqueDoor({ ...common("monique"), config: monique, queues: queuesIn(config) }));
  if (scaler !== false)
    attach(new ScalerDoor({ ...common("scaler"), config: scaler, isRemembered: config.engine !== "memory" }));
  return attached;
}

/** Queues that are there whoever asks: those with settings, and those of doors. */
function queuesIn({ queues, doors }: YardConfig): readonly string[] {
  const ofDoors = Object.values(doors).flatMap((door) =>
    door !== false && "queue" in door ? [door.queue] : [],
  );
  return [...new Set([...Object.keys(queues), ...ofDoors])];
}

function specsOf(doors: readonly Door[]): readonly ShownSpec[] {
  return doors.flatMap((door) => (door instanceof MoniqueDoor ? door.specs() : []));
}

async function reloadDoors(doors: readonly Door[], config: YardConfig): Promise<DoorAddresses> {
  const door = doors.find((each) => each instanceof MoniqueDoor);
  const { monique } = config.doors;
  return door === undefined || monique === false ? {} : door.reload(monique, queuesIn(config));
}

function notesOf(doors: readonly Door[]): Readonly<Record<string, string>> {
  return Object.fromEntries(doors.flatMap(({ name, note }) => (note === undefined ? [] : [[name, note]])));
}

function logFaults(door: string, log: Logger): LogFault {
  return (kind, peer, detail) =>
    log.warn({ door, kind, peer, ...(detail === "" ? {} : { detail }) }, "a peer's fault");
}

const version: string = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version;

/** As long as the seal's own digest; more would add nothing. */
const secretBytes = 32;
