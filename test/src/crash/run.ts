// The whole crash test: load from every dialect, kills at random moments, and the ledger's word at the end.

import {
  moniqueAsker,
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
import { type Going, httpClient, httpWatcher, httpWorker } from "./http-side.js";
import { type FinalTask, Ledger, markIn } from "./ledger.js";
import { Lives, moniqueSpec } from "./lives.js";
import { pause } from "./timing.js";

export interface CrashOptions {
  readonly kills: number;
  readonly engine: string;
  readonly onKill?: (kills: number, ledger: Ledger) => void;
}

export interface CrashReport {
  readonly counts: Ledger["counts"];
  readonly toldTwice: number;
  readonly kills: number;
  readonly readyMs: readonly number[];
  readonly faults: readonly string[];
}

/** How long everything may take to come to an end after the last kill. */
const settleMsMax = 120_000;
/** How long clients may take to hear the outcomes of tasks that have all ended. */
const answersMsMax = 10_000;
/** How often it is killed once more while it starts. */
const earlyKills = 0.2;

export async function crash({ kills, engine, onKill }: CrashOptions): Promise<CrashReport> {
  const lives = new Lives(engine);
  const ledger = new Ledger();
  const going: Going = { isSubmitting: true, isWorking: true };
  await lives.start();
  const { clients, others, peers } = await load(lives, ledger, going);
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
  going.isSubmitting = false;
  const { http } = lives.addresses;
  await settle(http);
  // A client that was still connecting submits only now; one that closes before its answer would cancel its task.
  await Promise.race([Promise.all(clients), pause(answersMsMax)]);
  const settled = await settle(http);
  going.isWorking = false;
  await Promise.all([...clients, ...others]);
  const tasks = await allTasks(http);
  const faults = ledger.faults(tasks);
  if (!settled) faults.unshift(`after ${settleMsMax / 1000} s there are still tasks without an outcome`);
  await Promise.all(peers.map((peer) => peer.stop()));
  const code = await lives.stop();
  if (code !== 0) faults.push(`the last life ended with ${code}`);
  if (faults.length === 0) lives.clean();
  else faults.push(`its folder is ${lives.folder}`);
  return { counts: ledger.counts, toldTwice: ledger.toldTwice, kills, readyMs: lives.readyMs, faults };
}

interface Load {
  readonly clients: readonly Promise<void>[];
  readonly others: readonly Promise<void>[];
  readonly peers: readonly Peer[];
}

async function load({ addresses }: Lives, ledger: Ledger, going: Going): Promise<Load> {
  const { http } = addresses;
  const queues = ["http", "pulse", "udp", "pingpong", "scaler", moniqueSpec];
  const clients = [
    ...Array.from({ length: 12 }, () => httpClient(http, queues, ledger, going)),
    ...[0, 1, 2, 3].map(() => pingpongClient(addresses, ledger, going)),
    udpClient(addresses, ledger, going),
    ...[0, 1].map(() => scalerClient(addresses, ledger, going)),
    ...[0, 1].map(() => moniqueAsker(addresses, ledger, going)),
  ];
  const others = [
    ...["http-1", "http-2"].map((name) => httpWorker(http, name, ledger, going)),
    httpWatcher(http, ledger, going),
  ];
  const peers = [
    ...["ping-1", "ping-2", "ping-3"].map((name) => pingpongWorker(addresses, name, ledger)),
    ...["pulse-1", "pulse-2"].map((name) => pulseWorker(addresses, name, ledger)),
    await udpCalculator(addresses, "udp-1", ledger),
    await udpCalculator(addresses, "udp-2", ledger),
    await moniqueWorker(addresses, "monique-1", ledger),
    await moniqueWorker(addresses, "monique-2", ledger),
    scalerWorker(addresses, "scaler-1", ledger, { concurrency: 3 }),
    scalerWorker(addresses, "scaler-2", ledger, { wire: "d" }),
  ];
  return { clients, others, peers };
}

/** Waits until no task is without an outcome; whether that came to pass. */
async function settle(url: string): Promise<boolean> {
  const end = performance.now() + settleMsMax;
  while (performance.now() < end) {
    const open = await Promise.all(
      ["waiting", "running"].map(async (state) => {
        const response = await fetch(`${url}/v1/tasks?state=${state}&limit=1`);
        return ((await response.json()) as { items: unknown[] }).items.length;
      }),
    );
    if (open.every((count) => count === 0)) return true;
    await pause(100);
  }
  return false;
}

interface Listed {
  readonly id: string;
  readonly key: string | null;
  readonly state: string;
  readonly finishedAt: string | null;
}

async function allTasks(url: string): Promise<FinalTask[]> {
  const tasks: FinalTask[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const page: string = `${url}/v1/tasks?limit=100${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
    const answer = (await (await fetch(page)).json()) as { items: Listed[]; cursor: string | null };
    tasks.push(...(await Promise.all(answer.items.map((item) => finalTask(url, item)))));
    cursor = answer.cursor;
  }
  return tasks;
}

async function finalTask(url: string, { id, key, state, finishedAt }: Listed): Promise<FinalTask> {
  const text = async (part: string) => (await fetch(`${url}/v1/tasks/${id}/${part}`)).text();
  const mark = markIn(key ?? "") ?? markIn(await text("payload"));
  return { id, mark, state, finishedAt, result: state === "done" ? await text("result") : "" };
}
