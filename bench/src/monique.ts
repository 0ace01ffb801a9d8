// The monique door compared with bare loops on the same sockets, in one run, with the same load:
// the cost of decoding each message, and the cost of a question through the core.

import { compare, type Figure, forwarding, row } from "./contest.js";
import type { Case, Table } from "./table.js";

const subscriberCount = 10;
const strangerCount = 1_000;
const workerCount = 64;

const publishing = (broker: string, strangers = 0) =>
  forwarding(broker, {
    workerCount: 0,
    isPinned: false,
    load: "./publishing-load.js",
    loadArgs: { subscribers: subscriberCount, strangers },
  });

async function dataTable(runs: number): Promise<Table> {
  const [theirs, bare, door] = (await compare(runs, [
    () => publishing("./zeromq-publisher.js"),
    () => publishing("./zmtp-publisher.js"),
    () => publishing("./monique-broker.js"),
  ])) as [Figure[], Figure[], Figure[]];
  return {
    title: `monique: free data from in to out, ${subscriberCount} subscribers`,
    rows: [
      row("zeromq.js, PULL to PUB", "messages/s", theirs, theirs, { target: "" }),
      row("zmtp, PULL to PUB", "messages/s", bare, theirs, { target: "" }),
      row("monique door, to zeromq.js", "messages/s", door, theirs, { target: ">= 3" }),
      row("monique door, to zmtp", "messages/s", door, bare, { target: ">= 0.8" }),
    ],
  };
}

async function questionTable(runs: number): Promise<Table> {
  const [pingpong, door] = (await compare(runs, [
    () => forwarding("./pingpong-broker.js", { workerCount, isPinned: false }),
    () => forwarding("./monique-broker.js", { workerCount, isPinned: false, load: "./asking-load.js" }),
  ])) as [Figure[], Figure[]];
  return {
    title: `monique: question to answer through a controller, ${workerCount} workers, memory engine`,
    rows: [
      row("pingpong door", "tasks/s", pingpong, pingpong, { target: "" }),
      row("monique door", "tasks/s", door, pingpong, { target: ">= 0.6" }),
    ],
  };
}

async function prefixTable(runs: number): Promise<Table> {
  const [few, many] = (await compare(runs, [
    () => publishing("./monique-broker.js"),
    () => publishing("./monique-broker.js", strangerCount),
  ])) as [Figure[], Figure[]];
  const others = strangerCount.toLocaleString("en");
  return {
    title: "monique: subscribers with prefixes of their own, which match nothing",
    rows: [
      row(`${subscriberCount} that match`, "messages/s", few, few, { target: "" }),
      row(`and ${others} that do not`, "messages/s", many, few, { target: ">= 0.8" }),
    ],
  };
}

export const monique: Case = {
  name: "monique",
  async run(runs) {
    return [await dataTable(runs), await questionTable(runs), await prefixTable(runs)];
  },
};
