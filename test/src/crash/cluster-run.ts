// The crash test of a cluster: load over http, one fault after another, and the ledger's verdict.

import { Random } from "../simulation/random.js";
import { type ClusterFaultName, clusterFaults } from "./cluster-faults.js";
import { ClusterYard } from "./cluster-yard.js";
import { endAndCheck, type Load } from "./ending.js";
import { HttpDoors } from "./http-doors.js";
import { fastHttpClient, streamWorker, waitingHttpClient } from "./http-fast-side.js";
import { type Going, httpAudit, httpClient, httpWatcher, httpWorker } from "./http-side.js";
import { Ledger } from "./ledger.js";
import { pause } from "./timing.js";

export interface ClusterCrashOptions {
  readonly rounds: number;
  readonly seed: number;
  readonly kinds: readonly ClusterFaultName[];
  readonly onFault: (done: Injected, ledger: Ledger) => void;
}

/** A fault that was injected. */
export interface Injected {
  readonly kind: ClusterFaultName;
  readonly outageMs: number;
  /** Tasks that were acknowledged before or during it, and are not there after it. */
  readonly lost: number;
}

export interface ClusterCrashReport {
  readonly injected: readonly Injected[];
  readonly counts: Ledger["counts"];
  /** How often a dispatcher ended with each code or signal. */
  readonly exits: ReadonlyMap<string, number>;
  readonly faults: readonly string[];
}

/** A yard that is not whole after this time does not become it. */
const wholeMsMax = 120_000;
/** Submissions that must be acknowledged after a fault, before the next. */
const acknowledgedAfter = 30;

export async function crashCluster(options: ClusterCrashOptions): Promise<ClusterCrashReport> {
  const { rounds, seed, kinds, onFault } = options;
  const random = new Random(seed);
  const yard = await ClusterYard.start();
  const ledger = new Ledger();
  const going: Going = { isSubmitting: true, isWorking: true };
  const doors = new HttpDoors(yard.urls, ledger);
  const injected: Injected[] = [];
  const faults: string[] = [];
  try {
    const load = await clusterLoad(yard.urls, ledger, going);
    await ledger.acknowledgements.more(acknowledgedAfter);
    for (const kind of inTurn(kinds, rounds, random)) {
      await pause(random.between(0, 1000));
      injected.push(await inject(kind, { yard, ledger, random, doors }));
      onFault(injected.at(-1) as Injected, ledger);
    }
    faults.push(...(await endAndCheck(doors, load, ledger, going)));
  } catch (error) {
    faults.push(String((error as Error).stack));
  }
  const exits = new Map<string, number>();
  for (const { process } of yard.nodes)
    for (const how of process.exits) exits.set(String(how), (exits.get(String(how)) ?? 0) + 1);
  await yard.destroy();
  return { injected, counts: ledger.counts, exits, faults };
}

interface Scene {
  readonly yard: ClusterYard;
  readonly ledger: Ledger;
  readonly random: Random;
  readonly doors: HttpDoors;
}

async function inject(kind: ClusterFaultName, { yard, ledger, random, doors }: Scene): Promise<Injected> {
  const { acknowledgements, acknowledgedIds } = ledger;
  const from = acknowledgedIds.length;
  acknowledgements.measure();
  const healed = async () => {
    await clusterFaults[kind].inject(yard, random);
    await yard.whenWhole();
    await acknowledgements.more(acknowledgedAfter);
  };
  const late = pause(wholeMsMax).then(() => {
    throw new Error(`${kind}: the yard is not whole after ${wholeMsMax / 1000} s`);
  });
  await Promise.race([healed(), late]);
  late.catch(() => {});
  const outageMs = acknowledgements.longestMs;
  return { kind, outageMs, lost: await httpAudit(doors, ledger, acknowledgedIds.slice(from)) };
}

/** Each kind once, in random order, and then again. */
function* inTurn<Kind>(kinds: readonly Kind[], count: number, random: Random): Generator<Kind> {
  for (let done = 0; done < count; ) {
    const rest = [...kinds];
    for (; rest.length > 0 && done < count; done++) {
      yield rest.splice(random.integer(0, rest.length - 1), 1)[0] as Kind;
    }
  }
}

/** Little enough for a machine that runs two dispatchers and two servers too. */
async function clusterLoad(urls: readonly string[], ledger: Ledger, going: Going): Promise<Load> {
  const doors = () => new HttpDoors(urls, ledger);
  const queues = ["http"];
  // Each asks one node only, so that a silent node does not delay requests to the other: together
  // they show when submissions are accepted again.
  const probing: Going = {
    get isSubmitting() {
      return going.isSubmitting;
    },
    get isWorking() {
      return going.isSubmitting;
    },
  };
  const probe = (url: string) =>
    httpClient(new HttpDoors([url], ledger), ledger, probing, {
      queues,
      pauseMsMax: 40,
      waitsEvery: Infinity,
    });
  return {
    clients: [
      ...urls.flatMap((url) => [probe(url), probe(url)]),
      ...[1, 2].map(() => httpClient(doors(), ledger, going, { queues, pauseMsMax: 100 })),
      fastHttpClient(urls, ledger, going, 300),
      waitingHttpClient(urls, ledger, going),
    ],
    others: [
      ...["http-1", "http-2"].map((name) => httpWorker(doors(), name, ledger, going)),
      httpWatcher(doors(), ledger, going),
    ],
    peers: await Promise.all(["stream-1", "stream-2"].map((name) => streamWorker(urls, name, ledger))),
  };
}
