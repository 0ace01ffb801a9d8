// An example of docs/sdk.md: a handler that reports progress and heeds its signal, and a watch.

import { setTimeout as sleep } from "node:timers/promises";
import { connect, work } from "@yardmaster/sdk";

export async function main(url: string): Promise<string[]> {
  const worker = await work(url, { queue: "render" }, async (payload, context) => {
    const frames = Number(payload.text());
    for (let frame = 1; frame <= frames; frame += 1) {
      context.signal.throwIfAborted();
      await sleep(1, undefined, { signal: context.signal });
      context.progress(frame / frames, `frame ${frame} of ${frames}`);
    }
    return `${frames} frames`;
  });
  const client = await connect(url);
  const { id } = await client.submit("100", { queue: "render" });
  const seen: string[] = [];
  for await (const task of client.watch(id)) {
    seen.push(`${task.state} ${task.progress?.message ?? ""}`);
  }
  await client.close();
  await worker.stop();
  return seen;
}
