// ZeroMQ in TypeScript compared with zeromq.js, in one run: forwarding brokers, a PULL, large
// frames, idle peers.

import { fileURLToPath } from "node:url";
import { compare, type Figure, forwarding, row, timing } from "./contest.js";
import { canPin, startPeer } from "./peers/child.js";
import { type Case, render, type Table } from "./table.js";

const smallBytes = 20;
const largeBytes = 1024 * 1024;
const idleCount = 10_000;

/** A PUSH that sends as fast as it can, and a PULL that counts; `more` is told to both. */
export async function feeding(
  pusher: string,
  puller: string,
  bytes: number,
  more: object = {},
): Promise<Figure> {
  const push = startPeer(pusher, { bytes, ...more });
  const { endpoint } = await push.report();
  const pull = startPeer(puller, { endpoint, ...more });
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

async function forwardingTable(runs: number, isPinned: boolean): Promise<Table> {
  const [many, ours, theirs] = (await compare(runs, [
    () => forwarding("./zmtp-forwarder.js", { workerCount: 1000, isPinned }),
    () => forwarding("./zmtp-forwarder.js", { workerCount: 64, isPinned }),
    () => forwarding("./zeromq-forwarder.js", { workerCount: 64, isPinned }),
  ])) as [Figure[], Figure[], Figure[]];
  const place = isPinned
    ? "a processor for the broker, one for the load"
    : "processors as the system gives them";
  return {
    title: `zmtp: forwarding ROUTER, DEALER workers with one job each; ${place}`,
    rows: [
      row("zeromq.js, 64 workers", "tasks/s", theirs, theirs, { target: "" }),
      row("zmtp, 64 workers", "tasks/s", ours, theirs, { target: ">= 3" }),
      row("zmtp, 1,000 workers", "tasks/s", many, ours, { target: ">= 0.9 of 64" }),
    ],
  };
}

interface Feed {
  readonly title: string;
  readonly bytes: number;
  readonly pushers: readonly [ours: string, theirs: string];
  readonly target: string;
}

async function feedingTable(runs: number, { title, bytes, pushers, target }: Feed): Promise<Table> {
  const [ours, theirs] = (await compare(runs, [
    () => feeding(pushers[0], "./zmtp-puller.js", bytes),
    () => feeding(pushers[1], "./zeromq-puller.js", bytes),
  ])) as [Figure[], Figure[]];
  return {
    title: `zmtp: ${title}`,
    rows: [
      row("zeromq.js", "messages/s", theirs, theirs, { target: "" }),
      row("zmtp", "messages/s", ours, theirs, { target }),
    ],
  };
}

// The same feeder for both, so that the PULL is measured.
const small: Feed = {
  title: `one PULL fed by one PUSH, ${smallBytes} bytes`,
  bytes: smallBytes,
  pushers: ["./zmtp-pusher.js", "./zmtp-pusher.js"],
  target: ">= 5",
};
// Both ends use the same library, because large frames cost the sender as much as the receiver.
const large: Feed = {
  title: "PUSH to PULL, frames of 1 MB",
  bytes: largeBytes,
  pushers: ["./zmtp-pusher.js", "./zeromq-pusher.js"],
  target: ">= 0.8",
};

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
    const values = {
      "resident, MB": Math.round(after.rss / 1e6),
      "before, MB": Math.round(before.rss / 1e6),
      "a peer, KiB": (after.rss - before.rss) / 1024 / after.peers,
      target: "<= 300 MB",
    };
    return { title: "zmtp: idle peers of one ROUTER", rows: [{ name: `${after.peers} peers`, values }] };
  } finally {
    await Promise.all([router.stop(), peers.stop()]);
  }
}

export const zmtp: Case = {
  name: "zmtp",
  async run(runs) {
    return [
      ...(canPin ? [await forwardingTable(runs, true)] : []),
      await forwardingTable(runs, false),
      await feedingTable(runs, small),
      await feedingTable(runs, large),
      await idleTable(),
    ];
  },
};

// Run alone: `node bench/dist/zmtp.js [RUNS]`.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const table of await zmtp.run(Number(process.argv[2] ?? 9))) console.log(`${render(table)}\n`);
}
