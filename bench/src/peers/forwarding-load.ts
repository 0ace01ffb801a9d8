// One client with many jobs under way and N workers with one each, the same for every broker under test.

import { Dealer } from "@yardmaster/zmtp";
import { onOrder, readArgs, report } from "./child.js";

const { front, back, workerCount } = readArgs<{ front: string; back: string; workerCount: number }>();
// Twice the workers: each finds a job waiting when it becomes idle.
const jobsUnderWay = workerCount * 2;
const empty = Buffer.alloc(0);
const hello = [empty, Buffer.from("READY")];
const job = [empty, Buffer.from("a job of a few dozen bytes, as real ones are")];

// Each connection is a worker to the broker. They share one socket here, to leave the processor to the broker.
let ready = 0;
const workers: Dealer = new Dealer({
  onPeer: (peer) => {
    workers.sendTo(peer, hello);
    if (++ready === workerCount) report({ ready: true });
  },
  onMessage: (peer, frames) => workers.sendTo(peer, frames),
});
for (let index = 0; index < workerCount; index++) workers.connect(back);

let done = 0;
let isStarted = false;
const client: Dealer = new Dealer({
  onMessage: () => {
    done++;
    client.send(job);
  },
});
client.connect(front);

onOrder(({ measureMs, warmUpMs }) => {
  if (!isStarted) for (let index = 0; index < jobsUnderWay; index++) client.send(job);
  isStarted = true;
  setTimeout(() => {
    report({ started: true });
    const from = { at: performance.now(), done };
    setTimeout(() => {
      const tasks = done - from.done;
      report({ tasks, perSecond: tasks / ((performance.now() - from.at) / 1000) });
    }, measureMs as number);
  }, warmUpMs as number);
});
