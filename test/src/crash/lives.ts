// One dispatcher that is killed and started many times: the real command with the same folder and
// addresses. The first start picks free ports, and later ones reuse them, so no port is released
// before it is bound.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { DoorAddresses, DoorName } from "@yardmaster/server";
import { ownLoopback } from "../own-loopback.js";
import { pause } from "./timing.js";

const bin = fileURLToPath(new URL("../../../packages/cli/bin/yardmaster.js", import.meta.url));

export interface Addresses {
  readonly http: string;
  readonly pingpongClients: string;
  readonly pingpongWorkers: string;
  readonly udp: string;
  readonly pulse: string;
  readonly scaler: string;
  /** The port of the only spec that has a controller. */
  readonly monique: string;
}

/** The spec of monique's tasks in this test. */
export const moniqueSpec = "crash_echo";

/**
 * How often a start is retried because another program briefly has one of its ports, and the pause
 * between tries.
 */
const portTries = 100;
const portPauseMs = 200;

type Doors = Readonly<Record<string, DoorAddresses>>;

const free = `${ownLoopback}:0`;

/** The settings of each door: the addresses that it had before, or free ones. */
const settings: Readonly<Record<DoorName, (had: DoorAddresses, folder: string) => object>> = {
  http: ({ listen = free }) => ({ listen }),
  pingpong: ({ clients = free, workers = free }) => ({ clients, workers }),
  udp: ({ client_address }) => ({ client_address: { host: ownLoopback, port: portOf(client_address) } }),
  pulse: (_had, folder) => ({ dir: join(folder, "controller") }),
  scaler: ({ listen = free }) => ({ listen }),
  monique: ({ in: into = free, out = free, techIn = free, techOut = free, ...others }) => {
    const controllers = { [moniqueSpec]: portOf(others[`controllers.${moniqueSpec}`]) };
    return { in: into, out, techIn, techOut, controllers };
  },
};

export class Lives {
  readonly folder: string;
  readonly #engine: string;
  /** The database of the Postgres engine. */
  readonly #url: string | undefined;
  #process: ChildProcess | undefined;
  #addresses: Addresses | undefined;
  /** Milliseconds from start to ready, for each start that got so far. */
  readonly readyMs: number[] = [];
  started = 0;

  constructor(engine: string, url?: string) {
    this.folder = mkdtempSync(join(tmpdir(), "yard-crash-"));
    this.#engine = engine;
    this.#url = url;
    mkdirSync(join(this.folder, "controller"));
    this.#configure({});
  }

  /** Known once it was ready, and constant from then on. */
  get addresses(): Addresses {
    if (this.#addresses === undefined) throw new Error("it has no addresses before its first start");
    return this.#addresses;
  }

  /** Resolves when it is ready, or was killed before that. */
  async start(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const complaint = await this.#begin();
      if (complaint === undefined) return;
      if (tries === portTries || !complaint.includes("another program listens")) throw new Error(complaint);
      await pause(portPauseMs);
    }
  }

  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Returns the exit code. */
  async stop(): Promise<number | null> {
    return this.#end("SIGTERM");
  }

  clean(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The output of a process that ended by itself before it was ready. */
  async #begin(): Promise<string | undefined> {
    const startedAt = performance.now();
    this.started += 1;
    const child = spawn(process.execPath, [bin, "serve", "--json", "--engine", this.#engine], {
      cwd: this.folder,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, YARD_LOG: "error" },
    });
    this.#process = child;
    let said = "";
    child.stderr.on("data", (chunk) => {
      said = (said + chunk).slice(-10_000);
      process.stderr.write(chunk);
    });
    // If this test is interrupted, no dispatcher is left behind.
    process.once("exit", () => child.kill("SIGKILL"));
    const lines = createInterface({ input: child.stdout });
    const [first] = (await Promise.race([once(lines, "line"), once(child, "close")])) as [unknown];
    if (typeof first === "string") {
      this.readyMs.push(performance.now() - startedAt);
      if (this.#addresses === undefined) this.#keepAddresses((JSON.parse(first) as { doors: Doors }).doors);
      return undefined;
    }
    return child.signalCode === "SIGKILL"
      ? undefined
      : `the dispatcher ended with ${child.exitCode}: ${said}`;
  }

  #keepAddresses(doors: Doors): void {
    this.#configure(doors);
    const { http, pingpong, udp, pulse, scaler, monique } = doors;
    const out = portOf(monique?.out);
    const worker = portOf(monique?.[`controllers.${moniqueSpec}`]);
    this.#addresses = {
      http: `http://${http?.listen}`,
      pingpongClients: `tcp://${pingpong?.clients}`,
      pingpongWorkers: `tcp://${pingpong?.workers}`,
      udp: `udp://${udp?.client_address}`,
      pulse: String(pulse?.dir),
      scaler: `tcp://${scaler?.listen}`,
      monique: `monique://${monique?.in}?out=${out}&worker=${worker}`,
    };
  }

  #configure(had: Doors): void {
    const doors = Object.entries(settings).map(([name, settingsOf]) => [
      name,
      settingsOf(had[name] ?? {}, this.folder),
    ]);
    const config = {
      data: join(this.folder, "data"),
      ...(this.#url !== undefined && { postgres: { url: this.#url, requireSync: false } }),
      // Shorter than most lives: tasks whose worker does not come back must be assigned again, or
      // in the end every client waits for such a task.
      graceSeconds: 0.5,
      drainSeconds: 5,
      retention: { count: 100_000_000, bytes: 1e12 },
      doors: Object.fromEntries(doors),
    };
    writeFileSync(join(this.folder, "yardmaster.json"), JSON.stringify(config));
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#process;
    if (child === undefined) return null;
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, "exit");
      child.kill(signal);
      await ended;
    }
    return child.exitCode;
  }
}

/** 0 if there is none, which picks a free one. */
function portOf(address = "0"): number {
  return Number(address.slice(address.lastIndexOf(":") + 1));
}
