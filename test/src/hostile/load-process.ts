// One process of the real load: `load-process.js ROLE TARGET`. ROLE is `probe`, `clients`, or the
// doors whose workers it runs, such as `http,pulse`. It reports `ready`, and then obeys load.ts
// over its IPC channel.

import { type RunningWorker, work } from "@yardmaster/sdk";
import { Clients, Probe } from "./load-clients.js";
import { type LoadTarget, loadQueue, moniqueSpec, urlsOf, type WorkedDoor } from "./load-target.js";
import type { ServiceReport } from "./service.js";

export type Order = "forget" | "report" | "lost" | "stop";
export type Answer = ServiceReport[] | number | undefined;

interface Part {
  forget?(): void;
  report?(): ServiceReport[];
  lost?(): Promise<number>;
  stop(): Promise<unknown>;
}

const [role = "", targetJson = "{}"] = process.argv.slice(2);
const target = JSON.parse(targetJson) as LoadTarget;
const part = await start();
process.on("message", ({ order, id }: { order: Order; id: number }) => {
  void answer(order).then((value) => process.send?.({ id, value }));
});
process.on("disconnect", () => process.exit(0));
process.send?.("ready");

function start(): Part | Promise<Part> {
  if (role === "probe") return new Probe(target);
  if (role === "clients") return Clients.start(target);
  return startWorkers(role.split(",") as WorkedDoor[]);
}

async function answer(order: Order): Promise<Answer> {
  if (order === "forget") part.forget?.();
  if (order === "report") return part.report?.();
  if (order === "lost") return part.lost?.();
  if (order === "stop") await part.stop();
  return undefined;
}

async function startWorkers(doors: readonly WorkedDoor[]): Promise<Part> {
  const urls = urlsOf(target);
  const workers: RunningWorker[] = [];
  for (const door of doors) {
    const queue = door === "http" ? { queue: loadQueue } : door === "monique" ? { queue: moniqueSpec } : {};
    const options = { ...queue, name: `echo-${door}`, onError: () => {} };
    const url = door === "pingpong" ? urls.pingpongWorkers : urls[door];
    const worker = await work(url, options, (payload) => payload.text());
    worker.ended.catch(() => {});
    workers.push(worker);
  }
  return { stop: () => Promise.allSettled(workers.map((worker) => worker.stop({ graceMs: 0 }))) };
}
