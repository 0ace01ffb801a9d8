// A dispatcher for the demo alone: in memory, on free ports, in a folder of its own that is deleted
// afterwards. Nothing of it is configurable, so that it can never be a dispatcher with real work.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog, type DoorName, loadConfig, type RunningYard, serve } from "@yardmaster/server";

export interface DemoYard {
  readonly yard: RunningYard;
  /** Of the http door; the page is at its root. */
  readonly url: string;
  /** Where workers of each dialect connect. */
  readonly workers: DemoUrls;
  /** Where clients connect; pulse has none. */
  readonly clients: Omit<DemoUrls, "pulse">;
  stop(): Promise<void>;
}

export type DemoUrls = Readonly<Record<DoorName, string>>;

export const demoQueues = {
  http: "demo-thumbs",
  pingpong: "demo-render",
  pulse: "demo-video",
  udp: "demo-sensors",
  monique: "demo-clock",
  scaler: "demo-fit",
  /** No worker serves it. */
  unserved: "demo-archive",
} as const satisfies Record<DoorName | "unserved", string>;

export async function openDemoYard(): Promise<DemoYard> {
  const folder = mkdtempSync(join(tmpdir(), "yardmaster-demo-"));
  try {
    const file = join(folder, "yardmaster.json");
    writeFileSync(file, JSON.stringify(demoConfig(folder)));
    const config = loadConfig({ folder, file });
    const yard = await serve({ config, log: createLog(process.env.YARD_LOG ?? "fatal") });
    const stop = async () => {
      await yard.stop();
      rmSync(folder, { recursive: true, force: true });
    };
    return { yard, ...urlsOf(yard, folder), stop };
  } catch (fault) {
    rmSync(folder, { recursive: true, force: true });
    throw fault;
  }
}

function demoConfig(folder: string): object {
  const free = "127.0.0.1:0";
  return {
    engine: "memory",
    drainSeconds: 1,
    doors: {
      http: { listen: free },
      pingpong: { clients: free, workers: free, queue: demoQueues.pingpong },
      pulse: { dir: join(folder, "controller"), queue: demoQueues.pulse },
      udp: { client_address: { port: 0 }, queue: demoQueues.udp },
      monique: { in: free, out: free, techIn: free, techOut: free, controllers: { [demoQueues.monique]: 0 } },
      // With the default of 1,000 tasks per worker, the share in use would be too small to see.
      scaler: { listen: free, queue: demoQueues.scaler, perWorkerQueueSize: 16 },
    },
  };
}

function urlsOf({ doors }: RunningYard, folder: string): Pick<DemoYard, "url" | "workers" | "clients"> {
  const portOf = (address = "") => address.slice(address.lastIndexOf(":") + 1);
  const { monique = {}, pingpong = {} } = doors;
  const controller = portOf(monique[`controllers.${demoQueues.monique}`]);
  const url = `http://${doors.http?.listen}`;
  const shared = {
    http: url,
    udp: `udp://${Object.values(doors.udp ?? {})[0]}`,
    monique: `monique://${monique.in}?out=${portOf(monique.out)}&worker=${controller}`,
    scaler: `scaler://${doors.scaler?.listen}`,
  };
  return {
    url,
    workers: {
      ...shared,
      pingpong: `pingpong://${pingpong.workers}`,
      pulse: `pulse:${join(folder, "controller")}`,
    },
    clients: { ...shared, pingpong: `pingpong://${pingpong.clients}` },
  };
}
