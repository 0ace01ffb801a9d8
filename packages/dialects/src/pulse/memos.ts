// [pulse 4.7] What the controller restores after a restart: the registered workers, and the highest
// ids in use.

import type { Numbering } from "./messages.js";

export interface Registration {
  readonly id: bigint;
  readonly numbering: Numbering;
  /** In seconds, as last announced. */
  readonly nextPulse: bigint;
}

/**
 * Ids up to these may have been used. They are reserved in blocks, so that not every use is
 * committed.
 */
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

/**
 * Decodes the memos. Of an invalid one only the id is kept, so that it is not given to another
 * worker.
 */
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
