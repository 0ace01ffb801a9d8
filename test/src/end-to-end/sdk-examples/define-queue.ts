// An example of docs/sdk.md: a queue that clients and workers share, with validators.

import { connect, defineQueue } from "@yardmaster/sdk";
import * as z from "zod";

export const square = defineQueue("square", {
  payload: z.object({ n: z.number().int() }),
  result: z.number(),
  options: { attempts: 3, timeoutMs: 60_000 },
});

export async function main(url: string): Promise<number> {
  const worker = await square.work(url, { concurrency: 4 }, ({ n }) => n * n);
  const client = await connect(url);
  const result = await square.call(client, { n: 12 });
  await client.close();
  await worker.stop();
  return result;
}
