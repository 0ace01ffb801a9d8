// Tasks that could start now: highest priority first, first in first out within it. A list per priority, linked through
// the tasks themselves so that any of them leaves in constant time, and a heap of the priorities that are in use.

import type { Task } from "./task.js";

/** So many empty lists are let be before they are cleared away: then clearing costs each push next to nothing. */
const emptyListsMax = 32;

export class ReadyList {
  readonly priority: number;
  readonly owner: ReadyQueue;
  first: Task | undefined = undefined;
  last: Task | undefined = undefined;

  constructor(priority: number, owner: ReadyQueue) {
    this.priority = priority;
    this.owner = owner;
  }
}

export class ReadyQueue {
  readonly #lists = new Map<number, ReadyList>();
  /**
   * Lists by priority, highest at the top. An empty list stays until it comes to the top and another can take over, or
   * until there are more lists than tasks.
   */
  #heap: ReadyList[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Lists it keeps, empty ones included. */
  get priorities(): number {
    return this.#heap.length;
  }

  first(): Task | undefined {
    for (;;) {
      const list = this.#heap[0];
      if (list === undefined || list.first !== undefined) return list?.first;
      if (this.#heap.length === 1) return undefined;
      this.#dropTop();
    }
  }

  /** The one that was handed in first: of each list the first is, or is about to be. */
  oldest(): Task | undefined {
    let oldest: Task | undefined;
    for (const { first } of this.#heap) {
      if (first !== undefined && (oldest === undefined || first.head.id < oldest.head.id)) oldest = first;
    }
    return oldest;
  }

  pushLast(task: Task): void {
    const list = this.#listFor(task.head.priority);
    task.list = list;
    task.previous = list.last;
    if (list.last === undefined) list.first = task;
    else list.last.next = task;
    list.last = task;
    this.#size += 1;
  }

  pushFirst(task: Task): void {
    const list = this.#listFor(task.head.priority);
    task.list = list;
    task.next = list.first;
    if (list.first === undefined) list.last = task;
    else list.first.previous = task;
    list.first = task;
    this.#size += 1;
  }

  remove(task: Task): void {
    const list = task.list;
    if (list === undefined) return;
    if (task.previous === undefined) list.first = task.next;
    else task.previous.next = task.next;
    if (task.next === undefined) list.last = task.previous;
    else task.next.previous = task.previous;
    task.list = undefined;
    task.previous = undefined;
    task.next = undefined;
    this.#size -= 1;
  }

  #listFor(priority: number): ReadyList {
    let list = this.#lists.get(priority);
    if (list === undefined) {
      // One list that fell empty is kept at the top; a queue of changing priorities must not gather them.
      if (this.#heap.length === 1 && this.#heap[0]?.first === undefined) this.#dropTop();
      else if (this.#heap.length > 2 * this.#size + emptyListsMax) this.#dropEmpty();
      list = new ReadyList(priority, this);
      this.#lists.set(priority, list);
      this.#rise(list);
    }
    return list;
  }

  #dropEmpty(): void {
    const lists = this.#heap;
    this.#heap = [];
    for (const list of lists) {
      if (list.first === undefined) this.#lists.delete(list.priority);
      else this.#rise(list);
    }
  }

  #rise(list: ReadyList): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(list);
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = heap[parentIndex] as ReadyList;
      if (parent.priority >= list.priority) break;
      heap[index] = parent;
      index = parentIndex;
    }
    heap[index] = list;
  }

  #dropTop(): void {
    const heap = this.#heap;
    const top = heap[0] as ReadyList;
    this.#lists.delete(top.priority);
    const list = heap.pop() as ReadyList;
    if (list === top) return;
    let index = 0;
    for (;;) {
      const left = heap[2 * index + 1];
      const right = heap[2 * index + 2];
      const isRight = right !== undefined && left !== undefined && right.priority > left.priority;
      const child = isRight ? right : left;
      if (child === undefined || child.priority <= list.priority) break;
      heap[index] = child;
      index = 2 * index + (isRight ? 2 : 1);
    }
    heap[index] = list;
  }
}
