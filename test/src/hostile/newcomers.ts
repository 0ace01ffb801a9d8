// Checks whether peers that connect during an attack are accepted.

import { work } from "@yardmaster/sdk";
import type { ServedYard } from "../end-to-end/served-yard.js";
import { urlsOf } from "./load-target.js";
import { pause } from "./service.js";

/** A deadline, not a measure of the machine. */
const newcomerMsMax = 60_000;
const ownQueues = ["http", "pingpong", "udp", "pulse", "scaler"];

/** The refusals given to a new worker, and to a task on each door's own queue. */
export async function refusedNewcomers(yard: ServedYard): Promise<string[]> {
  const urls = urlsOf(yard);
  const refused: string[] = [];
  for (const [door, url] of [
    ["http", urls.http],
    ["pingpong", urls.pingpongWorkers],
  ] as const) {
    const late = pause(newcomerMsMax).then(() => "no answer to a newcomer");
    const fault = await Promise.race([refusedWorker(yard, door, url), late]);
    if (fault !== undefined) refused.push(`${door}: ${fault.slice(0, 100)}`);
  }
  for (const queue of ownQueues) {
    const url = `${yard.url}/v1/queues/${queue}/tasks?delay=1h`;
    const signal = AbortSignal.timeout(newcomerMsMax);
    const response = await fetch(url, { method: "POST", body: "x", signal }).catch(() => undefined);
    if (response?.status !== 201) refused.push(`queue ${queue}: ${response?.status ?? "no answer"}`);
    await response?.arrayBuffer();
  }
  return refused;
}

async function refusedWorker(yard: ServedYard, door: string, url: string): Promise<string | undefined> {
  const name = `new-${door}`;
  let heard: unknown;
  const options = { ...(door === "http" ? { queue: "newcomers" } : {}), name };
  try {
    const worker = await work(url, { ...options, onError: (error) => (heard ??= error) }, () => "new");
    worker.ended.catch(() => {});
    const isShown = await isListed(yard, name);
    await worker.stop({ graceMs: 0 });
    if (heard !== undefined) return String(heard);
    return isShown ? undefined : "a new worker was not taken in";
  } catch (error) {
    return String(error);
  }
}

async function isListed({ url }: ServedYard, name: string): Promise<boolean> {
  const end = performance.now() + newcomerMsMax / 2;
  while (performance.now() < end) {
    const signal = AbortSignal.timeout(newcomerMsMax);
    const text = await (await fetch(`${url}/v1/workers?q=${name}&limit=1`, { signal })).text();
    if (text.includes(name)) return true;
    await pause(100);
  }
  return false;
}
