// Where the stream's rows are: groups by door or by queue, a row for each worker, or bands of many.
// Pure geometry; the painter fills it with boxes.

import type { Worker } from "../live/api-shapes.js";
import { count, counted } from "./numbers.js";
import { doorOrder } from "./yard-queues.js";

export const rowPx = 17;
const headPx = 22;
const gapPx = 10;
const groupBandPx = 96;
/** More rows than this become bands. */
export const rowsMax = 200;
/** And then at most this many. */
export const bandsMax = 40;
/** More at once than this share of a row cannot be told apart. */
export const lanesMax = 8;

export interface StreamWorker {
  readonly id: string;
  readonly label: string;
  readonly worker: Worker;
}

export interface StreamRow {
  readonly y: number;
  readonly height: number;
  readonly label: string;
  readonly workers: readonly StreamWorker[];
  /** A band shows the share of slots in use; a row shows boxes. */
  readonly isBand: boolean;
  /** What a full band stands for. */
  readonly slots: number;
}

export interface StreamGroup {
  readonly name: string;
  readonly y: number;
  readonly height: number;
  readonly aside: string;
  readonly rows: readonly StreamRow[];
  /** Drawn as one band, though it could be rows. */
  readonly isFolded: boolean;
  readonly workers: number;
}

export interface StreamLayout {
  readonly groups: readonly StreamGroup[];
  readonly height: number;
  readonly isBands: boolean;
  /** Workers in a band, where the whole stream is bands. */
  readonly perBand: number;
}

export interface LayoutOptions {
  readonly by: "door" | "queue";
  readonly openGroups: ReadonlySet<string>;
  /** The most attempts at once that were seen of a worker. */
  readonly lanesOf: (id: string) => number;
  /** Small: no heads, thin rows. */
  readonly isMini?: boolean;
  readonly miniHeight?: number;
}

/** "gpu-2" before "gpu-10". */
const byName = new Intl.Collator("en", { numeric: true }).compare;

export function layOutStream(workers: Iterable<Worker>, options: LayoutOptions): StreamLayout {
  const groups = grouped(workers, options.by);
  const total = groups.reduce((sum, [, members]) => sum + members.length, 0);
  const isBands = total > rowsMax;
  const perBand = isBands ? Math.ceil(total / Math.max(1, bandsMax - groups.length)) : 1;
  const made: StreamGroup[] = [];
  let y = 0;
  for (const [name, members] of groups) {
    const group = options.isMini
      ? miniGroup(name, members, y, options, total)
      : fullGroup(name, members, y, options, { isBands, perBand });
    made.push(group);
    y += group.height + (options.isMini ? 4 : gapPx);
  }
  return { groups: made, height: Math.max(0, y - (options.isMini ? 4 : gapPx)), isBands, perBand };
}

function grouped(workers: Iterable<Worker>, by: "door" | "queue"): [string, StreamWorker[]][] {
  const groups = new Map<string, StreamWorker[]>();
  for (const worker of workers) {
    const name = by === "door" ? worker.door : (worker.queues[0] ?? "any queue");
    const members = groups.get(name) ?? [];
    members.push({ id: worker.id, label: labelOf(worker.id, worker.door), worker });
    groups.set(name, members);
  }
  for (const members of groups.values()) members.sort((a, b) => byName(a.label, b.label));
  const rank = (name: string) => (doorOrder.indexOf(name) + 1 || 99) * (by === "door" ? 1 : 0);
  return [...groups].sort(([a], [b]) => rank(a) - rank(b) || byName(a, b));
}

export function labelOf(id: string, door: string): string {
  return id.startsWith(`${door}/`) ? id.slice(door.length + 1) : id;
}

/** The most tasks at once that are known of a worker. Drawn attempts may be a sample. */
function seenAtOnce({ id, worker }: StreamWorker, { lanesOf }: LayoutOptions): number {
  return Math.max(lanesOf(id), worker.running);
}

/**
 * How many tasks a full row stands for. A worker with its own queue may have room for far more than
 * it holds (scaler: 1,000). While few are seen they are drawn as boxes, and more room says nothing.
 */
function slotsOf(worker: Worker, seen: number): number {
  const slots = worker.pulls ? seen : seen > lanesMax ? worker.slots : Math.min(worker.slots, lanesMax);
  return Math.max(1, slots);
}

function fullGroup(
  name: string,
  members: readonly StreamWorker[],
  y: number,
  options: LayoutOptions,
  { isBands, perBand }: { isBands: boolean; perBand: number },
): StreamGroup {
  const slots = members.map((member) => slotsOf(member.worker, seenAtOnce(member, options)));
  const isWide = slots.some((count) => count > lanesMax);
  const isFolded = isWide && !isBands && members.length > 1 && !options.openGroups.has(name);
  const rows: StreamRow[] = [];
  let at = y + headPx;
  const size = isFolded ? members.length : perBand;
  for (let from = 0; from < members.length; from += size) {
    const part = members.slice(from, from + size);
    const sum = slots.slice(from, from + size).reduce((total, count) => total + count, 0);
    const isBand = isFolded || isBands || (slots[from] ?? 1) > lanesMax;
    const height = isFolded ? groupBandPx : isBands ? rowPx + 5 : rowPx;
    rows.push({ y: at, height, label: bandLabel(part), workers: part, isBand, slots: sum });
    at += height;
  }
  return {
    name,
    y,
    height: at - y,
    aside: aside(members, slots, isFolded),
    rows,
    isFolded,
    workers: members.length,
  };
}

function bandLabel(part: readonly StreamWorker[]): string {
  const [first, last] = [part[0], part.at(-1)];
  return part.length <= 1 ? (first?.label ?? "") : `${first?.label} … ${last?.label}`;
}

function aside(members: readonly StreamWorker[], slots: readonly number[], isFolded: boolean): string {
  const there = members.filter(({ worker }) => worker.state !== "lost");
  if (isFolded) {
    const same = slots.every((count) => count === slots[0]) ? ` hold ${slots[0]} each` : "";
    return `${counted(there.length, "worker")}${same}: drawn as the share of slots in use, by queue`;
  }
  const idle = there.filter(({ worker }) => worker.state === "idle").length;
  return `${counted(there.length, "worker")}, ${idle === 0 ? "none" : count(idle)} idle`;
}

/** Rows of 3 px and more, as many as fit; the rest share a row as bands. */
function miniGroup(
  name: string,
  members: readonly StreamWorker[],
  y: number,
  options: LayoutOptions,
  total: number,
): StreamGroup {
  const space = options.miniHeight ?? 160;
  const height = Math.max(3, Math.min(12, Math.floor(space / Math.max(1, total))));
  const fitting = Math.max(2, Math.floor(((space / Math.max(1, total)) * members.length) / height));
  const size = Math.ceil(members.length / fitting);
  const rows: StreamRow[] = [];
  for (let from = 0; from < members.length; from += size) {
    const part = members.slice(from, from + size);
    const slots = part.reduce((sum, each) => sum + slotsOf(each.worker, seenAtOnce(each, options)), 0);
    const isBand = size > 1;
    rows.push({ y: y + rows.length * height, height, label: "", workers: part, isBand, slots });
  }
  return { name, y, height: rows.length * height, aside: "", rows, isFolded: false, workers: members.length };
}
