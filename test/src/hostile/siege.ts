// An attack with real load at the same time, and its result: the dispatcher's peak memory above
// idle, the longest stall of its event loop, how long each door kept its clients waiting, and
// whether every door still served, also new peers.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Launch, type ServedYard, serveYard } from "../end-to-end/served-yard.js";
import { Attackers } from "./attackers.js";
import { Load } from "./load.js";
import { loadQueue, moniqueSpec } from "./load-target.js";
import { memoryAfter, stallsSince } from "./loop-watch.js";
import { refusedNewcomers } from "./newcomers.js";
import { inMiB, ProcessWatch } from "./process-watch.js";
import { Readiness } from "./readiness.js";
import { pause, type ServiceReport } from "./service.js";

/** The dispatcher is killed if it uses more, to protect the machine. */
const memoryBytesMax = 6 * 1024 ** 3;
/**
 * Time from the start of the load until figures count: by then compilation and first connections
 * are done.
 */
const warmUpMs = 1_500;

/** Time for the dispatcher to collect its garbage, and to return the memory. */
const collectMs = 3_000;

export interface SiegeOptions {
  readonly attacks: readonly string[];
  /** 1 is the whole attack. */
  readonly scale?: number;
  /** How long the load is measured before the attack. */
  readonly undisturbedMs?: number;
  /** Maximum time for an attack to send everything. */
  readonly attackMsMax?: number;
  /** How long the load continues after the attack, while the attack's connections stay open. */
  readonly holdMs?: number;
  /** How long memory may take to return to its earlier level once the attackers are gone. */
  readonly settleMs?: number;
  /**
   * How often each attack is repeated, each time in a new process, until `attackMsMax` at the
   * latest.
   */
  readonly rounds?: number;
  /** How long tasks of an attack may wait; without a limit if absent. */
  readonly expires?: string;
  /** Nice value of the attackers' processes. */
  readonly nice?: number;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly launch?: Launch;
  /** Called at the beginning of each phase. */
  readonly onPhase?: (phase: string) => void;
}

export interface DoorReport extends ServiceReport {
  readonly undisturbedP99Ms: number;
  readonly undisturbedRawP99Ms: number;
}

export interface SiegeReport {
  readonly attacks: readonly string[];
  readonly sentBytes: number;
  readonly idleMiB: number;
  /** Peak memory above idle. */
  readonly peakMiB: number;
  /** Memory above idle once the attackers are gone and garbage is collected. */
  readonly afterMiB: number;
  /** What the dispatcher uses of that for objects and buffers. The allocator keeps the rest. */
  readonly memoryAfter: string;
  /**
   * Longest stall of the dispatcher's event loop during the attack, without the time in which its
   * main thread waited for a processor.
   */
  readonly longestStallMs: number;
  /** The same stall or another one, with that time. */
  readonly longestRawStallMs: number;
  /**
   * Doors that answered nothing during the attack or refused new peers afterwards, with the reason.
   */
  readonly silentDoors: readonly string[];
  readonly doors: readonly DoorReport[];
  /** Reasons why /readyz answered 503, each once and without figures. */
  readonly notReady: readonly string[];
  readonly lost: number;
  /** How the dispatcher ended, if it did. */
  readonly ended: string | undefined;
}

export async function besiege(options: SiegeOptions): Promise<SiegeReport> {
  const doors = {
    ...{ pingpong: {}, pulse: {}, udp: {}, scaler: {} },
    monique: { controllers: { [moniqueSpec]: 0 } },
  };
  // The attackers finish more tasks than the common history keeps. A task of the load that was
  // evicted would look like one that was lost.
  const queues = { [loadQueue]: { retention: {} }, pulse: { retention: {} } };
  const folder = mkdtempSync(join(tmpdir(), "yard-loop-"));
  const loopFile = join(folder, "stalls");
  const yard = await serveYard({ doors, queues, ...options.config }, watchedLaunch(options.launch, loopFile));
  const memory = guarded(yard);
  const load = await Load.start(yard);
  try {
    return await observe({ yard, load, memory, loopFile }, options);
  } finally {
    memory.stop();
    await load.stop();
    yard.process.kill("SIGKILL");
    await yard.stop();
    rmSync(folder, { recursive: true });
  }
}

/** The dispatcher in its own session, with a watch of its event loop inside. */
function watchedLaunch(launch: Launch = {}, loopFile: string): Launch {
  return {
    ...launch,
    isOutOfLine: true,
    nodeArgs: [...(launch.nodeArgs ?? []), "--import", new URL("./loop-watch.js", import.meta.url).href],
    env: { YARD_LOG: "silent", ...launch.env, YARD_LOOP_FILE: loopFile },
  };
}

interface Besieged {
  readonly yard: ServedYard;
  readonly load: Load;
  readonly memory: ProcessWatch;
  /** Where the dispatcher's stalls are written. */
  readonly loopFile: string;
}

async function observe(
  { yard, load, memory, loopFile }: Besieged,
  options: SiegeOptions,
): Promise<SiegeReport> {
  const { attackMsMax = 120_000, holdMs = 2_000, settleMs = 1_500 } = options;
  await pause(warmUpMs);
  await load.forget();
  await pause(options.undisturbedMs ?? warmUpMs);
  const undisturbed = await load.report();
  await load.forget();
  memory.forgetPeak();
  const idleBytes = memory.bytes;
  const attackedAt = Date.now();
  options.onPhase?.("attack");
  const readiness = new Readiness(yard.url);
  const attackers = new Attackers(yard, options);
  const ended = new Promise<void>((resolve) => yard.process.once("exit", () => resolve()));
  await Promise.race([attackers.done, ended, pause(attackMsMax)]);
  await Promise.race([ended, pause(holdMs)]);
  const { peakBytes } = memory;
  const reports = withUndisturbed(await load.report(), undisturbed);
  const stalls = stallsSince(loopFile, attackedAt);
  const isAlive = endOf(yard) === undefined;
  // A dispatcher that is short of memory refuses new peers deliberately.
  const refused = isAlive && readiness.reasons.length === 0 ? await refusedNewcomers(yard) : [];
  options.onPhase?.("settle");
  attackers.kill();
  readiness.stop();
  await settled(memory, idleBytes, settleMs);
  if (isAlive) yard.process.kill("SIGUSR2");
  await pause(collectMs);
  return {
    attacks: options.attacks,
    sentBytes: attackers.sentBytes,
    idleMiB: inMiB(idleBytes),
    peakMiB: inMiB(peakBytes - idleBytes),
    afterMiB: inMiB(memory.bytes - idleBytes),
    memoryAfter: memoryAfter(loopFile),
    longestStallMs: Math.round(Math.max(0, ...stalls.map(({ ms, waitedMs }) => ms - waitedMs))),
    longestRawStallMs: Math.round(Math.max(0, ...stalls.map(({ ms }) => ms))),
    silentDoors: [...reports.flatMap(faultsOf), ...refused],
    doors: reports,
    notReady: readiness.reasons,
    // A dispatcher that has ended cannot be asked; its end is a failure by itself.
    lost: endOf(yard) === undefined ? await load.lost() : 0,
    ended: endOf(yard),
  };
}

/** Waits until memory is close to its earlier level, or the time is over. */
async function settled(memory: ProcessWatch, idleBytes: number, ms: number): Promise<void> {
  const end = performance.now() + ms;
  do await pause(Math.min(ms, 1_500));
  while (performance.now() < end && memory.bytes > idleBytes * 1.1);
}

function withUndisturbed(reports: ServiceReport[], before: ServiceReport[]): DoorReport[] {
  return reports.map((report) => {
    const { p99Ms = 0, rawP99Ms = 0 } = before.find(({ door }) => door === report.door) ?? {};
    return { ...report, undisturbedP99Ms: p99Ms, undisturbedRawP99Ms: rawP99Ms };
  });
}

function faultsOf({ door, answers, refusals, failures, lastFailure }: DoorReport): string[] {
  if (failures > 0) return [`${door}: ${failures} failed, ${lastFailure}`];
  return answers === 0 && refusals === 0 ? [`${door}: no answer`] : [];
}

function endOf({ process: child }: ServedYard): string | undefined {
  if (child.signalCode !== null) return child.signalCode;
  return child.exitCode === null ? undefined : `exit ${child.exitCode}`;
}

/** Kills a dispatcher that takes more than the machine can spare. */
function guarded({ process: child }: ServedYard): ProcessWatch {
  return new ProcessWatch(child.pid ?? 0, (bytes) => {
    if (bytes > memoryBytesMax) child.kill("SIGKILL");
  });
}
