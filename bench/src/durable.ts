// The cost of durability: the pingpong door with fsync before every acknowledgement, compared with
// its own figure in memory and with beanstalkd without its log; the same with a million waiting
// tasks; the latency of an acknowledgement at half that load; and how soon a restart with a million
// waiting tasks accepts again.

import { spawn, spawnSync } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { EmbeddedEngine } from "@yardmaster/engines";
import { compare, type Figure, forwarding, row, timing } from "./contest.js";
import { fsyncMs, inFolder } from "./folders.js";
import { startPeer } from "./peers/child.js";
import { waitingTask } from "./peers/task-feed.js";
import { startOnFreePort } from "./ports.js";
import { leastDisturbed } from "./stolen.js";
import { type Case, median, type Row, type Table } from "./table.js";

const workerCount = 64;
/**
 * Tasks in flight for every contestant: enough that workers find work while the newest tasks are on
 * their way to the disk.
 */
const tasksUnderWay = 1024;
const waitingTasks = 1_000_000;
/** Acknowledgements requested per second, over http and udp each, in addition to the load. */
const probesPerSecond = 200;
const latencyMs = 10_000;
/**
 * The slowest one in a hundred is measured, so stolen pieces of 10 ms and more must be well below
 * one in a hundred.
 */
const patience = { shareMax: 0.003, triesMax: 6 };
/** Number of consecutive checks in which no backlog was found. */
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

/** A store with this many waiting tasks of queue `pingpong`. */
export async function fill(folder: string, tasks: number): Promise<void> {
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
  const { server, port } = await startOnFreePort((free) =>
    spawn("beanstalkd", ["-l", "127.0.0.1", "-p", String(free)], { stdio: "ignore" }),
  );
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

/** The durations in ascending order. */
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
 * A newly started dispatcher falls behind until its code is compiled, and then works at full speed
 * until it has caught up. Half load is to be measured, so this waits until that is over.
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

/**
 * Time from the start of the process until a task is accepted. Before that it was killed with all
 * tasks waiting.
 */
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
