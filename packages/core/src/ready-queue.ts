// Ready tasks: highest priority first, and first in, first out within a priority. Where tasks have
// groups, those of equal priority take turns: each group has a lane of its own, and the lanes are
// listed by their highest priority. An assignment moves its lane to the end. A lane whose group is
// full is in no list, so no search steps over it.

import { type Group, Lane } from "./group.js";
import { PriorityLists } from "./priority-lists.js";
import type { Task } from "./task.js";

/** Number of lanes of one priority in which the oldest task is looked for. */
const oldestLanesMax = 64;

export class ReadyQueue {
  /** Tasks without a group. They take turns as one group. */
  readonly #plain = new Lane(this);
  /** Made with the first task that has a group. Until then there is only the plain lane. */
  #lanes: PriorityLists<Lane> | undefined = undefined;
  /** Number of tasks, where there are lanes. */
  #size = 0;
  /** Number of ready tasks that wait only because their group is full. */
  kept = 0;

  get size(): number {
    return this.#lanes === undefined ? this.#plain.size : this.#size;
  }

  /** Number of lists of the tasks without a group, empty ones included. */
  get priorities(): number {
    return this.#plain.lists.length;
  }

  /** True once a task with a group was here. */
  get takesTurns(): boolean {
    return this.#lanes !== undefined;
  }

  /** The next task. Tasks of full groups are passed over. */
  first(): Task | undefined {
    const lanes = this.#lanes;
    return lanes === undefined ? this.#plain.first() : lanes.first()?.first();
  }

  /**
   * The task that was submitted first, of those that could start. It is the first of one of the
   * lists, or soon will be. With many groups, only the lanes that are next in turn are looked at.
   */
  oldest(): Task | undefined {
    if (this.#lanes === undefined) return olderOf(this.#plain, undefined);
    let oldest: Task | undefined;
    for (const list of this.#lanes.lists) {
      let lane = list.first;
      for (let count = 0; lane !== undefined && count < oldestLanesMax; count += 1) {
        oldest = olderOf(lane, oldest);
        lane = lane.next;
      }
    }
    return oldest;
  }

  pushLast(task: Task, group?: Group): void {
    const lane = group === undefined ? this.#plain : this.#laneOf(group);
    lane.pushLast(task, task.head.priority);
    if (this.#lanes !== undefined) this.#entered(lane);
  }

  pushFirst(task: Task, group?: Group): void {
    const lane = group === undefined ? this.#plain : this.#laneOf(group);
    lane.pushFirst(task, task.head.priority);
    if (this.#lanes !== undefined) this.#entered(lane);
  }

  #entered(lane: Lane): void {
    this.#size += 1;
    this.position(lane, false);
  }

  /** A task has left this lane. */
  left(lane: Lane, isTurn: boolean): void {
    if (this.#lanes === undefined) return;
    this.#size -= 1;
    this.position(lane, isTurn);
  }

  /** Moves the lane to the list that it belongs in now. */
  position(lane: Lane, isTurn: boolean): void {
    const lanes = this.#lanes;
    if (lanes === undefined) return;
    const { group } = lane;
    const isFull = group?.isFull === true;
    const kept = isFull ? lane.size : 0;
    this.kept += kept - lane.kept;
    lane.kept = kept;
    const priority = isFull ? undefined : lane.first()?.head.priority;
    if (isTurn || lane.list?.priority !== priority) {
      if (lane.list !== undefined) lanes.unlink(lane);
      if (priority !== undefined) lanes.pushLast(lane, priority);
    }
    if (lane.size === 0) group?.drop(lane);
  }

  #laneOf(group: Group): Lane {
    if (this.#lanes === undefined) {
      this.#lanes = new PriorityLists<Lane>();
      this.#size = this.#plain.size;
      this.position(this.#plain, false);
    }
    return group.laneIn(this);
  }
}

/** Tasks lie only in lanes. */
export function laneOf(task: Task): Lane | undefined {
  return task.list?.owner as Lane | undefined;
}

function olderOf(lane: Lane, oldest: Task | undefined): Task | undefined {
  let older = oldest;
  for (const { first } of lane.lists) {
    if (first !== undefined && (older === undefined || first.head.id < older.head.id)) older = first;
  }
  return older;
}
