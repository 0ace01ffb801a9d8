// One client with many jobs under way and N workers with one each, the same for every broker under test.

import { Dealer } from "@yardmaster/zmtp";
import { onOrder, readArgs, report } from "./child.js";
import { startEchoWorker } from "./echo-worker.js";

const { front, back, workerCount } = readArgs<{ front: string; back: string; workerCount: number }>();
// Twice the workers: each finds a job waiting when it becomes idle.
const jobsUnderWay = workerCount * 2;
const job = [Buffer.alloc(0), Buffer.from("a job of a few dozen bytes, as real ones are")];

let ready = 0;
for (let index = 0; index < workerCount; index++) {
  startEchoWorker(back, () => {
    if (++ready === workerCount) report({ ready: true });
  });
}

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
