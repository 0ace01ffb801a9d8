// One dispatcher, many lives: the real command on the same folder and the same addresses, killed and started again. The
// first life picks its ports itself, so none is ever chosen and let go; the later ones come back to them.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
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
  /** Of the one spec that has a controller. */
  readonly monique: string;
}

/** The spec of monique's tasks here. */
export const moniqueSpec = "crash_echo";

/** How often a life begins anew because a port is another program's for a moment, and how long that is waited for. */
const portTries = 100;
const portPauseMs = 200;

type Doors = Readonly<Record<string, Readonly<Record<string, string>>>>;

export class Lives {
  readonly folder: string;
  readonly #engine: string;
  #process: ChildProcess | undefined;
  #addresses: Addresses | undefined;
  /** From its start until it was ready, of each life that got so far. */
  readonly readyMs: number[] = [];
  started = 0;

  constructor(engine: string) {
    this.folder = mkdtempSync(join(tmpdir(), "yard-crash-"));
    this.#engine = engine;
    mkdirSync(join(this.folder, "controller"));
    this.#configure({});
  }

  /** Known once it has been ready, and the same from then on. */
  get addresses(): Addresses {
    if (this.#addresses === undefined) throw new Error("it has no addresses before its first start");
    return this.#addresses;
  }

  /** Resolves when it is ready, or killed before that. */
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

  /** Its exit code. */
  async stop(): Promise<number | null> {
    return this.#end("SIGTERM");
  }

  clean(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** What it said when it ended by itself before it was ready. */
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
    // Whoever breaks this off leaves no dispatcher behind.
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

  /** The ports of the doors as they were, or any that are free. */
  #configure({ http, pingpong, udp, scaler, monique }: Doors): void {
    const free = `${ownLoopback}:0`;
    const { in: into = free, out = free, techIn = free, techOut = free } = monique ?? {};
    const controllers = { [moniqueSpec]: portOf(monique?.[`controllers.${moniqueSpec}`]) };
    const config = {
      data: join(this.folder, "data"),
      // Most lives are longer: what no worker comes back for has to go out again, or in the end every client waits for such a task.
      graceSeconds: 0.5,
      drainSeconds: 5,
      retention: { count: 100_000_000, bytes: 1e12 },
      doors: {
        http: { listen: http?.listen ?? free },
        pingpong: { clients: pingpong?.clients ?? free, workers: pingpong?.workers ?? free },
        udp: { client_address: { host: ownLoopback, port: portOf(udp?.client_address) } },
        pulse: { dir: join(this.folder, "controller") },
        scaler: { listen: scaler?.listen ?? free },
        monique: { in: into, out, techIn, techOut, controllers },
      },
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

/** 0 for none: any that is free. */
function portOf(address = "0"): number {
  return Number(address.slice(address.lastIndexOf(":") + 1));
}
