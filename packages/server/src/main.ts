// The composition root: the only place that knows engine, runtime and doors together.

import { randomBytes } from "node:crypto";
import { type Engine, MemoryEngine } from "@yardmaster/engines";
import type { Logger } from "pino";
import { Registry } from "prom-client";
import { realClock } from "./clock.js";
import type { YardConfig } from "./config.js";
import { coreOptionsOf, msOf } from "./core-options.js";
import type { DoorAddresses } from "./door-kit/door.js";
import { HttpDoor } from "./doors/http.js";
import { Runtime } from "./runtime.js";

export interface ServeOptions {
  readonly config: YardConfig;
  readonly log: Logger;
}

/** A dispatcher with all its doors open. */
export interface RunningYard {
  readonly engine: string;
  readonly durability: Engine["durability"];
  readonly doors: Readonly<Record<string, DoorAddresses>>;
  readonly closedDoors: readonly string[];
  /** Resolves when it cannot go on; what was committed is safe. */
  readonly fault: Promise<Error>;
  /** Drains, commits and closes. */
  stop(): Promise<void>;
}

/** Rejects with a StartFault when a door or the engine cannot be opened; then nothing is left open. */
export async function serve({ config, log }: ServeOptions): Promise<RunningYard> {
  const engine = new MemoryEngine();
  let fail: (fault: Error) => void = () => {};
  const fault = new Promise<Error>((resolve) => {
    fail = resolve;
  });
  const core = coreOptionsOf(config, Math.random);
  const runtime = new Runtime({ engine, clock: realClock, core, onFatal: fail });
  let doors: Readonly<Record<string, DoorAddresses>> = {};
  attachDoors(runtime, { config, log }, () => doors);
  await runtime.start();
  try {
    doors = await runtime.openDoors();
  } catch (failure) {
    await runtime.stop(0);
    throw failure;
  }
  return {
    engine: engine.name,
    durability: engine.durability,
    doors,
    closedDoors: Object.keys(config.doors).filter((name) => doors[name] === undefined),
    fault,
    stop: () => runtime.stop(msOf(config.drainSeconds)),
  };
}

function attachDoors(
  runtime: Runtime,
  { config, log }: ServeOptions,
  doors: () => Readonly<Record<string, DoorAddresses>>,
): void {
  const { http } = config.doors;
  const metrics = new Registry();
  if (http !== false) {
    const door = new HttpDoor({
      port: runtime.port("http"),
      config: http,
      payloadBytesMax: config.limits.payloadBytes,
      secret: randomBytes(secretBytes),
      // A door that is not in the list yet is not open, and this one is opened like the others.
      facts: {
        isReady: () => runtime.isRunning && doors().http !== undefined,
        metrics: () => metrics.metrics(),
        doors,
      },
      log,
    });
    runtime.attach(door);
  }
}

/** As long as the seal's own digest; more would add nothing. */
const secretBytes = 32;
