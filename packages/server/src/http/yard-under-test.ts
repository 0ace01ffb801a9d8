// For tests of the http door: a whole yard in memory behind a real socket, with short methods for
// requests.

import { connect, type Socket } from "node:net";
import { type Logger, pino } from "pino";
import { Access } from "../access/access.js";
import type { DoorAddresses, NamedSpec } from "../door-kit/door.js";
import { Tap } from "../door-kit/tap.js";
import { HttpDoor } from "../doors/http.js";
import { parseListenAddress } from "../listen-address.js";
import type { DoorConfig } from "../registry/doors.js";
import type { Runtime } from "../runtime.js";
import { type MemoryRuntimeOptions, memoryRuntime, until } from "../testing/memory-runtime.js";
import type { TraceCarrier } from "./context.js";
import type { HttpTimeouts } from "./server.js";
import type { TaskJson } from "./task-json.js";

export interface YardOptions {
  readonly access?: Access;
  readonly config?: Partial<DoorConfig<"http">>;
  readonly payloadBytesMax?: number;
  readonly timeouts?: Partial<HttpTimeouts>;
  readonly workersMax?: number;
  readonly queues?: MemoryRuntimeOptions["queues"];
  readonly traces?: TraceCarrier;
  readonly engine?: MemoryRuntimeOptions["engine"];
  readonly log?: Logger;
  /** Addresses of other doors. */
  readonly doors?: Readonly<Record<string, DoorAddresses>>;
  readonly specs?: readonly NamedSpec[];
}

const exampleSpecs = [{ name: "example_clock", title: "A clock", description: null, port: 10000 }];

export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON. The test casts it to the expected type. */
  readonly json: never;
}

export interface Attempt {
  readonly task: string;
  readonly attempt: number;
  readonly token: string;
  readonly contentType: string;
  readonly payload: string;
  readonly leaseUntil: string;
}

export class YardUnderTest {
  readonly door: HttpDoor;
  readonly runtime: Runtime;
  readonly tap = new Tap();
  base = "";
  #sockets: Socket[] = [];

  constructor({
    config,
    access = new Access({ settings: undefined, doors: { http: config ?? {} } }),
    payloadBytesMax = 1_000_000,
    timeouts = {},
    workersMax = 1000,
    queues = {},
    traces,
    engine,
    log = pino({ level: "silent" }),
    doors = {},
    specs = exampleSpecs,
  }: YardOptions = {}) {
    this.runtime = memoryRuntime({ workersMax, queues, ...(engine && { engine }) });
    this.door = new HttpDoor({
      port: this.runtime.port("http"),
      access,
      config: { listen: { host: "127.0.0.1", port: 0 }, hosts: [], ...config },
      payloadBytesMax,
      secret: Buffer.from("a secret"),
      facts: {
        version: "0.0.0",
        isReady: () => this.runtime.isRunning,
        metrics: async () => "yardmaster_waiting 0\n",
        doors: () => ({ http: { listen: this.base }, ...doors }),
        specs: () => specs,
      },
      log,
      tap: this.tap,
      traces,
      queues: Object.keys(queues),
      fileSettings: new Map(
        Object.entries(queues).map(([name, given]) => [name, new Set(Object.keys(given))]),
      ),
      timeouts,
    });
    this.runtime.attach(this.door);
  }

  async open(): Promise<this> {
    await this.runtime.start();
    this.base = (await this.runtime.openDoors()).http?.listen ?? "";
    return this;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await this.runtime.stop(0);
  }

  async ask(method: string, path: string, options: RequestInit = {}): Promise<ApiResponse> {
    const response = await fetch(`http://${this.base}${path}`, { method, ...options });
    const text = await response.text();
    const isJson = /json/.test(response.headers.get("content-type") ?? "");
    const json = (isJson && text !== "" ? JSON.parse(text) : undefined) as never;
    return { status: response.status, headers: response.headers, text, json };
  }

  async submit(queue: string, body: string, query = ""): Promise<TaskJson> {
    return (await this.ask("POST", `/v1/queues/${queue}/tasks${query}`, { body })).json;
  }

  async task(id: string): Promise<TaskJson> {
    return (await this.ask("GET", `/v1/tasks/${id}`)).json;
  }

  /** The attempts that a claim returns; empty if there is no work. */
  async claim(queue: string, worker: string, query = ""): Promise<Attempt[]> {
    const { status, json } = await this.ask("POST", `/v1/queues/${queue}:claim?worker=${worker}${query}`);
    return status === 200 ? (json as { attempts: Attempt[] }).attempts : [];
  }

  speak({ task, attempt, token }: Attempt, verb: string, options: RequestInit = {}): Promise<ApiResponse> {
    const path = `/v1/tasks/${task}/attempts/${attempt}:${verb}`;
    return this.ask("POST", path, { ...options, headers: { "Yard-Token": token, ...options.headers } });
  }

  /** A raw connection, for bytes that no client library would send. */
  connect(text: string): Socket {
    const { host, port } = parseListenAddress(this.base) ?? { host: "", port: 0 };
    const socket = connect(port, host, () => socket.write(text));
    this.#sockets.push(socket);
    return socket;
  }

  /** Everything the server sends until it closes the connection. */
  hear(text: string): Promise<string> {
    return new Promise((resolve) => {
      let heard = "";
      const socket = this.connect(text);
      socket.on("data", (chunk) => {
        heard += chunk;
      });
      socket.on("error", () => {});
      socket.on("close", () => resolve(heard));
    });
  }

  /** Resolves with the first defined answer. */
  eventually<RequestAnswer>(ask: () => Promise<RequestAnswer | undefined>): Promise<RequestAnswer> {
    return until(ask);
  }

  /**
   * Resolves with the task once the condition holds. Only the test's own time limit ends the wait.
   */
  until(id: string, isWanted: (task: TaskJson) => boolean): Promise<TaskJson> {
    return until(async () => {
      const task = await this.task(id);
      return isWanted(task) ? task : undefined;
    });
  }
}
