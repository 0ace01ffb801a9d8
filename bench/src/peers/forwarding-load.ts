// One client with many jobs in flight and N workers with one each, the same for every broker under
// test.

import { Dealer } from "@yardmaster/zmtp";
import { readArgs, report } from "./child.js";
import { startEchoWorker } from "./echo-worker.js";
import { countEnded } from "./measured-load.js";

/** `perSecond` limits the rate; without it, a new job is sent for each that returns. */
const {
  front,
  back,
  workerCount,
  perSecond,
  // Twice the number of workers, so that each finds a job when it becomes idle.
  tasksUnderWay = workerCount * 2,
} = readArgs<{
  front: string;
  back: string;
  workerCount: number;
  perSecond?: number;
  tasksUnderWay?: number;
}>();
const job = [Buffer.alloc(0), Buffer.from("a job of a few dozen bytes, as real ones are")];

/** Counted at the workers, because other waiting tasks are work as well. */
let done = 0;
let ready = 0;
for (let index = 0; index < workerCount; index++) {
  startEchoWorker(
    back,
    () => {
      if (++ready === workerCount) report({ ready: true });
    },
    () => done++,
  );
}

const client: Dealer = new Dealer({
  onMessage: () => {
    if (perSecond === undefined) client.send(job);
  },
});
client.connect(front);

function start(): void {
  if (perSecond === undefined) {
    for (let index = 0; index < tasksUnderWay; index++) client.send(job);
    return;
  }
  const startedAt = performance.now();
  let sent = 0;
  setInterval(() => {
    const due = ((performance.now() - startedAt) / 1000) * perSecond;
    for (; sent < due; sent++) client.send(job);
  }, 2);
}

countEnded(() => done, start);
