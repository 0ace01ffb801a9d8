// The clients and workers of the demo: workers at all six doors, one of which dies on purpose, and
// clients that keep them busy. They know only the addresses of the demo's own dispatcher.

import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import {
  type Body,
  connect,
  type RunningWorker,
  type WorkContext,
  work,
  type YardClient,
} from "@yardmaster/sdk";
import { type DemoYard, demoQueues } from "./demo-yard.js";

const mortalWorker = fileURLToPath(new URL("./mortal-worker.js", import.meta.url));
/** The one that died comes back after this time. */
const restartMs = 4_000;
/** A client with this many unanswered tasks waits with the next one. */
const openMax = 60;

/** How long each kind of work takes, in milliseconds: the least, and how much more at most. */
const workMs = {
  http: [40, 120],
  pingpong: [900, 1_400],
  pulse: [1_500, 2_000],
  udp: [60, 200],
  monique: [200, 400],
  scaler: [150, 500],
} as const;

type Door = keyof typeof workMs;

export class DemoPeers {
  readonly #demo: DemoYard;
  readonly #workers: RunningWorker[] = [];
  readonly #clients: YardClient[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
  #mortal: ChildProcess | undefined;
  #isOver = false;
  #number = 0;

  constructor(demo: DemoYard) {
    this.#demo = demo;
  }

  async open(): Promise<void> {
    await this.#worker("http", { queue: demoQueues.http, name: "ann", concurrency: 4 });
    await this.#worker("http", { queue: demoQueues.http, name: "ben", concurrency: 2 });
    for (const name of ["gpu-01", "gpu-02"]) await this.#worker("pingpong", { name });
    for (const door of ["udp", "udp", "pulse"] as const) await this.#worker(door, {});
    await this.#worker("monique", { queue: demoQueues.monique });
    await this.#worker("scaler", { concurrency: 8 });
    this.#startMortal();
    await this.#client("http", 30, { queue: demoQueues.http });
    await this.#client("pingpong", 2, {});
    await this.#client("udp", 8, {});
    await this.#client("monique", 2, { queue: demoQueues.monique });
    await this.#client("scaler", 20, {});
    // A little more than its worker can do: the page says that all workers are busy.
    await this.#client("http", 0.6, { queue: demoQueues.pulse });
    await this.#client("http", 0.2, { queue: demoQueues.unserved });
  }

  async close(): Promise<void> {
    this.#isOver = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.#mortal?.kill("SIGKILL");
    const ends = this.#workers.map((worker) => worker.stop({ graceMs: 0 }));
    await Promise.allSettled([...ends, ...this.#clients.map((client) => client.close())]);
  }

  async #worker(door: Door, options: { queue?: string; name?: string; concurrency?: number }): Promise<void> {
    const handler = (payload: Body, context: WorkContext) => handle(door, payload, context);
    this.#workers.push(await work(this.#demo.workers[door], { ...options, onError: () => {} }, handler));
  }

  async #client(door: Exclude<Door, "pulse">, perSecond: number, options: { queue?: string }): Promise<void> {
    const client = await connect(this.#demo.clients[door]);
    this.#clients.push(client);
    let open = 0;
    const submit = () => {
      if (open >= openMax || this.#isOver) return;
      open += 1;
      this.#number += 1;
      // The http door acknowledges; elsewhere a task is answered by its result.
      const sent: Promise<unknown> =
        door === "http" ? client.submit(this.#payload(), options) : client.call(this.#payload(), options);
      void sent
        .catch(() => {})
        .finally(() => {
          open -= 1;
        });
    };
    this.#timers.push(setInterval(submit, 1_000 / perSecond));
  }

  #payload(): object {
    return { demo: true, frame: this.#number, size: [960, 540] };
  }

  /** A process of its own, killed like any other that dies: no goodbye, and its task is lost. */
  #startMortal(): void {
    if (this.#isOver) return;
    this.#mortal = spawn(process.execPath, [mortalWorker, this.#demo.workers.pingpong], { stdio: "ignore" });
    this.#mortal.once("exit", () => {
      if (!this.#isOver) this.#timers.push(setTimeout(() => this.#startMortal(), restartMs));
    });
  }
}

async function handle(door: Door, payload: Body, { signal }: WorkContext): Promise<object> {
  const [least, more] = workMs[door];
  await sleep(least + Math.random() * more, undefined, { signal });
  const { frame = 0 } = payload.json() as { frame?: number };
  // Some fail, all for the same reason, so that there is a kind of failure to look at.
  if (door === "http" && frame % 40 === 7) throw new Error(`cannot read '/frames/${frame}.png': truncated`);
  return { frame, by: door };
}
