// Clients and a worker of a cluster that know nothing but what the http doors answer. At the end
// everything that was acknowledged must be there, with the outcome that was acknowledged.

import { setTimeout as pause } from "node:timers/promises";
import { Acknowledgements } from "./acknowledgements.js";

interface Acknowledged {
  readonly id: string;
  readonly payload: string;
  result?: string;
}

const payloadOf = (key: string) => `payload of ${key}`;

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** A node that was stopped does not answer. */
const requestMs = process.env.YARD_MEASURE === "1" ? 200 : 5_000;
const pauseMs = 10;

export class OutsideChecker {
  readonly #urls: readonly string[];
  readonly #tasks = new Map<string, Acknowledged>();
  readonly #loops: Promise<void>[] = [];
  #isOver = false;
  #isGivenUp = false;
  #key = 0;
  readonly #acknowledgements = new Acknowledgements();

  constructor(urls: readonly string[]) {
    this.#urls = urls;
  }

  get acknowledged(): number {
    return this.#tasks.size;
  }

  get completed(): number {
    return [...this.#tasks.values()].filter(({ result }) => result !== undefined).length;
  }

  start(clients = 4): void {
    for (let client = 0; client < clients; client++) this.#loops.push(this.#submit());
    this.#loops.push(this.#work());
  }

  /** The longest time between two submissions that were acknowledged. */
  get longestMs(): number {
    return this.#acknowledgements.longestMs;
  }

  /** Forgets the longest time so far. */
  measure(): void {
    this.#acknowledgements.measure();
  }

  /** Waits for submissions that are acknowledged from now on. */
  async more(count: number): Promise<void> {
    await this.#acknowledgements.more(count);
  }

  /** For a test that failed: its nodes may never answer again. */
  async giveUp(): Promise<void> {
    this.#isGivenUp = true;
    this.#isOver = true;
    await Promise.allSettled(this.#loops);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#loops);
  }

  /** What is wrong, in words. */
  async faults(): Promise<string[]> {
    const faults: string[] = [];
    for (const [key, { id, payload, result }] of this.#tasks) {
      const found = await this.#ask("GET", `/v1/tasks/${id}`);
      const task = JSON.parse(found.text) as { key?: string; state?: string };
      if (found.status !== 200 || task.key !== key) {
        faults.push(`task ${id} (${key}) was acknowledged, and is answered with ${found.text}`);
        continue;
      }
      const stored = await this.#ask("GET", `/v1/tasks/${id}/payload`);
      if (stored.text !== payload) faults.push(`the payload of task ${id} is ${stored.text}`);
      if (result === undefined) continue;
      const outcome = await this.#ask("GET", `/v1/tasks/${id}/result`);
      if (task.state !== "done" || outcome.text !== result)
        faults.push(`task ${id} was completed with ${result}, and is ${task.state} with ${outcome.text}`);
    }
    const ids = new Set([...this.#tasks.values()].map(({ id }) => id));
    if (ids.size !== this.#tasks.size) faults.push("two keys were acknowledged with the same task");
    return faults;
  }

  async #submit(): Promise<void> {
    while (!this.#isOver) {
      const key = `k${++this.#key}`;
      const payload = payloadOf(key);
      // The same key until it is acknowledged, as a client must.
      const { text } = await this.#ask("POST", `/v1/queues/q/tasks?key=${key}`, payload);
      this.#acknowledgements.note();
      this.#tasks.set(key, { id: (JSON.parse(text) as { id: string }).id, payload });
      await pause(pauseMs);
    }
  }

  /** Completes with a result that no other attempt has. */
  async #work(): Promise<void> {
    for (let run = 1; !this.#isOver; run++) {
      await pause(pauseMs);
      const url = this.#urls[run % this.#urls.length] ?? "";
      const raw = { Accept: "application/octet-stream" };
      const claimed = await this.#once(url, "POST", "/v1/queues/q:claim?worker=w&wait=100ms", "", raw);
      if (claimed?.status !== 200 || claimed.id === "") continue;
      const { id, attempt, token, text } = claimed;
      const key = text.slice(payloadOf("").length);
      const result = `run ${run} of ${key}`;
      const path = `/v1/tasks/${id}/attempts/${attempt}:done`;
      const done = await this.#once(url, "POST", path, result, { "Yard-Token": token });
      const task = this.#tasks.get(key);
      if (done?.status === 200 && task !== undefined) task.result = result;
    }
  }

  /** Asks one node after another until one gives an answer that is not about the cluster. */
  async #ask(method: string, path: string, body?: string): Promise<Answer> {
    for (let turn = 0; !this.#isGivenUp; turn++) {
      const answer = await this.#once(this.#urls[turn % this.#urls.length] ?? "", method, path, body);
      if (answer !== undefined && answer.status < 500) return answer;
      await pause(pauseMs);
    }
    throw new Error("given up");
  }

  async #once(
    url: string,
    method: string,
    path: string,
    body?: string,
    headers: Record<string, string> = {},
  ) {
    try {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { "Content-Type": "text/plain", ...headers },
        ...(body !== undefined && { body }),
        signal: AbortSignal.timeout(requestMs),
      });
      const header = (name: string) => response.headers.get(name) ?? "";
      return {
        status: response.status,
        text: await response.text(),
        id: header("yard-task"),
        attempt: header("yard-attempt"),
        token: header("yard-token"),
      };
    } catch {
      return undefined;
    }
  }
}
