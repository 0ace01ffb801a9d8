// What replication costs: the pingpong door with the Postgres engine, on a real server with a
// synchronous standby, compared with the embedded and the memory engine in one run.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { compare, type Figure, forwarding, row } from "./contest.js";
import { inFolder } from "./folders.js";
import { type Case, median } from "./table.js";

const workerCount = 64;
const tasksUnderWay = 1024;

/** The part of the engine's test server that is needed here. */
interface Server {
  readonly url: string;
  readonly pid: number | undefined;
  sql(text: string): Promise<unknown>;
  standby(): Promise<Server>;
  destroy(): Promise<void>;
}

export const postgres: Case = {
  name: "postgres",
  async run(runs) {
    process.env.YARD_POSTGRES = "1";
    const place = new URL("../../packages/engines/dist/postgres/testing/server.js", import.meta.url);
    const { TestServer, withoutPostgres } = (await import(place.href)) as {
      TestServer: { start(settings: Record<string, string>): Promise<Server> };
      withoutPostgres: string | false;
    };
    if (withoutPostgres !== false) return [{ title: `postgres: skipped, ${withoutPostgres}`, rows: [] }];
    const primary = await TestServer.start({ shared_buffers: "128MB" });
    const standby = await primary.standby();
    try {
      await primary.sql("alter system set synchronous_standby_names = 'standby'");
      await primary.sql("select pg_reload_conf()");
      return await inFolder(async (data) => [await speeds(runs, data, primary, standby)]);
    } finally {
      await standby.destroy();
      await primary.destroy();
    }
  },
};

async function speeds(runs: number, data: string, primary: Server, standby: Server) {
  const contest = { workerCount, tasksUnderWay, isPinned: false };
  const measured = (server: Server) =>
    forwarding("./pingpong-broker.js", {
      ...contest,
      args: { postgres: primary.url },
      serverMicros: () => processorMicros(server.pid ?? 0),
    });
  const [memory, embedded, primaries, standbys] = (await compare(runs, [
    () => forwarding("./pingpong-broker.js", contest),
    () => forwarding("./pingpong-broker.js", { ...contest, args: { data, durability: "fsync" } }),
    () => measured(primary),
    () => measured(standby),
  ])) as [Figure[], Figure[], Figure[], Figure[]];
  const server = (figures: Figure[]) => median(figures.map(({ serverMicrosEach = 0 }) => serverMicrosEach));
  return {
    title: `pingpong: ${workerCount} workers, ${tasksUnderWay} tasks under way, one synchronous standby`,
    rows: [
      row("memory engine", "tasks/s", memory, embedded, { target: "" }),
      row("embedded, fsync", "tasks/s", embedded, embedded, { target: "" }),
      row("postgres", "tasks/s", primaries, embedded, {
        target: ">= 0.5 of embedded, primary <= 10 µs",
        "primary, µs": server(primaries),
        "standby, µs": server(standbys),
      }),
    ],
  };
}

const microsPerTick = 1e6 / Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/** Of a server and its processes, those that have ended included. */
function processorMicros(pid: number): number {
  const children = execFileSync("pgrep", ["-P", String(pid)], { encoding: "utf8" })
    .trim()
    .split("\n");
  const own = ticks(pid);
  let sum = own.live + own.ended;
  for (const child of children) sum += ticks(Number(child)).live;
  return sum * microsPerTick;
}

function ticks(pid: number): { readonly live: number; readonly ended: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .map(Number);
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15);
  return { live: user + system, ended: endedUser + endedSystem };
}
