// Groups of one queue. Among ready tasks of equal priority groups take turns, and each runs at most
// `maxRunningPerGroup` tasks. A group exists while it has a task that has not ended.

import { type PriorityList, PriorityLists } from "./priority-lists.js";
import type { ReadyQueue } from "./ready-queue.js";
import type { Task } from "./task.js";

/** The ready tasks of one group in one ready queue. Tasks without a group share a lane. */
export class Lane extends PriorityLists<Task> {
  readonly ready: ReadyQueue;
  // Its position among the lanes of its ready queue, in the list of its highest priority. Undefined
  // while the ready queue has a single lane, and while the group is full.
  list: PriorityList<Lane> | undefined = undefined;
  previous: Lane | undefined = undefined;
  next: Lane | undefined = undefined;
  /** Number of its tasks that the ready queue counts as kept because the group is full. */
  kept = 0;

  constructor(ready: ReadyQueue) {
    super();
    this.ready = ready;
  }

  /** Undefined for tasks without a group. */
  get group(): Group | undefined {
    return undefined;
  }

  /** `isTurn`: the task was assigned, so the other groups are next. */
  leave(task: Task, isTurn: boolean): void {
    this.unlink(task);
    this.ready.left(this, isTurn);
  }
}

/**
 * A group, which is also the lane of its ordinary ready tasks. With a hundred thousand groups,
 * every additional object counts.
 */
export class Group extends Lane {
  readonly key: string;
  /** Number of its tasks that have not ended. */
  tasks = 0;
  /** Number of its tasks that are running, or were when the dispatcher stopped. */
  active = 0;
  /** True while it runs as many tasks as its queue allows. Its lanes then take no turns. */
  isFull = false;
  /** Lanes of its tasks that some workers must not get, one in each ready queue that has some. */
  #others: Lane[] | undefined = undefined;

  constructor(key: string, ready: ReadyQueue) {
    super(ready);
    this.key = key;
  }

  override get group(): Group {
    return this;
  }

  /** Its lane in this ready queue, created if necessary. */
  laneIn(ready: ReadyQueue): Lane {
    if (ready === this.ready) return this;
    this.#others ??= [];
    let lane = this.#others.find((other) => other.ready === ready);
    if (lane === undefined) {
      lane = new GroupLane(ready, this);
      this.#others.push(lane);
    }
    return lane;
  }

  /** Forgets a lane that is empty. */
  drop(lane: Lane): void {
    if (lane !== this) this.#others?.splice(this.#others.indexOf(lane), 1);
  }

  lanes(): readonly Lane[] {
    return [this, ...(this.#others ?? [])];
  }
}

/** A lane of a group beside its own. */
class GroupLane extends Lane {
  readonly #group: Group;

  constructor(ready: ReadyQueue, group: Group) {
    super(ready);
    this.#group = group;
  }

  override get group(): Group {
    return this.#group;
  }
}

/** The groups of a queue, by key. */
export class Groups {
  readonly #ready: ReadyQueue;
  readonly #byKey = new Map<string, Group>();
  #runningMax = Number.POSITIVE_INFINITY;

  /** `ready`: where ordinary tasks of the queue wait. */
  constructor(ready: ReadyQueue) {
    this.#ready = ready;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** Adds a task to the group of this key. */
  join(key: string): Group {
    let group = this.#byKey.get(key);
    if (group === undefined) {
      group = new Group(key, this.#ready);
      this.#byKey.set(key, group);
    }
    group.tasks += 1;
    return group;
  }

  /** A task of this group has ended. */
  leave(group: Group): void {
    group.tasks -= 1;
    if (group.tasks === 0) this.#byKey.delete(group.key);
  }

  /** Counts a task that begins to run, or no longer does. */
  countActive(group: Group, by: 1 | -1): void {
    group.active += by;
    this.#fill(group);
  }

  /**
   * Changes the limit. It looks at every group, which is acceptable because only operators do it.
   */
  limit(runningMax: number): void {
    if (runningMax === this.#runningMax) return;
    this.#runningMax = runningMax;
    for (const group of this.#byKey.values()) this.#fill(group);
  }

  #fill(group: Group): void {
    const isFull = group.active >= this.#runningMax;
    if (isFull === group.isFull) return;
    group.isFull = isFull;
    for (const lane of group.lanes()) lane.ready.position(lane, false);
  }

  [Symbol.iterator](): Iterator<Group> {
    return this.#byKey.values();
  }
}
