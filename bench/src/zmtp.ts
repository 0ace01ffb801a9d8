// ZeroMQ in TypeScript against zeromq.js, in one run: forwarding brokers, a fed PULL, large frames, idle peers.
// Every figure is the median of several short runs that take turns, so that a busy machine slows both alike.

import { fileURLToPath } from "node:url";
import { type PeerProcess, startPeer } from "./peers/child.js";

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: ReadonlyArray<readonly string[]>;
}

const runs = 5;
const timing = { warmUpMs: 700, measureMs: 1_500 };
const smallBytes = 20;
const largeBytes = 1024 * 1024;
const idleCount = 10_000;

interface Figure {
  readonly perSecond: number;
  readonly cpuMicrosEach: number;
}

async function forwarding(broker: string, workerCount: number): Promise<Figure> {
  const forwarder = startPeer(broker, {});
  const { front, back } = await forwarder.report();
  const load = startPeer("./forwarding-load.js", { front, back, workerCount });
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

/** Runs the contestants in turn, several times, and takes each one's median. */
async function compare(contestants: ReadonlyArray<() => Promise<Figure>>): Promise<Figure[]> {
  const figures: Figure[][] = contestants.map(() => []);
  for (let run = 0; run < runs; run++) {
    for (const [index, contestant] of contestants.entries()) figures[index]?.push(await contestant());
  }
  return figures.map((list) => [...list].sort((a, b) => a.perSecond - b.perSecond)[runs >> 1] as Figure);
}

async function forwardingTable(): Promise<Table> {
  const [ours, many, theirs] = (await compare([
    () => forwarding("./zmtp-forwarder.js", 64),
    () => forwarding("./zmtp-forwarder.js", 1000),
    () => forwarding("./zeromq-forwarder.js", 64),
  ])) as [Figure, Figure, Figure];
  return {
    title: "forwarding ROUTER, DEALER workers with one job each",
    columns: ["broker", "workers", "tasks/s", "broker CPU a task", "ratio", "target"],
    rows: [
      ["zeromq.js", "64", whole(theirs.perSecond), micros(theirs), "1.00", ""],
      ["zmtp", "64", whole(ours.perSecond), micros(ours), ratio(ours, theirs), ">= 3"],
      ["zmtp", "1000", whole(many.perSecond), micros(many), `${ratio(many, ours)} of 64`, ">= 0.9"],
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
  ])) as [Figure, Figure];
  const volume = (figure: Figure) => `${((figure.perSecond * bytes) / 1e6).toFixed(0)} MB/s`;
  return {
    title,
    columns: ["PULL", "messages/s", "volume", "CPU a message", "ratio", "target"],
    rows: [
      ["zeromq.js", whole(theirs.perSecond), volume(theirs), micros(theirs), "1.00", ""],
      ["zmtp", whole(ours.perSecond), volume(ours), micros(ours), ratio(ours, theirs), target],
    ],
  };
}

async function idleTable(): Promise<Table> {
  const router = startPeer("./idle-router.js", {}, ["--expose-gc"]);
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

const whole = (value: number) => Math.round(value).toLocaleString("en");
const micros = (figure: Figure) => `${figure.cpuMicrosEach.toFixed(2)} µs`;
const ratio = (figure: Figure, base: Figure) => (figure.perSecond / base.perSecond).toFixed(2);

export const zmtp = {
  name: "zmtp",
  async run(): Promise<Table[]> {
    return [
      await forwardingTable(),
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
