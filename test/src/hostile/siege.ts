// An attack beside real load, and what came of it: the dispatcher's highest memory above idle, the longest time that any door
// kept its clients waiting, and whether every door still served, newcomers included.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { work } from "@yardmaster/sdk";
import { type Launch, type ServedYard, serveYard } from "../end-to-end/served-yard.js";
import { Load, moniqueSpec, pause, urlsOf } from "./load.js";
import { forgetPeak, inMiB, memoryOf } from "./process-watch.js";

const attackerFile = fileURLToPath(new URL("./attacker.js", import.meta.url));

/** What the dispatcher may take before it is killed, so that the machine goes on. */
const memoryBytesMax = 6 * 1024 ** 3;
/** After the load has begun, until figures count: compilation and first connections are over by then. */
const warmUpMs = 1_500;
const newcomerMsMax = 10_000;

export interface SiegeOptions {
  readonly attacks: readonly string[];
  /** 1 is the whole attack. */
  readonly scale?: number;
  /** How long an attack is given to send what it has. */
  readonly attackMsMax?: number;
  /** How long the load goes on after the attack is over, while what it opened stays open. */
  readonly holdMs?: number;
  /** How often each attack is made, a new process each time; until attackMsMax at most. */
  readonly rounds?: number;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly launch?: Launch;
}

export interface SiegeReport {
  readonly attacks: readonly string[];
  readonly sentBytes: number;
  readonly idleMiB: number;
  /** The peak above idle. */
  readonly peakMiB: number;
  /** A moment after the attackers have gone, above idle. */
  readonly afterMiB: number;
  readonly longestStallMs: number;
  /** Doors that answered nothing during the attack, or turned newcomers away afterwards, with why. */
  readonly silentDoors: readonly string[];
  /** Of all doors together, before and during the attack. */
  readonly undisturbedP99Ms: number;
  readonly p99Ms: number;
  readonly lost: number;
  /** How the dispatcher ended, if it did. */
  readonly ended: string | undefined;
}

export async function besiege(options: SiegeOptions): Promise<SiegeReport> {
  const yard = await serveYard(
    {
      doors: {
        pingpong: {},
        pulse: {},
        udp: {},
        monique: { controllers: { [moniqueSpec]: 0 } },
        scaler: {},
      },
      ...options.config,
    },
    { env: { YARD_LOG: "silent" }, ...options.launch },
  );
  const guard = guarded(yard);
  const load = await Load.start(yard);
  try {
    return await observe(yard, load, options);
  } finally {
    clearInterval(guard);
    await load.stop();
    yard.process.kill("SIGKILL");
    await yard.stop();
  }
}

async function observe(yard: ServedYard, load: Load, options: SiegeOptions): Promise<SiegeReport> {
  const { attacks, scale = 1, attackMsMax = 120_000, holdMs = 2_000 } = options;
  const pid = yard.process.pid ?? 0;
  await pause(warmUpMs);
  load.forget();
  await pause(warmUpMs);
  const undisturbedP99Ms = p99Of(load);
  load.forget();
  forgetPeak(pid);
  const idleBytes = memoryOf(pid).nowBytes;
  const attackers = attacks.map((name) => new Attacker(name, scale, yard, options.rounds ?? 1));
  const over = Promise.all(attackers.map((attacker) => attacker.done));
  const ended = new Promise<"ended">((resolve) => yard.process.once("exit", () => resolve("ended")));
  await Promise.race([over, ended, pause(attackMsMax)]);
  await Promise.race([ended, pause(holdMs)]);
  const { peakBytes } = memoryOf(pid);
  const answered = load.services.map(({ door, latencies }) => ({ door, answers: latencies.length }));
  const longestStallMs = Math.max(...load.services.map((service) => service.longestMs));
  const p99Ms = p99Of(load);
  const failed = load.services.filter(({ failures }) => failures > 0);
  const mute = answered.filter(({ answers }) => answers === 0).map(({ door }) => `${door}: no answer`);
  const refused = yard.process.exitCode === null ? await refusedNewcomers(yard) : [];
  for (const attacker of attackers) attacker.kill();
  await pause(1_500);
  return {
    attacks,
    sentBytes: attackers.reduce((sum, { sentBytes }) => sum + sentBytes, 0),
    idleMiB: inMiB(idleBytes),
    peakMiB: inMiB(peakBytes - idleBytes),
    afterMiB: inMiB(memoryOf(pid).nowBytes - idleBytes),
    longestStallMs: Math.round(longestStallMs),
    silentDoors: [
      ...mute,
      ...failed.map(({ door, failures, lastFailure }) => `${door}: ${failures} failed, ${lastFailure}`),
      ...refused,
    ],
    undisturbedP99Ms: Math.round(undisturbedP99Ms),
    p99Ms: Math.round(p99Ms),
    lost: endOf(yard) === undefined ? (await load.lost()).length : load.acknowledged.size,
    ended: endOf(yard),
  };
}

function endOf({ process: child }: ServedYard): string | undefined {
  if (child.signalCode !== null) return child.signalCode;
  return child.exitCode === null ? undefined : `exit ${child.exitCode}`;
}

function p99Of(load: Load): number {
  return Math.max(...load.services.map((service) => service.quantileMs(0.99)));
}

/** Kills a dispatcher that takes more than the machine can spare. */
function guarded({ process: child }: ServedYard): NodeJS.Timeout {
  return setInterval(() => {
    if (memoryOf(child.pid ?? 0).nowBytes > memoryBytesMax) child.kill("SIGKILL");
  }, 50);
}

/** What a worker that comes now, and a task on each door's own queue, are told. */
async function refusedNewcomers(yard: ServedYard): Promise<string[]> {
  const urls = urlsOf(yard);
  const refused: string[] = [];
  for (const [door, url] of [
    ["http", urls.http],
    ["pingpong", urls.pingpongWorkers],
  ] as const) {
    const heard = new Promise<string | undefined>((resolve) => {
      const options = { ...(door === "http" ? { queue: "newcomers" } : {}), name: `new-${door}` };
      work(url, { ...options, onError: (error) => resolve(String(error)) }, () => "new").then(
        async (worker) => {
          worker.ended.catch(() => {});
          const isShown = await isListed(yard, `new-${door}`);
          resolve(isShown ? undefined : "a new worker was not taken in");
          await worker.stop({ graceMs: 0 });
        },
        (error) => resolve(String(error)),
      );
    });
    const fault = await Promise.race([heard, pause(newcomerMsMax).then(() => "no answer to a newcomer")]);
    if (fault !== undefined) refused.push(`${door}: ${fault.slice(0, 100)}`);
  }
  for (const queue of ["http", "pingpong", "udp", "pulse", "scaler"]) {
    const response = await fetch(`${yard.url}/v1/queues/${queue}/tasks?delay=1h`, {
      method: "POST",
      body: "x",
    });
    if (response.status !== 201) refused.push(`queue ${queue}: ${response.status}`);
    await response.arrayBuffer();
  }
  return refused;
}

async function isListed({ url }: ServedYard, name: string): Promise<boolean> {
  const end = performance.now() + newcomerMsMax / 2;
  while (performance.now() < end) {
    const text = await (await fetch(`${url}/v1/workers`)).text();
    if (text.includes(name)) return true;
    await pause(100);
  }
  return false;
}

/** One attack, in a process of its own; the next round begins when the last one's process has ended. */
class Attacker {
  sentBytes = 0;
  readonly done: Promise<void>;
  readonly #args: readonly string[];
  #process: ChildProcess | undefined;
  #isOver = false;

  constructor(name: string, scale: number, yard: ServedYard, rounds: number) {
    const target = JSON.stringify({ urls: urlsOf(yard), doors: yard.doors });
    this.#args = [attackerFile, name, String(scale), target];
    this.done = this.#run(rounds);
  }

  async #run(rounds: number): Promise<void> {
    for (let round = 1; round <= rounds && !this.#isOver; round += 1) {
      await this.#attack();
      if (round < rounds) this.#process?.kill("SIGKILL");
    }
  }

  async #attack(): Promise<void> {
    const attacker = spawn(process.execPath, this.#args, { stdio: ["ignore", "pipe", "inherit"] });
    this.#process = attacker;
    const lines = createInterface({ input: attacker.stdout });
    const [line] = await Promise.race([once(lines, "line"), once(attacker, "exit")]);
    if (typeof line === "string") this.sentBytes += (JSON.parse(line) as { sentBytes: number }).sentBytes;
  }

  kill(): void {
    this.#isOver = true;
    this.#process?.kill("SIGKILL");
  }
}
