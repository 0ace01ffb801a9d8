// Components that report on the technical channel that they are alive. One that works for a
// controller is already a worker; any other is listed beside the workers as one that takes nothing.

import { type Instant, type Moment, workerIdOf, type YardEvent } from "@yardmaster/core";
import type { MoniqueContent } from "./content.js";
import { readJson } from "./questions.js";

/** [monique 6.1] */
export interface MonitoringReport {
  readonly name: string;
  readonly isAlive: boolean;
  readonly message: string;
  readonly syncTime: number;
}

/** A report has four short fields. */
const reportBytesMax = 64 * 1024;
const nameLengthMax = 256;
const messageLengthMax = 1_024;
/** [monique 6.3] Components choose how often they report; few wait for minutes. */
const silenceMs = 300_000;
/** Maximum number of components listed. */
const componentsMax = 1_000;

/** Undefined if it is not a valid report, because it could not be shown. */
export function readReport(content: MoniqueContent | undefined, frame: Buffer): MonitoringReport | undefined {
  if (content === undefined || content.dataEnd - content.dataStart > reportBytesMax) return undefined;
  const report = readJson(frame.subarray(content.dataStart, content.dataEnd));
  const { name, is_alive: isAlive, message = "", sync_time: syncTime = 0 } = report ?? {};
  if (typeof name !== "string" || name === "" || typeof isAlive !== "boolean") return undefined;
  return {
    name: name.slice(0, nameLengthMax),
    isAlive,
    message: (typeof message === "string" ? message : "").slice(0, messageLengthMax),
    syncTime: typeof syncTime === "number" ? syncTime : 0,
  };
}

/** The fields that are shown for a component. */
export function infoOf({ name, isAlive, message, syncTime }: MonitoringReport): Record<string, unknown> {
  return { name, alive: isAlive, message, lastSync: syncTime };
}

export class MonitoredComponents {
  readonly #door: string;
  readonly #post: (event: YardEvent) => void;
  /** By name, longest silent first. */
  readonly #heardAt = new Map<string, Instant>();

  constructor(door: string, post: (event: YardEvent) => void) {
    this.#door = door;
    this.#post = post;
  }

  /** False when there are too many. */
  heard(report: MonitoringReport, creator: string, now: Moment): boolean {
    const { name } = report;
    const isNew = !this.#heardAt.delete(name);
    if (isNew && this.#heardAt.size >= componentsMax) return false;
    this.#heardAt.set(name, now.instant);
    const worker = this.#idOf(name);
    if (isNew) {
      const profile = { dialect: "monique", address: creator, queues: [], slots: 0, runsAtOnce: 1 };
      this.#post({
        type: "worker-joined",
        worker,
        profile: { ...profile, pulls: false, givesBack: false },
      });
    }
    this.#post({ type: "worker-beat", worker, info: { creator, ...infoOf(report) } });
    return true;
  }

  /** It turned out to be a worker, or the core has no room for it. */
  forget(name: string): void {
    if (this.#heardAt.delete(name)) {
      this.#post({ type: "worker-left", worker: this.#idOf(name), reason: "goodbye" });
    }
  }

  nextDeadline(): Instant | undefined {
    const [oldest] = this.#heardAt.values();
    return oldest === undefined ? undefined : ((oldest + silenceMs) as Instant);
  }

  handleTimeout(now: Moment): void {
    for (const [name, heardAt] of this.#heardAt) {
      if (heardAt + silenceMs > now.instant) return;
      this.#heardAt.delete(name);
      this.#post({ type: "worker-left", worker: this.#idOf(name), reason: "silence" });
    }
  }

  #idOf(name: string) {
    return workerIdOf(this.#door, `component.${name}`);
  }
}
