// The whole crash test: load from every dialect, kills at random moments, and the ledger's verdict.

import type { DoorName } from "@yardmaster/server";
import {
  moniqueClient,
  moniqueWorker,
  type Peer,
  pingpongClient,
  pingpongWorker,
  pulseWorker,
  scalerClient,
  scalerWorker,
  udpCalculator,
  udpClient,
} from "./dialect-sides.js";
import { endAndCheck, type Load } from "./ending.js";
import { HttpDoors } from "./http-doors.js";
import { fastHttpClient, streamWorker } from "./http-fast-side.js";
import { type Going, httpClient, httpWatcher, httpWorker } from "./http-side.js";
import { Ledger } from "./ledger.js";
import { type Addresses, Lives, moniqueSpec } from "./lives.js";
import { pause } from "./timing.js";

export interface CrashOptions {
  readonly kills: number;
  readonly engine: string;
  /** The database of the Postgres engine. */
  readonly url?: string | undefined;
  readonly onKill?: (kills: number, ledger: Ledger) => void;
}

export interface CrashReport {
  readonly counts: Ledger["counts"];
  readonly toldTwice: number;
  readonly kills: number;
  readonly readyMs: readonly number[];
  readonly faults: readonly string[];
}

/** Share of starts during which it is killed again. */
const earlyKills = 0.2;

export async function crash({ kills, engine, url, onKill }: CrashOptions): Promise<CrashReport> {
  const lives = new Lives(engine, url);
  const ledger = new Ledger();
  const going: Going = { isSubmitting: true, isWorking: true };
  await lives.start();
  const loaded = await load(lives, ledger, going);
  for (let kill = 1; kill <= kills; kill += 1) {
    await pause(100 + 1400 * Math.random());
    await lives.kill();
    onKill?.(kill, ledger);
    if (kill < kills && Math.random() < earlyKills) {
      const started = lives.start();
      await pause(400 * Math.random());
      await lives.kill();
      await started;
    }
    await lives.start();
  }
  await pause(500);
  const faults = await endAndCheck(new HttpDoors([lives.addresses.http], ledger), loaded, ledger, going);
  const code = await lives.stop();
  if (code !== 0) faults.push(`the last life ended with ${code}`);
  if (faults.length === 0) lives.clean();
  else faults.push(`its folder is ${lives.folder}`);
  return { counts: ledger.counts, toldTwice: ledger.toldTwice, kills, readyMs: lives.readyMs, faults };
}

interface DoorLoad {
  readonly queue: string;
  /** They submit until `going` ends. */
  readonly clients?: (...given: Given) => Promise<void>[];
  /** They are stopped at the end. */
  readonly workers: (...given: Given) => (Peer | Promise<Peer>)[];
  /** They end with `going`. */
  readonly others?: (...given: Given) => Promise<void>[];
}

type Given = readonly [addresses: Addresses, ledger: Ledger, going: Going];

/** Every door of the registry takes part. */
const loads: Readonly<Record<DoorName, DoorLoad>> = {
  http: {
    queue: "http",
    clients: ({ http }, ledger, going) => [
      ...Array.from({ length: 12 }, () =>
        httpClient(new HttpDoors([http], ledger), ledger, going, { queues }),
      ),
      fastHttpClient([http], ledger, going),
    ],
    workers: ({ http }, ledger) => ["stream-1", "stream-2"].map((name) => streamWorker([http], name, ledger)),
    others: ({ http }, ledger, going) => [
      ...["http-1", "http-2"].map((name) => httpWorker(new HttpDoors([http], ledger), name, ledger, going)),
      httpWatcher(new HttpDoors([http], ledger), ledger, going),
    ],
  },
  pingpong: {
    queue: "pingpong",
    clients: (...given) => [0, 1, 2, 3].map(() => pingpongClient(...given)),
    workers: (addresses, ledger) =>
      ["ping-1", "ping-2", "ping-3"].map((name) => pingpongWorker(addresses, name, ledger)),
  },
  pulse: {
    queue: "pulse",
    workers: (addresses, ledger) =>
      ["pulse-1", "pulse-2"].map((name) => pulseWorker(addresses, name, ledger)),
  },
  udp: {
    queue: "udp",
    clients: (...given) => [udpClient(...given)],
    workers: (addresses, ledger) => ["udp-1", "udp-2"].map((name) => udpCalculator(addresses, name, ledger)),
  },
  monique: {
    queue: moniqueSpec,
    clients: (...given) => [0, 1].map(() => moniqueClient(...given)),
    workers: (addresses, ledger) =>
      ["monique-1", "monique-2"].map((name) => moniqueWorker(addresses, name, ledger)),
  },
  scaler: {
    queue: "scaler",
    clients: (...given) => [0, 1].map(() => scalerClient(...given)),
    workers: (addresses, ledger) => [
      scalerWorker(addresses, "scaler-1", ledger, { concurrency: 3 }),
      scalerWorker(addresses, "scaler-2", ledger, { wire: "d" }),
    ],
  },
};
const queues = Object.values(loads).map(({ queue }) => queue);

async function load({ addresses }: Lives, ledger: Ledger, going: Going): Promise<Load> {
  const all = Object.values(loads);
  const given: Given = [addresses, ledger, going];
  return {
    clients: all.flatMap(({ clients }) => clients?.(...given) ?? []),
    others: all.flatMap(({ others }) => others?.(...given) ?? []),
    peers: await Promise.all(all.flatMap(({ workers }) => workers(...given))),
  };
}
