// CURVE against libzmq's, in one run: a PUSH feeds a PULL of the same make with messages of 64
// bytes, 1 KB and 64 KB.

import { spawnSync } from "node:child_process";
import { curveKeyPair } from "@yardmaster/zmtp";
import { compare, type Figure, row } from "./contest.js";
import type { Case, Table } from "./table.js";
import { median } from "./table.js";
import { feeding } from "./zmtp.js";

const keys = { server: curveKeyPair(), client: curveKeyPair() };
const python = ["python3", "/usr/bin/python3"].find(
  (program) => spawnSync(program, ["-c", "import zmq; assert zmq.has('curve')"]).status === 0,
);

interface Contestant {
  readonly name: string;
  readonly pusher: string;
  readonly puller: string;
}

const ours: Contestant = { name: "zmtp", pusher: "./zmtp-pusher.js", puller: "./zmtp-puller.js" };
// The loop of pyzmq costs less than that of zeromq.js, so it says more about libzmq.
const theirs: Contestant =
  python === undefined
    ? { name: "libzmq by zeromq.js", pusher: "./zeromq-pusher.js", puller: "./zeromq-puller.js" }
    : { name: "libzmq by pyzmq", pusher: "./pyzmq-feed.js", puller: "./pyzmq-feed.js" };

async function curveTable(runs: number, bytes: number, target: string): Promise<Table> {
  const contest = ({ pusher, puller }: Contestant) => feeding(pusher, puller, bytes, { curve: keys, python });
  const [their, our, clear] = (await compare(runs, [
    () => contest(theirs),
    () => contest(ours),
    () => feeding(ours.pusher, ours.puller, bytes),
  ])) as [Figure[], Figure[], Figure[]];
  const rate = (figures: Figure[]) => ({
    "MB/s": (median(figures.map(({ perSecond }) => perSecond)) * bytes) / 1e6,
  });
  return {
    title: `curve: PUSH to PULL, ${bytes} bytes`,
    rows: [
      row(theirs.name, "messages/s", their, their, { ...rate(their), target: "" }),
      row(ours.name, "messages/s", our, their, { ...rate(our), target }),
      row("zmtp without CURVE", "messages/s", clear, their, { ...rate(clear), target: "" }),
    ],
  };
}

export const curve: Case = {
  name: "curve",
  async run(runs) {
    return [
      await curveTable(runs, 64, ">= 0.5"),
      await curveTable(runs, 1024, ">= 0.5"),
      await curveTable(runs, 64 * 1024, ""),
    ];
  },
};
