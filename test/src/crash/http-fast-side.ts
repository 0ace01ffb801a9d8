// Clients and workers over http that use the SDK: tasks of one tick share a request, and workers
// use a stream.

import { connect, InterruptedError, RefusedError, work } from "@yardmaster/sdk";
import type { Peer } from "./dialect-sides.js";
import { HttpDoors } from "./http-doors.js";
import { type Going, markOf } from "./http-side.js";
import type { Ledger } from "./ledger.js";
import { sized, sizedWithMark } from "./sizes.js";
import { pause, workMs } from "./timing.js";

const queue = "http";
const inTick = 8;
const againMs = 50;

/**
 * Submits several tasks per tick, each with its mark as the key, and repeats each until it is
 * acknowledged.
 */
export async function fastHttpClient(
  urls: readonly string[],
  ledger: Ledger,
  going: Going,
  pauseMsMax = 40,
): Promise<void> {
  const client = await connect(urls);
  const submit = async () => {
    const mark = ledger.newMark("http");
    const payload = sized(mark);
    while (going.isWorking) {
      try {
        const { id } = await client.submit(payload, { queue, key: mark });
        ledger.accepted(mark, id);
        return;
      } catch (fault) {
        if (fault instanceof RefusedError && fault.status < 429) throw fault;
        await pause(againMs);
      }
    }
  };
  while (going.isSubmitting) {
    await Promise.all(Array.from({ length: inTick }, submit));
    await pause(pauseMsMax * Math.random());
  }
  await client.close();
}

/** Submits and waits for the result. */
export async function waitingHttpClient(
  urls: readonly string[],
  ledger: Ledger,
  going: Going,
): Promise<void> {
  const client = await connect(urls);
  while (going.isSubmitting) {
    const mark = ledger.newMark("http");
    try {
      const { id } = await client.submit(sizedWithMark(mark), { queue, key: mark });
      ledger.accepted(mark, id);
      ledger.told(mark, (await client.result(id)).text());
    } catch {
      await pause(againMs);
    }
  }
  await client.close();
}

export async function streamWorker(urls: readonly string[], name: string, ledger: Ledger): Promise<Peer> {
  const doors = new HttpDoors(urls, ledger);
  const options = { queue, name, concurrency: 4, leaseMs: 2_000 };
  const worker = await work(urls, options, async (payload, { task = "" }) => {
    const mark = await markOf(doors, task, payload.text());
    // The dispatcher is down, and nothing else knows which task this is.
    if (mark === undefined) throw new InterruptedError("stopping");
    const result = sizedWithMark(ledger.ran(mark, name));
    await pause(workMs());
    return result;
  });
  return { stop: () => worker.stop({ graceMs: 0 }) };
}
