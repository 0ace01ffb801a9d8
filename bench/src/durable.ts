// What durability costs: the pingpong door with fsync before every acknowledgement against its own memory figure and
// against beanstalkd without its log; the same with a million tasks waiting; how long an acknowledgement takes at half
// that load; and how soon a restart with a million waiting tasks accepts again.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { EmbeddedEngine } from "@yardmaster/engines";
import { compare, type Figure, forwarding, row, timing } from "./contest.js";
import { fsyncMs, inFolder } from "./folders.js";
import { startPeer } from "./peers/child.js";
import { waitingTask } from "./peers/task-feed.js";
import { leastDisturbed } from "./stolen.js";
import { type Case, median, type Row, type Table } from "./table.js";

const workerCount = 64;
/** Of every contestant: so many that workers find work while what was just asked for is on its way to the disk. */
const tasksUnderWay = 1024;
const waitingTasks = 1_000_000;
/** Acknowledgements asked for a second, of http and of udp each, beside the load. */
const probesPerSecond = 200;
const latencyMs = 10_000;
/** The slowest of a hundred are looked for: what is stolen in pieces of 10 ms and more has to be well below one of a hundred. */
const patience = { shareMax: 0.003, triesMax: 6 };
/** So often in a row nothing has gathered. */
const calmLooks = 10;
const catchUpMsMax = 30_000;

export const durable: Case = {
  name: "durable",
  run: (runs, size = waitingTasks) =>
    inFolder(async (folder) => {
      const empty = `${folder}/empty`;
      const full = `${folder}/full`;
      await fill(full, size);
      const restarted = await restart(full, size);
      const speed = await speeds(runs, empty, full, size);
      return [speed.table, await latencies(empty, speed.perSecond / 2), restarted];
    }),
};

async function fill(folder: string, tasks: number): Promise<void> {
  const engine = new EmbeddedEngine({ folder, durability: "memory" });
  const { epoch } = await engine.open();
  const perBatch = 1000;
  for (let done = 0, number = 1; done < tasks; done += perBatch, number++) {
    const changes = Array.from({ length: perBatch }, (_, index) => waitingTask(done + index + 1));
    await engine.commit({ epoch, number, changes });
  }
  await engine.close();
}

async function speeds(runs: number, empty: string, full: string, waiting: number) {
  const [memory, fsync, crowded, beanstalkd] = (await compare(runs, [
    () => forwarding("./pingpong-broker.js", { workerCount, tasksUnderWay, isPinned: false }),
    () => durably(empty),
    () => durably(full),
    ...(hasBeanstalkd ? [beanstalkdFigure] : []),
  ])) as [Figure[], Figure[], Figure[], Figure[] | undefined];
  const disk = { "fsync p50 ms": fsyncMs(empty) };
  const rows: Row[] = [
    row("memory engine", "tasks/s", memory, memory, { target: "" }),
    row("embedded, fsync", "tasks/s", fsync, memory, { target: ">= 0.70", ...disk }),
    row(`the same, ${waiting.toLocaleString("en")} waiting`, "tasks/s", crowded, fsync, {
      target: ">= 0.80 of the row above",
      ...disk,
    }),
  ];
  if (beanstalkd !== undefined) {
    rows.push(row("beanstalkd without its log", "tasks/s", beanstalkd, fsync, { target: "< 1 of fsync" }));
  }
  const title = `pingpong: ${workerCount} workers with one job each, ${tasksUnderWay} tasks under way${hasBeanstalkd ? "" : " (no beanstalkd here)"}`;
  const table: Table = { title, rows };
  return { table, perSecond: median(fsync.map((figure) => figure.perSecond)) };
}

function durably(data: string): Promise<Figure> {
  const args = { data, durability: "fsync" };
  return forwarding("./pingpong-broker.js", { workerCount, tasksUnderWay, isPinned: false, args });
}

const hasBeanstalkd = spawnSync("beanstalkd", ["-v"]).status === 0;

async function beanstalkdFigure(): Promise<Figure> {
  const { server, port } = await startBeanstalkd();
  try {
    const load = startPeer("./beanstalkd-load.js", { port, workerCount, tasksUnderWay });
    await load.report();
    load.tell(timing);
    await load.report();
    const { perSecond } = (await load.report()) as { perSecond: number };
    await load.stop();
    return { perSecond, cpuMicrosEach: Number.NaN };
  } finally {
    server.kill("SIGKILL");
  }
}

/** It cannot pick a port itself, and one that is free now may be another program's when it starts: then another one. */
async function startBeanstalkd(): Promise<{ server: ChildProcess; port: number }> {
  for (;;) {
    const port = await freePort();
    const server = spawn("beanstalkd", ["-l", "127.0.0.1", "-p", String(port)], { stdio: "ignore" });
    await Promise.race([untilListening(port), once(server, "exit")]);
    if (server.exitCode === null) return { server, port };
  }
}

type Latencies = Readonly<Record<"http" | "udp", readonly number[]>>;

async function latencies(data: string, perSecond: number): Promise<Table> {
  const { value, stolenShare } = await leastDisturbed(() => acknowledgements(data, perSecond), patience);
  const disk = fsyncMs(data);
  const rows = (["http", "udp"] as const).map((door) => ({
    name: door === "http" ? "http 201" : "udp ack",
    values: {
      "p50 ms": at(value[door], 0.5),
      "p99 ms": at(value[door], 0.99),
      "at most": at(value[door], 1),
      count: value[door].length,
      "stolen %": 100 * stolenShare,
      target: "p99 <= 10",
      "fsync p50 ms": disk,
    },
  }));
  return { title: `submit to acknowledged, beside ${Math.round(perSecond)} pingpong tasks/s`, rows };
}

/** How long each took, rising. */
async function acknowledgements(data: string, perSecond: number): Promise<Latencies> {
  const broker = startPeer("./pingpong-broker.js", { data, durability: "fsync" });
  const { front, back, http, udp } = await broker.report();
  const load = startPeer("./forwarding-load.js", {
    front,
    back,
    workerCount,
    perSecond: Math.round(perSecond),
  });
  const probe = startPeer("./acknowledged-load.js", { http, udp, perSecond: probesPerSecond });
  try {
    await Promise.all([load.report(), probe.report()]);
    load.tell({ warmUpMs: 0, measureMs: timing.warmUpMs + latencyMs });
    await load.report();
    await caughtUp(http as string);
    probe.tell({ warmUpMs: timing.warmUpMs, measureMs: latencyMs });
    return (await probe.report()) as unknown as Latencies;
  } finally {
    await Promise.all([broker.stop(), load.stop(), probe.stop()]);
  }
}

/**
 * A dispatcher that has just been started falls behind until its code is compiled, and works off what has gathered with all it
 * has. What is to be measured is half a load, so that has to be over.
 */
async function caughtUp(http: string): Promise<void> {
  const end = performance.now() + catchUpMsMax;
  for (let calm = 0; calm < calmLooks && performance.now() < end; ) {
    await pause(100);
    const { items } = (await (await fetch(`${http}/v1/queues`)).json()) as { items: { waiting: number }[] };
    calm = items.every(({ waiting }) => waiting < tasksUnderWay) ? calm + 1 : 0;
  }
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** From the start of the process until a task is accepted, killed before with all of them waiting. */
async function restart(data: string, waiting: number): Promise<Table> {
  const startedAt = performance.now();
  const broker = startPeer("./pingpong-broker.js", { data, durability: "fsync" });
  const { http, startMs } = (await broker.report()) as { http: string; startMs: number };
  const response = await fetch(`${http}/v1/queues/other/tasks`, { method: "POST", body: "x" });
  const acceptedMs = performance.now() - startedAt;
  broker.tell({});
  const { residentBytes } = (await broker.report()) as { residentBytes: number };
  await broker.stop();
  const values = {
    "accepting after ms": acceptedMs,
    "of it our start": startMs,
    "MB resident": residentBytes / 1e6,
    status: response.status,
    target: "<= 5,000 ms, 1,000 MB",
  };
  return {
    title: `a restart with ${waiting.toLocaleString("en")} waiting tasks of 200 bytes`,
    rows: [{ name: "restart", values }],
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  await new Promise((done) => server.close(done));
  return port;
}

async function untilListening(port: number): Promise<void> {
  for (;;) {
    try {
      const { connect } = await import("node:net");
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect");
      socket.destroy();
      return;
    } catch {
      await pause(20);
    }
  }
}
