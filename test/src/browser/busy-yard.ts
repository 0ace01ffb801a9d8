// A real dispatcher with workers of several dialects and something in every state, for tests of the
// page.

import { resolve } from "node:path";
import { connect, work } from "@yardmaster/sdk";
import { type ServedYard, serveYard } from "../end-to-end/served-yard.js";

export interface BusyYard {
  readonly served: ServedYard;
  readonly url: string;
  submit(queue: string, payload: unknown, options?: object): Promise<string>;
  post(path: string, body?: string): Promise<Response>;
  stop(): Promise<void>;
}

/** A worker fails tasks that say so, and holds those that say `hold` until they are cancelled. */
async function handle(payload: { text(): string }, context: { signal: AbortSignal }): Promise<unknown> {
  const text = payload.text();
  if (text.includes("fail")) throw new Error(`could not read '${text}' at /data/${text.length}/x`);
  if (text.includes("hold"))
    await new Promise((_, reject) => context.signal.addEventListener("abort", reject));
  return { ran: text };
}

/** The URLs at which workers of the other dialects connect. */
function workerUrls({ folder, doors }: ServedYard): string[] {
  const { in: to, out, "controllers.clock": controller } = doors.monique ?? {};
  const portOf = (address = "") => address.slice(address.lastIndexOf(":") + 1);
  return [
    `pingpong://${doors.pingpong?.workers}`,
    `pulse:${resolve(folder, doors.pulse?.dir ?? "")}`,
    `udp://${Object.values(doors.udp ?? {})[0]}`,
    `monique://${to}?out=${portOf(out)}&worker=${portOf(controller)}`,
    `scaler://${doors.scaler?.listen}`,
  ];
}

export async function busyYard(): Promise<BusyYard> {
  const served = await serveYard({
    engine: "memory",
    doors: {
      pingpong: { queue: "render" },
      pulse: { queue: "transcode" },
      udp: { queue: "sensors" },
      monique: { controllers: { clock: 0 } },
      scaler: { queue: "fit" },
    },
  });
  const workers = [await work(served.url, { queue: "thumbs", concurrency: 2 }, handle as never)];
  for (const url of workerUrls(served)) {
    const options = url.startsWith("monique:") ? { queue: "clock" } : {};
    workers.push(await work(url, options, handle as never));
  }
  const client = await connect(served.url);
  return {
    served,
    url: served.url,
    async submit(queue, payload, options = {}) {
      return (await client.submit(payload as never, { queue, ...options })).id;
    },
    post: (path, body) =>
      fetch(`${served.url}${path}`, { method: "POST", ...(body === undefined ? {} : { body }) }),
    async stop() {
      await client.close();
      await Promise.all(workers.map((worker) => worker.stop({ graceMs: 0 }).catch(() => undefined)));
      await served.stop();
    },
  };
}
