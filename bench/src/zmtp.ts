// ZeroMQ in TypeScript against zeromq.js, in one run: forwarding brokers, a fed PULL, large frames, idle peers.
// Every figure is the median of several short runs that take turns, so that a busy machine slows all of them alike.

import { fileURLToPath } from "node:url";
import { canPin, type PeerProcess, startPeer } from "./peers/child.js";

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: ReadonlyArray<readonly string[]>;
}

const runs = 9;
const timing = { warmUpMs: 500, measureMs: 800 };
const smallBytes = 20;
const largeBytes = 1024 * 1024;
const idleCount = 10_000;

interface Figure {
  readonly perSecond: number;
  readonly cpuMicrosEach: number;
}

/** Pinned, the broker has one processor to itself and the load another: brokers then differ in cost, not in threads. */
async function forwarding(broker: string, workerCount: number, isPinned: boolean): Promise<Figure> {
  const forwarder = startPeer(broker, {}, isPinned ? { core: 0 } : {});
  const { front, back } = await forwarder.report();
  const load = startPeer("./forwarding-load.js", { front, back, workerCount }, isPinned ? { core: 1 } : {});
  try {
    await load.report();
    load.tell(timing);
    await load.report();
    await cpuOf(forwarder);
    const { perSecond, tasks } = (await load.report()) as { perSecond: number; tasks: number };
    return { perSecond, cpuMicrosEach: (await cpuOf(forwarder)) / tasks };
  } finally {
    await Promise.all([forwarder.stop(), load.stop()]);
  }
}

async function cpuOf(process: PeerProcess): Promise<number> {
  process.tell({});
  return (await process.report()).cpuMicros as number;
}

async function feeding(pusher: string, puller: string, bytes: number): Promise<Figure> {
  const push = startPeer(pusher, { bytes });
  const { endpoint } = await push.report();
  const pull = startPeer(puller, { endpoint });
  try {
    await push.report();
    push.tell({});
    pull.tell(timing);
    const { perSecond, cpuMicros } = (await pull.report()) as { perSecond: number; cpuMicros: number };
    return { perSecond, cpuMicrosEach: cpuMicros / (perSecond * (timing.measureMs / 1000)) };
  } finally {
    await Promise.all([push.stop(), pull.stop()]);
  }
}

/** Runs the contestants in turn, several times. */
async function compare(contestants: ReadonlyArray<() => Promise<Figure>>): Promise<Figure[][]> {
  const figures: Figure[][] = contestants.map(() => []);
  for (let run = 0; run < runs; run++) {
    for (const [index, contestant] of contestants.entries()) figures[index]?.push(await contestant());
  }
  return figures;
}

async function forwardingTable(isPinned: boolean): Promise<Table> {
  const [many, ours, theirs] = (await compare([
    () => forwarding("./zmtp-forwarder.js", 1000, isPinned),
    () => forwarding("./zmtp-forwarder.js", 64, isPinned),
    () => forwarding("./zeromq-forwarder.js", 64, isPinned),
  ])) as [Figure[], Figure[], Figure[]];
  const place = isPinned
    ? "one processor for the broker, one for the load"
    : "processors as the system gives them";
  return {
    title: `forwarding ROUTER, DEALER workers with one job each; ${place}`,
    columns: ["broker", "workers", "tasks/s", "broker CPU a task", "ratio", "target"],
    rows: [
      ["zeromq.js", "64", rate(theirs), micros(theirs), "1.00", ""],
      ["zmtp", "64", rate(ours), micros(ours), ratio(ours, theirs), isPinned ? ">= 3" : ""],
      ["zmtp", "1000", rate(many), micros(many), `${ratio(many, ours)} of 64`, isPinned ? ">= 0.9" : ""],
    ],
  };
}

async function feedingTable(
  title: string,
  bytes: number,
  pushers: [string, string],
  target: string,
): Promise<Table> {
  const [ours, theirs] = (await compare([
    () => feeding(pushers[0], "./zmtp-puller.js", bytes),
    () => feeding(pushers[1], "./zeromq-puller.js", bytes),
  ])) as [Figure[], Figure[]];
  const volume = (figures: Figure[]) => `${((median(figures.map(perSecond)) * bytes) / 1e6).toFixed(0)} MB/s`;
  return {
    title,
    columns: ["PULL", "messages/s", "volume", "CPU a message", "ratio", "target"],
    rows: [
      ["zeromq.js", rate(theirs), volume(theirs), micros(theirs), "1.00", ""],
      ["zmtp", rate(ours), volume(ours), micros(ours), ratio(ours, theirs), target],
    ],
  };
}

async function idleTable(): Promise<Table> {
  const router = startPeer("./idle-router.js", {}, { nodeOptions: ["--expose-gc"] });
  const { endpoint } = await router.report();
  router.tell({});
  const before = (await router.report()) as { rss: number };
  const peers = startPeer("./idle-peers.js", { endpoint, count: idleCount });
  try {
    await peers.report();
    router.tell({});
    const after = (await router.report()) as { rss: number; peers: number };
    const mega = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
    const each = `${((after.rss - before.rss) / 1024 / after.peers).toFixed(1)} KiB`;
    return {
      title: "idle peers of one ROUTER",
      columns: ["peers", "resident", "before", "a peer", "target"],
      rows: [[String(after.peers), mega(after.rss), mega(before.rss), each, "<= 300 MB"]],
    };
  } finally {
    await Promise.all([router.stop(), peers.stop()]);
  }
}

const perSecond = (figure: Figure) => figure.perSecond;
const rate = (figures: Figure[]) => Math.round(median(figures.map(perSecond))).toLocaleString("en");
const micros = (figures: Figure[]) =>
  `${median(figures.map((figure) => figure.cpuMicrosEach)).toFixed(2)} µs`;

/** The median of the ratios of neighbouring runs: what else the machine does changes slower than they take turns. */
function ratio(figures: Figure[], base: Figure[]): string {
  return median(figures.map((figure, run) => figure.perSecond / (base[run] as Figure).perSecond)).toFixed(2);
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] as number;
}

export const zmtp = {
  name: "zmtp",
  async run(): Promise<Table[]> {
    return [
      ...(canPin ? [await forwardingTable(true)] : []),
      await forwardingTable(false),
      // The same feeder for both: what is measured is the PULL.
      await feedingTable(
        "one PULL fed by one PUSH, 20 bytes",
        smallBytes,
        ["./zmtp-pusher.js", "./zmtp-pusher.js"],
        ">= 5",
      ),
      // Both ends of the same make: large frames cost the sender as much as the receiver.
      await feedingTable(
        "PUSH to PULL, frames of 1 MB",
        largeBytes,
        ["./zmtp-pusher.js", "./zeromq-pusher.js"],
        ">= 0.8",
      ),
      await idleTable(),
    ];
  },
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const table of await zmtp.run()) {
    console.log(`\n${table.title}`);
    console.table(
      table.rows.map((row) => Object.fromEntries(table.columns.map((name, at) => [name, row[at]]))),
    );
  }
}
