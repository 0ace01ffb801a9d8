// Workers in groups for the list: trouble first, then by name, and like rows folded beyond four a
// group.

import type { Beat, Worker } from "../live/api-shapes.js";

export type WorkerOrder = "door" | "queue" | "flat";

export interface WorkerGroup {
  readonly name: string;
  readonly total: number;
  readonly shown: readonly Worker[];
  readonly folded: readonly Worker[];
}

const foldBeyond = 4;
/**
 * Maximum number of rows of an opened group: more would make the page slow, and people do not read
 * them.
 */
export const openedMax = 80;
/** A worker that is silent beyond this share of its limit is in trouble. */
export const warnShare = 0.5;
export const failShare = 0.8;

export function silenceShare(beat: Beat | undefined, now: number): number | undefined {
  if (!beat || beat.limitMs === null || beat.limitMs <= 0) return undefined;
  return Math.max(0, now - beat.lastSeenAtMs) / beat.limitMs;
}

export function troubleOf(worker: Worker, beat: Beat | undefined, now: number): number {
  if (worker.state === "lost") return 0;
  const share = silenceShare(beat, now) ?? 0;
  if (share > failShare) return 1;
  if ((beat?.failed ?? 0) > 0 && beat !== undefined && beat.failed > beat.done * 0.1) return 2;
  if (worker.state === "draining") return 3;
  return share > warnShare ? 4 : 5;
}

const byName = new Intl.Collator("en", { numeric: true }).compare;

export function workerGroups(
  workers: Iterable<Worker>,
  beats: ReadonlyMap<string, Beat>,
  options: { order: WorkerOrder; filter: string; open: ReadonlySet<string>; now: number },
): WorkerGroup[] {
  const { order, filter, open, now } = options;
  const words = filter.trim().toLowerCase();
  const groups = new Map<string, Worker[]>();
  for (const worker of workers) {
    if (worker.state === "lost" || (words !== "" && !matches(worker, words))) continue;
    const name = order === "door" ? worker.door : order === "queue" ? (worker.queues[0] ?? "any queue") : "";
    const members = groups.get(name) ?? [];
    members.push(worker);
    groups.set(name, members);
  }
  return [...groups]
    .sort(([a], [b]) => byName(a, b))
    .map(([name, members]) => {
      members.sort(
        (a, b) =>
          troubleOf(a, beats.get(a.id), now) - troubleOf(b, beats.get(b.id), now) || byName(a.id, b.id),
      );
      return folded(name, members, beats, open.has(name) || words !== "", now);
    });
}

function folded(
  name: string,
  members: Worker[],
  beats: ReadonlyMap<string, Beat>,
  isOpen: boolean,
  now: number,
): WorkerGroup {
  const troubled = members.filter((worker) => troubleOf(worker, beats.get(worker.id), now) < 4).length;
  const shown = isOpen ? Math.min(members.length, openedMax) : Math.max(foldBeyond, Math.min(12, troubled));
  // One row to say that one row is left out would save nothing.
  const cut = members.length <= shown + 1 ? members.length : shown;
  return { name, total: members.length, shown: members.slice(0, cut), folded: members.slice(cut) };
}

function matches({ id, address, queues }: Worker, words: string): boolean {
  return [id, address, ...queues].some((text) => text.toLowerCase().includes(words));
}
