// [pulse 4.7] What the controller finds again after a restart: who is registered, and how far it has counted.

import type { Numbering } from "./messages.js";

export interface Registration {
  readonly id: bigint;
  readonly numbering: Numbering;
  /** In seconds, as it last announced it. */
  readonly nextPulse: bigint;
}

/** Ids up to these may have been used; they are reserved in blocks, so that not every use is written down. */
export interface Counters {
  readonly workers: bigint;
  readonly tasks: bigint;
}

export interface Remembered {
  readonly counters: Counters;
  readonly registrations: readonly Registration[];
}

export const countersMemo = "counters";

export function registrationMemo(id: bigint): string {
  return `${workerPrefix}${id}`;
}

export function writeRegistration({ numbering, nextPulse }: Registration): Buffer {
  return Buffer.from(JSON.stringify({ numbering, nextPulse: String(nextPulse) }));
}

export function writeCounters({ workers, tasks }: Counters): Buffer {
  return Buffer.from(JSON.stringify({ workers: String(workers), tasks: String(tasks) }));
}

/** What the memos say. Of one that says nothing sensible only the id is kept in mind, so that nobody else gets it. */
export function readMemos(memos: ReadonlyMap<string, Uint8Array>): Remembered {
  const registrations: Registration[] = [];
  const counters = fieldsOf(memos.get(countersMemo));
  let workers = numberOf(counters.workers);
  for (const [name, bytes] of memos) {
    if (!name.startsWith(workerPrefix)) continue;
    const id = numberOf(name.slice(workerPrefix.length));
    if (id > workers) workers = id;
    const { numbering, nextPulse } = fieldsOf(bytes);
    if (numbering === "document" || numbering === "main")
      registrations.push({ id, numbering, nextPulse: numberOf(nextPulse) });
  }
  return { counters: { workers, tasks: numberOf(counters.tasks) }, registrations };
}

const workerPrefix = "worker/";

function fieldsOf(bytes: Uint8Array | undefined): Record<string, unknown> {
  if (bytes === undefined) return {};
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function numberOf(text: unknown): bigint {
  return typeof text === "string" && /^\d{1,20}$/.test(text) ? BigInt(text) : 0n;
}
