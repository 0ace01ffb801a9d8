// Real load during an attack: a client and a worker for every door. An attack is judged by the
// response times of this load. Probe, clients and workers are separate processes, so that a worker
// busy with an attack's tasks does not affect the measurements.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { ServedYard } from "../end-to-end/served-yard.js";
import type { Answer, Order } from "./load-process.js";
import type { LoadTarget } from "./load-target.js";
import type { ServiceReport } from "./service.js";

const processFile = fileURLToPath(new URL("./load-process.js", import.meta.url));
/** A process that does not answer within this time hangs. */
const orderMsMax = 60_000;
/**
 * Attacks submit tasks to scaler's queue, which its worker also runs, so that worker has its own
 * process.
 */
const workerRoles = ["http,pulse,pingpong,udp,monique", "scaler"];

export class Load {
  readonly #parts: LoadPart[];

  private constructor(parts: LoadPart[]) {
    this.#parts = parts;
  }

  static async start({ doors, folder, url, process: child }: ServedYard): Promise<Load> {
    const target = { doors, folder, url, pid: child.pid ?? 0, workerPids: [] };
    const parts: LoadPart[] = [];
    for (const role of workerRoles) parts.push(await LoadPart.start(role, target));
    const workerPids = parts.map(({ pid }) => pid);
    for (const role of ["probe", "clients"])
      parts.push(await LoadPart.start(role, { ...target, workerPids }));
    return new Load(parts);
  }

  async forget(): Promise<void> {
    await this.#orderAll("forget");
  }

  async report(): Promise<ServiceReport[]> {
    const answers = await this.#orderAll("report");
    return answers.flatMap((answer) => (Array.isArray(answer) ? answer : []));
  }

  /** Number of acknowledged tasks that are not done and never will be. */
  async lost(): Promise<number> {
    const answers = await this.#orderAll("lost");
    return answers.reduce((sum: number, answer) => sum + (typeof answer === "number" ? answer : 0), 0);
  }

  async stop(): Promise<void> {
    await this.#orderAll("stop");
    for (const part of this.#parts) part.kill();
  }

  #orderAll(order: Order): Promise<Answer[]> {
    return Promise.all(this.#parts.map((part) => part.order(order)));
  }
}

class LoadPart {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, (value: Answer) => void>();
  #lastId = 0;

  private constructor(child: ChildProcess) {
    this.#process = child;
    child.on("message", ({ id, value }: { id: number; value: Answer }) => {
      this.#waiting.get(id)?.(value);
      this.#waiting.delete(id);
    });
  }

  static async start(role: string, target: LoadTarget): Promise<LoadPart> {
    const child = fork(processFile, [role, JSON.stringify(target)]);
    const [first] = await Promise.race([once(child, "message"), once(child, "exit")]);
    if (first !== "ready") throw new Error(`the load's process for ${role} ended before it was ready`);
    return new LoadPart(child);
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  async order(order: Order): Promise<Answer> {
    this.#lastId += 1;
    const id = this.#lastId;
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve));
    this.#process.send({ order, id }, () => {});
    const deadline = new AbortController();
    const late = setTimeout(orderMsMax, undefined, { signal: deadline.signal }).catch(() => undefined);
    try {
      return await Promise.race([answered, late]);
    } finally {
      deadline.abort();
    }
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }
}
