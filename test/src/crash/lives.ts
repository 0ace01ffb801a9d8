// One dispatcher, many lives: the real command on the same folder and the same addresses, killed and started again.

import { type ChildProcess, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

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

export class Lives {
  readonly folder: string;
  readonly addresses: Addresses;
  readonly #args: readonly string[];
  #process: ChildProcess | undefined;
  /** From its start until it was ready, of each life that got so far. */
  readonly readyMs: number[] = [];
  started = 0;

  private constructor(folder: string, addresses: Addresses, args: readonly string[]) {
    this.folder = folder;
    this.addresses = addresses;
    this.#args = args;
  }

  static async prepare(engine: string): Promise<Lives> {
    const folder = mkdtempSync(join(tmpdir(), "yard-crash-"));
    const dir = join(folder, "controller");
    mkdirSync(dir);
    const ports: number[] = [];
    while (ports.length < 9) ports.push(await freePort());
    const [http, clients, workers, scaler, into, out, techIn, techOut] = ports.map(local);
    const controller = ports[8] as number;
    const port = await freeUdpPort();
    const config = {
      data: join(folder, "data"),
      // Most lives are longer: what no worker comes back for has to go out again, or in the end every client waits for such a task.
      graceSeconds: 0.5,
      drainSeconds: 5,
      retention: { count: 100_000_000, bytes: 1e12 },
      doors: {
        http: { listen: http },
        pingpong: { clients, workers },
        udp: { client_address: { port } },
        pulse: { dir },
        scaler: { listen: scaler },
        monique: { in: into, out, techIn, techOut, controllers: { [moniqueSpec]: controller } },
      },
    };
    writeFileSync(join(folder, "yardmaster.json"), JSON.stringify(config));
    const addresses: Addresses = {
      http: `http://${http}`,
      pingpongClients: `tcp://${clients}`,
      pingpongWorkers: `tcp://${workers}`,
      udp: `udp://${local(port)}`,
      pulse: dir,
      scaler: `tcp://${scaler}`,
      monique: `monique://${into}?out=${ports[5]}&worker=${controller}`,
    };
    return new Lives(folder, addresses, ["--engine", engine]);
  }

  /** Resolves when it is ready, or dead before that. */
  async start(): Promise<void> {
    const startedAt = performance.now();
    this.started += 1;
    const child = spawn(process.execPath, [bin, "serve", "--json", ...this.#args], {
      cwd: this.folder,
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, YARD_LOG: "error" },
    });
    this.#process = child;
    // Whoever breaks this off leaves no dispatcher behind.
    process.once("exit", () => child.kill("SIGKILL"));
    const lines = createInterface({ input: child.stdout });
    const first = await Promise.race([once(lines, "line"), once(child, "exit")]);
    if (typeof first[0] === "string") this.readyMs.push(performance.now() - startedAt);
    else if (child.signalCode !== "SIGKILL") throw new Error(`the dispatcher ended with ${child.exitCode}`);
  }

  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Its exit code. */
  async stop(): Promise<number | null> {
    return this.#end("SIGTERM");
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

  clean(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function local(port: number): string {
  return `127.0.0.1:${port}`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  await new Promise((done) => server.close(done));
  return port;
}

async function freeUdpPort(): Promise<number> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  await new Promise<void>((done) => {
    socket.close(done);
  });
  return port;
}
