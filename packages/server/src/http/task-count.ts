// How many tasks match a filter, by queue and over time. Tasks are counted by walking over pages of
// them, so the number is bounded, and one walk runs at a time.

import type { StoredTask, WallTime } from "@yardmaster/core";
import type { TaskFilter } from "../actions/walks.js";
import type { Port } from "../door-kit/door.js";
import { Problem } from "./problems.js";
import { timeJson } from "./task-json.js";

/** More matches are not counted: the answer says that there are more. */
export const countMax = 10_000;
const pageSize = 1_000;
/** Counts that wait for their turn. */
const waitingMax = 64;
/**
 * Number of queues that are counted by name. The others are summed under a name that no queue can
 * have.
 */
const namedQueuesMax = 20;
const otherQueues = "(other)";

export interface CountOptions {
  readonly buckets: number | undefined;
  /** False once the client no longer waits for the answer. */
  readonly isWanted: () => boolean;
}

interface Counted {
  readonly queue: string;
  readonly at: WallTime;
}

export class TaskCounter {
  readonly #port: Port;
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(port: Port) {
    this.#port = port;
  }

  async count(filter: TaskFilter, options: CountOptions) {
    if (options.buckets === undefined) {
      const exact = await this.#fromQueues(filter);
      if (exact !== undefined) return { count: sumOf(exact), isMore: false, byQueue: named(exact) };
    }
    if (this.#waiting >= waitingMax)
      throw new Problem("queue_full", `${waitingMax} counts of tasks are waiting for their turn`);
    this.#waiting += 1;
    const turn = this.#turn.then(() => this.#walk(filter, options));
    this.#turn = turn.catch(() => undefined);
    return turn.finally(() => {
      this.#waiting -= 1;
    });
  }

  /** Queues know how many of their tasks wait and run, without a limit. */
  async #fromQueues({ queue, state, ...rest }: TaskFilter): Promise<Map<string, number> | undefined> {
    if (state !== "waiting" && state !== "running") return undefined;
    if (Object.values(rest).some((value) => value !== undefined)) return undefined;
    const counts = new Map<string, number>();
    for (const view of await this.#port.reads.queues())
      if ((queue === undefined || view.name === queue) && view[state] > 0) counts.set(view.name, view[state]);
    return counts;
  }

  async #walk(filter: TaskFilter, { buckets, isWanted }: CountOptions) {
    const found: Counted[] = [];
    let cursor: string | undefined;
    do {
      if (!isWanted()) break;
      const page = await this.#port.reads.find({ ...filter, limit: pageSize, ...(cursor && { cursor }) });
      for (const { head } of page.items as StoredTask[])
        found.push({ queue: head.queue, at: head.submittedAt });
      cursor = page.cursor;
    } while (cursor !== undefined && found.length <= countMax);
    const isMore = found.length > countMax;
    if (isMore) found.length = countMax;
    const byQueue = new Map<string, number>();
    for (const { queue } of found) byQueue.set(queue, (byQueue.get(queue) ?? 0) + 1);
    const names = named(byQueue);
    const histogram =
      buckets === undefined ? {} : { histogram: spread(found, filter, isMore, buckets, names) };
    return { count: found.length, isMore, byQueue: names, ...histogram };
  }
}

/** The queues with most tasks by name, and the rest together. */
function named(counts: ReadonlyMap<string, number>): Record<string, number> {
  const sorted = [...counts].sort(([, one], [, other]) => other - one);
  const rest = sumOf(new Map(sorted.slice(namedQueuesMax)));
  const shown = sorted.slice(0, namedQueuesMax);
  return Object.fromEntries(rest > 0 ? [...shown, [otherQueues, rest]] : shown);
}

function sumOf(counts: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const count of counts.values()) sum += count;
  return sum;
}

/** Counts over the time of submission, for each queue that has a name in the answer. */
function spread(
  found: readonly Counted[],
  { since, until }: TaskFilter,
  isMore: boolean,
  buckets: number,
  names: Readonly<Record<string, number>>,
) {
  let oldest = Number.POSITIVE_INFINITY;
  let newest = 0;
  for (const { at } of found) {
    oldest = Math.min(oldest, at);
    newest = Math.max(newest, at);
  }
  if (found.length === 0) oldest = newest = since ?? until ?? 0;
  // If more tasks match than were counted, the histogram spans only the time of the counted ones.
  const from = (isMore ? oldest : (since ?? oldest)) as WallTime;
  const to = Math.max(until ?? 0, newest + 1);
  const stepMs = Math.max(1, Math.ceil((to - from) / buckets));
  const queues = new Map(Object.keys(names).map((name) => [name, new Array<number>(buckets).fill(0)]));
  for (const { queue, at } of found) {
    const row = queues.get(queue) ?? queues.get(otherQueues);
    const bucket = Math.min(buckets - 1, Math.floor((at - from) / stepMs));
    if (row !== undefined) row[bucket] = (row[bucket] ?? 0) + 1;
  }
  return { from: timeJson(from), stepMs, queues: Object.fromEntries(queues) };
}
