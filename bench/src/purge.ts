// How long a purge of a million waiting tasks takes, in a dispatcher with fsync that was restarted
// with them, and how long a submission to another queue takes meanwhile.

import { setTimeout as pause } from "node:timers/promises";
import { fill } from "./durable.js";
import { fsyncMs, inFolder } from "./folders.js";
import { startPeer } from "./peers/child.js";
import { type Case, median } from "./table.js";

const waitingTasks = 1_000_000;
const probeMs = 50;

interface Purge {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** Durations of submissions during the purge, in milliseconds, ascending. */
  readonly submitMs: readonly number[];
  readonly fsync: number;
}

export const purge: Case = {
  name: "purge",
  async run(runs, size = waitingTasks) {
    const all: Purge[] = [];
    for (let run = 0; run < Math.min(runs, 3); run += 1)
      all.push(await inFolder((data) => measure(data, size)));
    const medianOf = (figure: (each: Purge) => number) => median(all.map(figure));
    const values = {
      seconds: medianOf(({ seconds }) => seconds),
      "CPU s": medianOf(({ cpuSeconds }) => cpuSeconds),
      "submit p50 ms": medianOf(({ submitMs }) => median(submitMs)),
      "at most": Math.max(...all.map(({ submitMs }) => submitMs.at(-1) ?? Number.NaN)),
      "fsync p50 ms": medianOf(({ fsync }) => fsync),
      target: "<= 20 s",
    };
    const title = `a purge of ${size.toLocaleString("en")} waiting tasks of 200 bytes, and submissions meanwhile`;
    return [{ title, rows: [{ name: "purge", values }] }];
  },
};

async function measure(data: string, tasks: number): Promise<Purge> {
  await fill(data, tasks);
  const fsync = fsyncMs(data);
  const yard = startPeer("./http-yard.js", { engine: "embedded", data });
  try {
    const base = `http://${(await yard.report()).address}/v1`;
    const cpuMicros = async () => {
      yard.tell({});
      return (await yard.report()).cpuMicros as number;
    };
    const submitMs: number[] = [];
    const before = await cpuMicros();
    const start = performance.now();
    const { id } = await post<{ id: string }>(`${base}/queues/pingpong:purge`);
    let action: { state: string; done: number };
    do {
      await pause(probeMs);
      const submittedAt = performance.now();
      await post(`${base}/queues/other/tasks`);
      submitMs.push(performance.now() - submittedAt);
      action = (await (await fetch(`${base}/actions/${id}`)).json()) as typeof action;
    } while (action.state === "running");
    const seconds = (performance.now() - start) / 1000;
    if (action.done !== tasks) throw new Error(`${action.done} of ${tasks} tasks were purged`);
    submitMs.sort((one, other) => one - other);
    return { seconds, cpuSeconds: ((await cpuMicros()) - before) / 1e6, submitMs, fsync };
  } finally {
    await yard.stop();
  }
}

async function post<Answer>(url: string): Promise<Answer> {
  const response = await fetch(url, { method: "POST", body: "x" });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Answer;
}
