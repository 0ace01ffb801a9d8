// The clients of the real load: each door's client requests one echo after another, and a probe
// requests /healthz.

import { connect as openSocket, type Socket } from "node:net";
import { connect, type YardClient } from "@yardmaster/sdk";
import { type LoadTarget, loadQueue, moniqueSpec, urlsOf } from "./load-target.js";
import { pause, Refused, Service, type ServiceReport } from "./service.js";
import { Starvation } from "./starvation.js";

/** An answer that takes longer counts as missing. */
const answerMsMax = 120_000;

export abstract class Requests {
  readonly #services: Service[] = [];
  readonly #ends: Promise<void>[] = [];
  #isGoing = true;

  protected run(door: string, starvation: Starvation, request: () => Promise<void>): void {
    const service = new Service(door);
    this.#services.push(service);
    this.#ends.push(service.run(starvation, request, () => this.#isGoing));
  }

  forget(): void {
    for (const service of this.#services) service.forget();
  }

  report(): ServiceReport[] {
    return this.#services.map((service) => service.report());
  }

  async stop(): Promise<void> {
    this.#isGoing = false;
    await Promise.race([Promise.all(this.#ends), pause(5_000)]);
  }
}

/** Requests only /healthz, in its own process, so that it measures the dispatcher's event loop. */
export class Probe extends Requests {
  constructor({ url, pid }: LoadTarget) {
    super();
    const connection = new HealthConnection(url);
    this.run("healthz", new Starvation([process.pid, pid]), () => connection.ask());
  }
}

export class Clients extends Requests {
  readonly #url: string;
  /** Acknowledged tasks that were not seen to be done. */
  readonly #acknowledged = new Set<string>();
  readonly #clients: YardClient[] = [];

  private constructor(url: string) {
    super();
    this.#url = url;
  }

  static async start(target: LoadTarget): Promise<Clients> {
    const clients = new Clients(target.url);
    const starvation = new Starvation([process.pid, target.pid, ...target.workerPids]);
    clients.run("http", starvation, () => clients.#submit(loadQueue));
    clients.run("pulse", starvation, () => clients.#submit("pulse"));
    const urls = urlsOf(target);
    for (const door of ["pingpong", "udp", "monique", "scaler"] as const) {
      const client = await connect(urls[door]);
      clients.#clients.push(client);
      const options = { ...(door === "monique" ? { queue: moniqueSpec } : {}), waitMs: answerMsMax };
      clients.run(door, starvation, async () => {
        const text = `"${door} ${Math.random()}"`;
        if (door === "udp") await repeated(() => client.call({ text }, options));
        else await client.call(text, options).catch(asRefusal);
      });
    }
    return clients;
  }

  /** Number of acknowledged tasks that are not done and never will be. */
  async lost(): Promise<number> {
    let lost = 0;
    for (const id of this.#acknowledged) {
      const response = await fetch(`${this.#url}/v1/tasks/${id}`);
      const { state } = (await response.json()) as { state?: string };
      if (state !== "done" && state !== "waiting" && state !== "running") lost += 1;
    }
    return lost;
  }

  override async stop(): Promise<void> {
    await super.stop();
    await Promise.allSettled(this.#clients.map((client) => client.close()));
  }

  /** Submits without waiting, then polls until the task is done. */
  async #submit(queue: string): Promise<void> {
    const submitted = await fetch(`${this.#url}/v1/queues/${queue}/tasks`, { method: "POST", body: "echo" });
    const text = await submitted.text();
    if (submitted.status === 429) throw new Refused(text);
    if (submitted.status !== 201) throw new Error(`${submitted.status}: ${text}`);
    const { id } = JSON.parse(text) as { id: string };
    this.#acknowledged.add(id);
    for (let state = "waiting"; state !== "done"; ) {
      const response = await fetch(`${this.#url}/v1/tasks/${id}`);
      const task = (await response.json()) as { state?: string };
      // A read may be refused while outgoing answers use all the room; the task still exists.
      if (response.status !== 429) state = task.state ?? "unknown";
      if (state !== "waiting" && state !== "running" && state !== "done")
        throw new Error(`task ${id} is ${state}`);
      if (state !== "done") await pause(5);
    }
    this.#acknowledged.delete(id);
  }
}

/**
 * A udp client gives up after a few datagrams. On a busy machine, or when datagrams are lost, it
 * has to try again; the time counts as one answer.
 */
async function repeated(call: () => Promise<unknown>): Promise<void> {
  const end = performance.now() + answerMsMax;
  for (;;) {
    try {
      await call();
      return;
    } catch (error) {
      if (!/did not acknowledge/.test(String(error))) asRefusal(error);
      // A dispatcher that is short of memory refuses a task by not acknowledging it.
      if (performance.now() > end) throw new Refused(String(error));
    }
  }
}

/** A dialect's refusal reaches the caller as an error with that code. */
function asRefusal(error: unknown): never {
  throw /refused|queue_full|full|no room|short of memory/i.test(String(error))
    ? new Refused(String(error))
    : error;
}

/** One connection that sends one request after another. */
class HealthConnection {
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
