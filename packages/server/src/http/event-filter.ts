// The events that a listener asked for, by type, queue and task. The filter is applied here, so
// that unwanted events are never made.

import type { TaskId } from "@yardmaster/core";

export const eventTypes = ["queue", "worker", "task", "alert", "attempts", "beats", "figures"] as const;
export type EventType = (typeof eventTypes)[number];

/** The types that a listener without a filter gets. */
const usualTypes: readonly EventType[] = ["queue", "worker", "task"];
/** Types whose current state is part of a snapshot. */
const snapshotTypes: readonly EventType[] = ["queue", "worker", "task", "alert"];

/** Types that tell about all queues and workers at once. */
const wholeTypes: ReadonlySet<EventType> = new Set<EventType>(["beats", "figures"]);

/** The queues and the task that an event is about. */
export interface About {
  readonly type: EventType;
  /** Absent for an event about all queues. */
  readonly queues?: readonly string[] | undefined;
  readonly task?: TaskId | undefined;
}

/** What a listener may see. Listeners with the same key may see the same. */
export interface Sight {
  readonly key: string;
  /** Asked with each event, because a reload may change it. */
  maySeeAll(): boolean;
  mayRead(queue: string): boolean;
}

export interface Wanted {
  readonly types?: readonly EventType[] | undefined;
  readonly queue?: readonly string[] | undefined;
  readonly task?: readonly TaskId[] | undefined;
}

export class EventFilter {
  /** Equal for equal filters. */
  readonly key: string;
  readonly tasks: ReadonlySet<TaskId> | undefined;
  /** The queues that it names; undefined if it wants all. */
  readonly queues: ReadonlySet<string> | undefined;
  readonly #types: ReadonlySet<EventType>;
  /** Absent where everybody may see everything. */
  readonly #sight: Sight | undefined;

  constructor({ types, queue, task }: Wanted, sight?: Sight) {
    this.#sight = sight;
    const sorted = (values: readonly (string | number)[] = []) => [...new Set(values)].sort().join(",");
    this.#types = new Set(types ?? (task === undefined ? usualTypes : ["task"]));
    this.queues = queue === undefined ? undefined : new Set(queue);
    this.tasks = task === undefined ? undefined : new Set(task);
    this.key = `${sorted([...this.#types])} ${sorted(queue)} ${sorted(task)} ${sight?.key ?? ""}`;
  }

  wants(type: EventType): boolean {
    return this.#types.has(type) && !(wholeTypes.has(type) && this.isRestricted);
  }

  /** True if events of this queue are wanted. */
  readonly shows = (queue: string): boolean =>
    (this.queues === undefined || this.queues.has(queue)) && this.#sight?.mayRead(queue) !== false;

  /** True for a listener that may not see everything. */
  get isRestricted(): boolean {
    return this.#sight?.maySeeAll() === false;
  }

  takes({ type, queues, task }: About): boolean {
    if (!this.#types.has(type)) return false;
    if (this.tasks !== undefined && type === "task" && (task === undefined || !this.tasks.has(task)))
      return false;
    if (this.isRestricted && !this.#maySee(queues)) return false;
    if (this.queues === undefined) return true;
    // Changes that were skipped in other queues, and problems that concern all queues.
    if (queues === undefined) return type !== "task";
    return queues.some(this.shows);
  }

  /** An event tells about all its queues, so all must be readable. */
  #maySee(queues: readonly string[] | undefined): boolean {
    if (queues === undefined || queues.length === 0) return false;
    return queues.every((queue) => this.#sight?.mayRead(queue));
  }

  /** True if it begins with a snapshot. A listener that follows tasks begins with those tasks. */
  get hasSnapshot(): boolean {
    return this.tasks === undefined && snapshotTypes.some((type) => this.#types.has(type));
  }
}
