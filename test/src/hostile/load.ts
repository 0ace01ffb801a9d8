// Real load beside an attack: a client and a worker of every door, each client asking for one echo after another, and a prober
// that asks /healthz. What each was told, and how long it took, is what an attack is judged by.

import { connect as openSocket, type Socket } from "node:net";
import { connect, type RunningWorker, work, type YardClient } from "@yardmaster/sdk";
import type { ServedYard } from "../end-to-end/served-yard.js";
import { starvedMs } from "./process-watch.js";

export const moniqueSpec = "hostile_echo";

/** The pause between two questions of one client. */
const askEveryMs = 20;
/** An answer that takes longer counts as none. */
const answerMsMax = 120_000;

/** Latencies of one door's client. */
export class Service {
  readonly door: string;
  /** Milliseconds of each answer, without what other work on the machine took from the two processes. */
  latencies: number[] = [];
  failures = 0;
  lastFailure = "";
  #waitingSince: number | undefined;

  constructor(door: string) {
    this.door = door;
  }

  get longestMs(): number {
    return Math.max(0, ...this.latencies, this.#waitingMs);
  }

  get #waitingMs(): number {
    return this.#waitingSince === undefined ? 0 : performance.now() - this.#waitingSince;
  }

  quantileMs(share: number): number {
    const sorted = [...this.latencies].sort((one, other) => one - other);
    return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  }

  forget(): void {
    this.latencies = [];
    this.failures = 0;
  }

  /** Asks until told to stop. */
  async run(pid: number, ask: () => Promise<void>, isGoing: () => boolean): Promise<void> {
    while (isGoing()) {
      const starved = () => starvedMs(pid) + starvedMs(process.pid);
      const starvedBefore = starved();
      const startedAt = performance.now();
      this.#waitingSince = startedAt;
      try {
        await ask();
        const ms = performance.now() - startedAt;
        this.latencies.push(Math.max(0, ms - Math.max(0, starved() - starvedBefore)));
      } catch (error) {
        if (isGoing()) this.#failed(error);
      }
      this.#waitingSince = undefined;
      await pause(askEveryMs);
    }
  }

  #failed(error: unknown): void {
    this.failures += 1;
    this.lastFailure = String(error).slice(0, 120);
  }
}

export class Load {
  readonly services: readonly Service[];
  /** Tasks that were acknowledged and not seen to be done. */
  readonly acknowledged = new Set<string>();
  readonly #yard: ServedYard;
  readonly #ends: Promise<void>[] = [];
  readonly #clients: YardClient[] = [];
  readonly #workers: RunningWorker[] = [];
  #isGoing = true;

  private constructor(yard: ServedYard) {
    this.#yard = yard;
    this.services = ["healthz", "http", "pulse", "pingpong", "udp", "monique", "scaler"].map(
      (door) => new Service(door),
    );
  }

  static async start(yard: ServedYard): Promise<Load> {
    const load = new Load(yard);
    await load.#startWorkers();
    await load.#startClients();
    return load;
  }

  service(door: string): Service {
    return this.services.find((one) => one.door === door) as Service;
  }

  forget(): void {
    for (const service of this.services) service.forget();
  }

  async stop(): Promise<void> {
    this.#isGoing = false;
    await Promise.race([Promise.all(this.#ends), pause(5_000)]);
    await Promise.allSettled([
      ...this.#clients.map((client) => client.close()),
      ...this.#workers.map((worker) => worker.stop({ graceMs: 0 })),
    ]);
  }

  /** Ids of tasks that were acknowledged and are neither done nor waiting to be. */
  async lost(): Promise<string[]> {
    const lost: string[] = [];
    for (const id of this.acknowledged) {
      const response = await fetch(`${this.#yard.url}/v1/tasks/${id}`);
      const { state } = (await response.json()) as { state?: string };
      if (state !== "done" && state !== "waiting" && state !== "running") lost.push(id);
    }
    return lost;
  }

  async #startWorkers(): Promise<void> {
    const urls = urlsOf(this.#yard);
    const echo = (payload: { text(): string }) => payload.text();
    for (const [door, url] of Object.entries({ ...urls, pingpong: urls.pingpongWorkers })) {
      if (door === "pingpongWorkers") continue;
      const queue = door === "http" ? { queue: "hostile" } : door === "monique" ? { queue: moniqueSpec } : {};
      const options = { ...queue, name: `echo-${door}`, onError: () => {} };
      const worker = await work(url, options, echo);
      worker.ended.catch(() => {});
      this.#workers.push(worker);
    }
  }

  async #startClients(): Promise<void> {
    const { url, process: child } = this.#yard;
    const pid = child.pid ?? 0;
    const run = (door: string, ask: () => Promise<void>) =>
      this.#ends.push(this.service(door).run(pid, ask, () => this.#isGoing));
    const prober = new HealthProber(url);
    run("healthz", () => prober.ask());
    run("http", () => this.#askHttp("hostile"));
    run("pulse", () => this.#askHttp("pulse"));
    const urls = urlsOf(this.#yard);
    for (const door of ["pingpong", "udp", "monique", "scaler"] as const) {
      const client = await connect(urls[door]);
      this.#clients.push(client);
      const queue = door === "monique" ? { queue: moniqueSpec } : {};
      run(door, async () => {
        const text = `"${door} ${Math.random()}"`;
        const payload = door === "udp" ? { text } : text;
        await client.call(payload, { ...queue, waitMs: answerMsMax });
      });
    }
  }

  /** Submits without waiting, then waits: what is acknowledged has to be done some time. */
  async #askHttp(queue: string): Promise<void> {
    const { url } = this.#yard;
    const submitted = await fetch(`${url}/v1/queues/${queue}/tasks`, { method: "POST", body: "echo" });
    if (submitted.status !== 201) throw new Error(`${submitted.status}: ${await submitted.text()}`);
    const { id } = (await submitted.json()) as { id: string };
    this.acknowledged.add(id);
    for (let state = "waiting"; state !== "done"; ) {
      const response = await fetch(`${url}/v1/tasks/${id}`);
      const task = (await response.json()) as { state?: string };
      state = task.state ?? "unknown";
      if (state !== "waiting" && state !== "running" && state !== "done")
        throw new Error(`task ${id} is ${state}`);
      if (state !== "done") await pause(5);
    }
    this.acknowledged.delete(id);
  }
}

/** One connection that asks over and over: what it waits for is the event loop and nothing else. */
class HealthProber {
  readonly #url: URL;
  #socket: Socket | undefined;

  constructor(url: string) {
    this.#url = new URL(url);
  }

  ask(): Promise<void> {
    const socket = this.#connected();
    return new Promise((resolve, reject) => {
      const settle = (end: () => void) => () => {
        socket.removeAllListeners("data").removeAllListeners("close");
        end();
      };
      socket.once("data", settle(resolve));
      socket.once(
        "close",
        settle(() => reject(new Error("the connection closed"))),
      );
      socket.write(`GET /healthz HTTP/1.1\r\nHost: ${this.#url.host}\r\n\r\n`);
    });
  }

  #connected(): Socket {
    if (this.#socket === undefined || this.#socket.destroyed) {
      this.#socket = openSocket(Number(this.#url.port), this.#url.hostname);
      this.#socket.on("error", () => {});
      this.#socket.setNoDelay(true);
    }
    return this.#socket;
  }
}

/** Where each dialect is reached, for the SDK. */
export function urlsOf({ doors, folder, url }: Pick<ServedYard, "doors" | "folder" | "url">) {
  const { monique = {}, pingpong = {}, scaler = {}, udp = {}, pulse = {} } = doors;
  const port = (address: string | undefined) => address?.split(":").at(-1);
  return {
    http: url,
    pulse: `pulse:${pulse.dir ?? `${folder}/controller`}`,
    pingpong: `pingpong://${pingpong.clients}`,
    pingpongWorkers: `pingpong://${pingpong.workers}`,
    udp: `udp://${udp.client_address ?? udp.listen}`,
    monique: `monique://${monique.in}?out=${port(monique.out)}&worker=${port(monique[`controllers.${moniqueSpec}`] ?? monique[moniqueSpec])}`,
    scaler: `scaler://${scaler.listen}`,
  };
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
