// The allocations and timers while tasks are submitted, done and delivered, with and without
// metrics. Everything runs in this process, and garbage is not collected meanwhile.

import { defaultCoreOptions, type Effect } from "@yardmaster/core";
import { MemoryEngine } from "@yardmaster/engines";
import { type Clock, type Door, Metrics, Runtime, realClock, Tap } from "@yardmaster/server";
import { readArgs, report } from "./child.js";

const { isWatched, rounds, tasks } = readArgs<{ isWatched: boolean; rounds: number; tasks: number }>();
const timers = { set: 0 };
const clock: Clock = {
  ...realClock,
  setTimer: (ms, work) => {
    timers.set += 1;
    return realClock.setTimer(ms, work);
  },
};
const tap = new Tap();
const metrics = isWatched ? new Metrics() : undefined;
const runtime = new Runtime({
  engine: new MemoryEngine(),
  clock,
  core: { ...defaultCoreOptions, random: () => 0.5 },
  onFatal: (fault) => {
    throw fault;
  },
  ...(metrics ? { onCommitted: metrics.committed } : {}),
});
metrics?.watchRuntime(runtime);
metrics?.watchTap(tap);

const port = runtime.port("bench");
const payload = { mediaType: "text/plain", size: 4, bytes: Buffer.from("work") };
let done = 0;
let wake: () => void = () => {};
const door: Door = {
  name: "bench",
  open: () => Promise.resolve({}),
  deliver(effects: readonly Effect[]) {
    for (const effect of effects) {
      if (effect.type !== "assign") continue;
      const { worker, attempt } = effect;
      if (metrics) tap.count("bench", "out", "job", 4);
      port.post({ type: "attempt-done", worker, task: effect.task.id, attempt, result: payload });
      done += 1;
      wake();
    }
  },
  handleTimeout() {},
  nextDeadline: () => undefined,
  stopAccepting() {},
  close: () => Promise.resolve(),
};
runtime.attach(door);
await runtime.start();
await runtime.openDoors();
port.post({
  type: "worker-joined",
  worker: "bench/w" as never,
  profile: {
    dialect: "bench",
    address: "",
    queues: ["q"],
    slots: 1000,
    runsAtOnce: 1000,
    pulls: false,
    givesBack: false,
  },
});

async function round(): Promise<void> {
  const wanted = done + tasks;
  for (let n = 0; n < tasks; n += 10) {
    for (let m = 0; m < 10; m++) {
      if (metrics) tap.count("bench", "in", "job", 4);
      port.post({ type: "task-submitted", submission: { queue: "q", payload } });
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  while (done < wanted) {
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
}

for (let warm = 0; warm < 20; warm++) await round();
const figures: { bytes: number; timers: number }[] = [];
for (let n = 0; n < rounds; n++) {
  global.gc?.();
  const before = { bytes: process.memoryUsage().heapUsed, timers: timers.set };
  await round();
  figures.push({ bytes: process.memoryUsage().heapUsed - before.bytes, timers: timers.set - before.timers });
}
report({ figures });
