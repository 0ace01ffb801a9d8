// Clients and workers over http that use the SDK: tasks of one tick share a request, and workers
// use a stream.

import { connect, InterruptedError, RefusedError, work } from "@yardmaster/sdk";
import type { Peer } from "./dialect-sides.js";
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
export async function fastHttpClient(url: string, ledger: Ledger, going: Going): Promise<void> {
  const client = await connect(url);
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
    await pause(40 * Math.random());
  }
  await client.close();
}

export async function streamWorker(url: string, name: string, ledger: Ledger): Promise<Peer> {
  const options = { queue, name, concurrency: 4, leaseMs: 2_000 };
  const worker = await work(url, options, async (payload, { task = "" }) => {
    const mark = await markOf(url, task, payload.text());
    // The dispatcher is down, and nothing else knows which task this is.
    if (mark === undefined) throw new InterruptedError("stopping");
    const result = sizedWithMark(ledger.ran(mark, name));
    await pause(workMs());
    return result;
  });
  return { stop: () => worker.stop({ graceMs: 0 }) };
}
