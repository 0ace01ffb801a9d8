// The whole life of tasks over http (submit, claim and done): with plain requests, with batches and
// with the SDK, in memory and with fsync, compared with a bare fastify server with a Map, and with
// BullMQ on Redis.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { compare, type Figure, row, timing } from "./contest.js";
import { fsyncMs } from "./folders.js";
import { type PeerProcess, startPeer } from "./peers/child.js";
import { startOnFreePort } from "./ports.js";
import { median, type Row, type Table } from "./table.js";

const connections = 64;
const slots = 64;
const underWay = 64;
const batchSize = 200;
const batchConnections = 4;
const tasksDefault = 20_000;
/** Rounds before the one that counts, so that code is compiled on both sides. */
const warmUpRounds = 2;
const callsAlone = 300;

const hasRedis = spawnSync("redis-server", ["--version"]).status === 0;

export async function cycle(runs: number, folder: string, tasks = tasksDefault): Promise<Table[]> {
  const memory = { engine: "memory" };
  const fsync = () => ({ engine: "embedded", data: mkdtempSync(join(folder, "data-")) });
  const plain = (file: string, args: object) => loops(file, args, 1, connections);
  const whole = (args: object) => loops("./http-yard.js", args, 1, connections, true);
  const batches = (args: object) => loops("./http-yard.js", args, batchSize, batchConnections);
  const [
    bare,
    plainMemory,
    plainFsync,
    wholeMemory,
    wholeFsync,
    batchMemory,
    batchFsync,
    sdkMemory,
    ...rest
  ] = (await compare(runs, [
    () => plain("./cycle-bare.js", {}),
    () => plain("./http-yard.js", memory),
    () => plain("./http-yard.js", fsync()),
    () => whole(memory),
    () => whole(fsync()),
    () => batches(memory),
    () => batches(fsync()),
    () => sdk(tasks, memory),
    () => sdk(tasks, fsync()),
    ...(hasRedis ? [() => bullmqFigure(tasks, folder)] : []),
  ])) as [Figure[], Figure[], Figure[], Figure[], Figure[], Figure[], Figure[], Figure[], ...Figure[][]];
  const [sdkFsync = [], bullmq] = rest;
  const disk = { "fsync p50 ms": fsyncMs(folder) };
  const beside = bullmq ?? sdkFsync;
  const rows: Row[] = [
    row("bare fastify and a Map, plain requests", unit, bare, bare, { of: "itself" }),
    row("plain requests, memory", unit, plainMemory, bare, { of: "bare fastify", target: ">= 0.6" }),
    row("plain requests, fsync", unit, plainFsync, plainMemory, { of: "memory", target: ">= 0.8", ...disk }),
    row("plain requests, whole answers, memory", unit, wholeMemory, bare, { of: "bare fastify" }),
    row("plain requests, whole answers, fsync", unit, wholeFsync, wholeMemory, {
      of: "memory",
      target: ">= 0.8",
      ...disk,
    }),
    row(`batches of ${batchSize}, memory`, unit, batchMemory, bare, { of: "bare fastify" }),
    row(`batches of ${batchSize}, fsync`, unit, batchFsync, bare, { of: "bare fastify", ...disk }),
    row("SDK, memory", unit, sdkMemory, beside, { of: hasRedis ? "BullMQ" : "SDK, fsync" }),
    row("SDK, fsync", unit, sdkFsync, beside, {
      of: hasRedis ? "BullMQ" : "itself",
      target: hasRedis ? ">= 2, goal 3" : "",
      ...disk,
    }),
  ];
  if (bullmq !== undefined)
    rows.push(row("BullMQ, Redis with AOF everysec", unit, bullmq, bullmq, { of: "itself" }));
  else console.error("no redis-server here: BullMQ is skipped");
  const title = `http, a task's whole life: ${connections} connections; SDK and BullMQ: ${underWay} submits under way, one worker with ${slots} slots, ${tasks.toLocaleString("en")} tasks. CPU is that of all processes for SDK and BullMQ, of the server for the others`;
  return [{ title, rows }, await latencies(runs, folder)];
}

const unit = "tasks/s";

/** Connections that submit, claim and end tasks repeatedly. */
async function loops(
  file: string,
  args: object,
  tasks: number,
  count: number,
  isWhole = false,
): Promise<Figure> {
  const server = startPeer(file, args);
  const { address } = await server.report();
  const load = startPeer("./cycle-load.js", { address, connections: count, tasks, isWhole });
  try {
    load.tell(timing);
    await load.report();
    await cpuOf(server);
    const { perSecond, tasks: done } = (await load.report()) as { perSecond: number; tasks: number };
    return { perSecond, cpuMicrosEach: (await cpuOf(server)) / done };
  } finally {
    await Promise.all([server.stop(), load.stop()]);
  }
}

async function cpuOf(server: PeerProcess): Promise<number> {
  server.tell({});
  return (await server.report()).cpuMicros as number;
}

/** A dispatcher or broker, and the processor time that it used since the last call. */
interface Broker {
  /** Arguments of its client and its worker. */
  readonly at: object;
  cpuMicros(): Promise<number> | number;
  stop(): Promise<void>;
}

interface Ends {
  readonly client: PeerProcess;
  readonly worker: PeerProcess;
}

async function withEnds<Value>(
  broker: Broker,
  kind: "sdk" | "bullmq",
  run: (ends: Ends) => Promise<Value>,
): Promise<Value> {
  const worker = startPeer(`./${kind}-worker.js`, { ...broker.at, slots });
  const client = startPeer(`./${kind}-client.js`, broker.at);
  try {
    await Promise.all([worker.report(), client.report()]);
    return await run({ client, worker });
  } finally {
    await Promise.all([client.stop(), worker.stop()]);
    await broker.stop();
  }
}

function throughput(broker: Broker, kind: "sdk" | "bullmq", tasks: number): Promise<Figure> {
  return withEnds(broker, kind, async (ends) => {
    for (let rounds = warmUpRounds; rounds > 0; rounds--) await round(ends, tasks);
    await broker.cpuMicros();
    const start = performance.now();
    const cpu = await round(ends, tasks);
    const seconds = (performance.now() - start) / 1000;
    return { perSecond: tasks / seconds, cpuMicrosEach: (cpu + (await broker.cpuMicros())) / tasks };
  });
}

/** From the first submit to the last result. Returns the processor time of client and worker. */
async function round({ client, worker }: Ends, tasks: number): Promise<number> {
  worker.tell({ expect: tasks });
  // If a task ran before the worker began to count, the client would wait for it forever.
  await worker.report();
  client.tell({ tasks, underWay });
  const [submitted, worked] = await Promise.all([client.report(), worker.report()]);
  return (submitted.cpuMicros as number) + (worked.cpuMicros as number);
}

async function sdk(tasks: number, args: object): Promise<Figure> {
  return throughput(await yard(args), "sdk", tasks);
}

async function yard(args: object): Promise<Broker> {
  const server = startPeer("./http-yard.js", args);
  const { address } = await server.report();
  return { at: { address }, cpuMicros: () => cpuOf(server), stop: () => server.stop() };
}

async function bullmqFigure(tasks: number, folder: string): Promise<Figure> {
  return throughput(await redis(folder), "bullmq", tasks);
}

async function redis(folder: string): Promise<Broker> {
  const data = mkdtempSync(join(folder, "redis-"));
  const { server, port } = await startOnFreePort((free) =>
    spawn(
      "redis-server",
      ["--port", String(free), "--bind", "127.0.0.1", "--dir", data, "--save", ""].concat([
        "--appendonly",
        "yes",
        "--appendfsync",
        "everysec",
        "--maxmemory-policy",
        "noeviction",
      ]),
      { stdio: "ignore" },
    ),
  );
  let before = 0;
  return {
    at: { port },
    cpuMicros: () => {
      const now = usedBy(server.pid);
      const used = now - before;
      before = now;
      return used;
    },
    stop: async () => void server.kill("SIGKILL"),
  };
}

/** As the system counts it, in hundredths of a second; 0 if it does not report it. */
function usedBy(pid: number | undefined): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]?.split(" ") ?? [];
    return (Number(fields[11]) + Number(fields[12])) * 10_000;
  } catch {
    return 0;
  }
}

async function latencies(runs: number, folder: string): Promise<Table> {
  const fsync = { engine: "embedded", data: mkdtempSync(join(folder, "data-")) };
  const rows = [await latency("SDK, fsync", runs, () => yard(fsync), "sdk", "p50 <= 4")];
  if (hasRedis)
    rows.push(await latency("BullMQ, Redis with AOF everysec", runs, () => redis(folder), "bullmq", ""));
  const title = `one task alone, from submit to result, ${callsAlone} in a row`;
  return { title, rows };
}

async function latency(
  name: string,
  runs: number,
  start: () => Promise<Broker>,
  kind: "sdk" | "bullmq",
  target: string,
): Promise<Row> {
  const found: number[][] = [];
  for (let run = 0; run < runs; run++) {
    const times = await withEnds(await start(), kind, async ({ client }) => {
      client.tell({ calls: callsAlone });
      await client.report();
      client.tell({ calls: callsAlone });
      return (await client.report()).ms as number[];
    });
    found.push(times.sort((one, other) => one - other));
  }
  const at = (share: number) =>
    median(found.map((times) => times[Math.floor(times.length * share)] ?? Number.NaN));
  return { name, values: { "p50 ms": at(0.5), "p99 ms": at(0.99), target } };
}
