// A dispatcher that is only a picture: it serves the built page and answers the API with the yard
// of the drawings, at any time of day. It is for looking at the page, and for states that a real
// dispatcher reaches only after hours.

import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { alertsAt, beatsAt, failuresAt, figuresAt, historyAt, queuesAt } from "./picture-facts.js";
import { pictureImage } from "./picture-image.js";
import { failedTasks, storiedTask, waitingTask, wireMessages } from "./picture-tasks.js";
import { type Frame, PictureStream, type PictureWorker, pictureWorkers } from "./picture-workers.js";

const assets = new URL("../../../packages/server/assets/page/", import.meta.url);
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'";

export interface PictureOptions {
  readonly workers?: PictureWorker[];
  readonly isEmpty?: boolean;
  readonly token?: string;
  /** Shows one attempt in five, as the dispatcher does above its limit. */
  readonly isSampled?: boolean;
}

export class PictureYard {
  readonly #server: Server;
  readonly #workers: PictureWorker[];
  readonly #isEmpty: boolean;
  readonly #token: string | undefined;
  readonly #isSampled: boolean;
  readonly #timers = new Set<ReturnType<typeof setInterval>>();
  readonly startedAt = Date.now();
  /** Requests that change something, in order. */
  readonly orders: string[] = [];
  base = "";

  constructor({
    workers = pictureWorkers(),
    isEmpty = false,
    token,
    isSampled = false,
  }: PictureOptions = {}) {
    this.#workers = workers;
    this.#isEmpty = isEmpty;
    this.#token = token;
    this.#isSampled = isSampled;
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  async open(port = 0): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
    this.base = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "/", this.base);
    if (url.pathname === "/" || url.pathname.startsWith("/assets/"))
      return this.#file(url.pathname, response);
    if (this.#token !== undefined && request.headers.authorization !== `Bearer ${this.#token}`) {
      return json(response, { code: "unauthorized", detail: "a token is needed" }, 401);
    }
    if (request.method === "POST") this.orders.push(`${decodeURIComponent(url.pathname)}${url.search}`);
    if (url.pathname === "/v1/events") return this.#events(response);
    if (url.pathname === "/v1/wire") return this.#wire(response);
    if (url.pathname === "/v1/tasks/776907/result") {
      response.writeHead(200, { "Content-Type": "image/png" });
      return void response.end(pictureImage());
    }
    const answer = this.#json(url, Date.now());
    if (answer === undefined)
      return json(response, { code: "not_found", detail: "there is no such thing" }, 404);
    json(response, answer);
  }

  #file(path: string, response: ServerResponse): void {
    const name = path === "/" ? "index.html" : path.slice(1);
    const types = new Map([
      ["html", "text/html"],
      ["js", "text/javascript"],
      ["css", "text/css"],
      ["svg", "image/svg+xml"],
    ]);
    response.setHeader("Content-Type", types.get(name.split(".").at(-1) ?? "") ?? "");
    response.setHeader("Content-Security-Policy", policy);
    response.end(readFileSync(new URL(name, assets)));
  }

  #json(url: URL, now: number): unknown {
    const { pathname: path, searchParams: query } = url;
    if (path === "/v1/history" && this.#isEmpty) return { ...historyAt(now, "5m", []), series: [] };
    if (path === "/v1/history")
      return historyAt(now, query.get("span") ?? "5m", (query.get("queue") ?? "").split(",").filter(Boolean));
    if (path === "/v1/failures" && this.#isEmpty)
      return {
        at: "",
        span: "1h",
        tasks: 0,
        kinds: 0,
        stepMs: 60_000,
        items: [],
        rest: 0,
      };
    if (path === "/v1/failures") return failuresAt(now, query.get("span") ?? "1h");
    if (path === "/v1/doors") return doors;
    if (path === "/v1/figures") return this.#figures(now);
    if (path === "/v1/workers:lost") return { items: lostAt(now) };
    if (path === "/v1/traffic") return trafficAt(now, this.startedAt);
    if (path === "/v1/tasks")
      return {
        items: this.#isEmpty ? [] : failedTasks(now).slice(0, Number(query.get("limit") ?? 100)),
        cursor: null,
      };
    if (path === "/v1/tasks/776907") return storiedTask(this.startedAt);
    if (path === "/v1/tasks/776907/payload")
      return {
        scene: "yard-at-dusk",
        frame: 2207,
        size: [960, 540],
        samples: 256,
        layers: Array.from({ length: 14 }, (_, at) => at),
      };
    if (path === "/v1/tasks/3943012") return waitingTask(this.startedAt);
    if (/^\/v1\/tasks\/\d+$/.test(path)) return failedTasks(now).find(({ id }) => path.endsWith(`/${id}`));
    return undefined;
  }

  #figures(now: number) {
    if (!this.#isEmpty) return figuresAt(now, this.startedAt);
    const none = {
      waiting: 0,
      running: 0,
      donePerSecond: 0,
      failedPerSecond: 0,
      inPerSecond: 0,
      queues: 0,
      workers: 0,
      workersIdle: 0,
      workersLost: 0,
      failureKinds: 0,
      alerts: 0,
      done: 0,
      failed: 0,
    };
    return {
      ...figuresAt(now, now),
      ...none,
      oldestAt: null,
      oldestTask: null,
      oldestQueue: null,
      startedAt: new Date(now).toISOString(),
    };
  }

  #events(response: ServerResponse): void {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    const send = (event: string, data: unknown) =>
      response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    const now = Date.now();
    const workers = this.#isEmpty ? [] : this.#workers;
    const shown = workers.map((worker) => ({
      ...worker,
      running: 0,
      joinedAt: new Date(now - 3_600_000).toISOString(),
      lostReason: null,
      info: worker.door === "scaler" ? { cpu: "97%", memory: "6.1 GB" } : null,
    }));
    send("snapshot", {
      queues: this.#isEmpty ? [] : queuesAt(now),
      workers: shown,
      queueCount: 8,
      workerCount: shown.length,
      now: new Date(now).toISOString(),
      alerts: this.#isEmpty ? [] : alertsAt(this.startedAt),
    });
    send("figures", this.#figures(now));
    send("beats", { at: new Date(now).toISOString(), workers: beatsAt(now, workers) });
    const stream = new PictureStream(workers, now - 62_000);
    let frames = 0;
    for (let at = now - 61_750; at <= now; at += 250) {
      const frame = stream.advance(at);
      frames += 1;
      if (frames === 90) frame.stalls.push([-1_300, 1_300]);
      send("attempts", this.#sampled(frame));
    }
    const timer = setInterval(() => {
      const at = Date.now();
      send("attempts", this.#sampled(stream.advance(at)));
      send("figures", this.#figures(at));
      if (Math.floor(at / 250) % 4 === 0) {
        send("beats", { at: new Date(at).toISOString(), workers: beatsAt(at, workers) });
        if (!this.#isEmpty) for (const queue of queuesAt(at)) send("queue", queue);
      }
    }, 250);
    this.#timers.add(timer);
    response.on("close", () => clearInterval(timer));
  }

  #sampled(frame: Frame): Frame {
    if (!this.#isSampled) return frame;
    // Whole attempts: if a start is shown, so is its end.
    const rows = frame.rows.filter(([, attempt]) => attempt % 5 === 0);
    return { ...frame, rows, shown: rows.length };
  }

  #wire(response: ServerResponse): void {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    let from = 1;
    const send = () => {
      from += 1;
      for (const message of wireMessages(Date.now(), from))
        response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
      response.write(`event: skipped\ndata: {"messages":320}\n\n`);
    };
    for (let at = 0; at < 6; at += 1) send();
    const timer = setInterval(send, 300);
    this.#timers.add(timer);
    response.on("close", () => clearInterval(timer));
  }
}

function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, {
    "Content-Type": status < 400 ? "application/json" : "application/problem+json",
  });
  response.end(JSON.stringify(value));
}

const doors = {
  http: { listen: "127.0.0.1:7420" },
  pingpong: { clients: "127.0.0.1:5562", workers: "127.0.0.1:5563" },
  pulse: { dir: "/run/controller" },
  udp: { client_address: "127.0.0.1:5555" },
  monique: { in: "127.0.0.1:9000", out: "127.0.0.1:9001" },
  scaler: { listen: "127.0.0.1:8516" },
};

function lostAt(now: number) {
  const iso = (ms: number) => new Date(now - ms).toISOString();
  return [
    {
      id: "pingpong/gpu-07",
      door: "pingpong",
      address: "10.0.4.37:43990",
      queues: ["render"],
      at: iso(26_000),
      reason: "connection_closed",
      words: "Its connection closed.",
      held: 1,
      backAt: iso(19_200),
      tasks: [{ id: "4182931", queue: "render", state: "done", worker: "pingpong/gpu-02" }],
      became: { done: 1 },
    },
    {
      id: "pulse/3",
      door: "pulse",
      address: "3.sock",
      queues: ["transcode"],
      at: iso(372_000),
      reason: "silence",
      words: "Fell silent: no pulse for 60 s, its own limit.",
      held: 1,
      backAt: null,
      tasks: [{ id: "3943012", queue: "transcode", state: "waiting", worker: null }],
      became: { waiting: 1 },
    },
    {
      id: "udp/10.0.4.27:5601",
      door: "udp",
      address: "10.0.4.27:5601",
      queues: ["sensors"],
      at: iso(2_045_000),
      reason: "forgot",
      words: "Said it was ready while it held a task: it had forgotten it.",
      held: 1,
      backAt: null,
      tasks: [{ id: "3066277", queue: "sensors", state: "done", worker: "udp/10.0.4.22:5601" }],
      became: { done: 1 },
    },
  ];
}

function trafficAt(now: number, since: number) {
  const s = (now - since) / 1_000 + 10;
  const item = (door: string, type: string, perSecond: number) => ({
    door,
    direction: "in",
    type,
    messages: Math.round(perSecond * s),
    bytes: Math.round(perSecond * s * 200),
  });
  return {
    at: new Date(now).toISOString(),
    items: [
      item("scaler", "TK", 636),
      item("scaler", "TR", 636),
      item("scaler", "OI", 318),
      item("scaler", "OR", 147),
      item("scaler", "OA", 147),
      item("scaler", "HB", 24),
      item("http", "POST :claim", 645),
      item("http", "200 attempts", 645),
      item("udp", "add_task", 96),
      item("pingpong", "job", 14),
      item("monique", "config", 8),
    ],
    faults: [
      { door: "udp", kind: "not_json", count: 31, lastHour: 31 },
      { door: "pingpong", kind: "late_result", count: 4, lastHour: 4 },
    ],
  };
}

if (process.argv[1]?.endsWith("picture-yard.js")) {
  const yard = await new PictureYard({ isEmpty: process.argv.includes("--empty") }).open(
    Number(process.argv[2] ?? 0),
  );
  console.log(yard.base);
}
