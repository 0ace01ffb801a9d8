// What comes out of the core: changes to commit and effects to carry out. One step gathers the events of a whole turn:
// a task that was accepted, given out and finished within it is written once, as it is at the end.

import type { DoorState } from "./door-state.js";
import type { Effect } from "./effects.js";
import type { Change, TaskHead } from "./records.js";
import type { Task } from "./task.js";

export class Step {
  effects: Effect[] = [];
  readonly #heads: TaskHead[] = [];
  readonly #touched: Task[] = [];
  readonly #begun: Task[] = [];
  readonly #changes: Change[] = [];
  readonly #marked: DoorState[] = [];

  /** Somebody waits for it to be safe. What only says that an outcome was told can wait for company. */
  isUrgent = false;

  /** The number of the newest task in it; 0 when it has none. */
  get lastTask(): number {
    return this.#heads[this.#heads.length - 1]?.id ?? 0;
  }

  /** It knows of tasks that were given out, and of no more about them. */
  get hasBegun(): boolean {
    return this.#begun.length > 0;
  }

  /** A mark alone is no reason to commit: it only says that nothing came of what was posted. */
  get hasChanges(): boolean {
    return this.changeCount > 0;
  }

  /** Without what can wait. */
  get changeCount(): number {
    return this.#heads.length + this.#touched.length + this.#changes.length;
  }

  accept(head: TaskHead): void {
    this.isUrgent = true;
    this.#heads.push(head);
  }

  touch(task: Task): void {
    this.isUrgent = true;
    if (task.step === this && !task.isOnlyBegun) return;
    task.step = this;
    task.isOnlyBegun = false;
    this.#touched.push(task);
  }

  /**
   * It was given out by a door to which nothing comes back after a restart. That can wait: most tasks are done before long,
   * and then are written down once. Until it is written, a restart finds the task waiting, and gives it out all the same.
   */
  begin(task: Task): void {
    if (task.step === this) return;
    task.step = this;
    task.isOnlyBegun = true;
    this.#begun.push(task);
  }

  /** The door's posts were taken in up to its mark. */
  mark(door: DoorState): void {
    if (door.step === this) return;
    door.step = this;
    this.#marked.push(door);
  }

  change(change: Change): void {
    this.isUrgent = true;
    this.#changes.push(change);
  }

  /** The effects so far, and no longer in here. */
  takeEffects(): Effect[] {
    const { effects } = this;
    if (effects.length > 0) this.effects = [];
    return effects;
  }

  /**
   * The changes, as of now: to be taken before the core handles anything into another step. With a `next`, those that were
   * only given out go on to that one.
   */
  takeChanges(next?: Step): Change[] {
    const changes: Change[] = [];
    for (const head of this.#heads) changes.push({ kind: "head", head });
    for (const task of this.#begun) {
      if (task.step !== this || !task.isOnlyBegun) continue;
      task.step = undefined;
      if (next === undefined) changes.push({ kind: "progress", progress: task.progress() });
      else next.begin(task);
    }
    for (const task of this.#touched) {
      task.step = undefined;
      changes.push({ kind: "progress", progress: task.progress() });
      if (task.place === "gone") task.forget();
    }
    for (const change of this.#changes) changes.push(change);
    for (const door of this.#marked) {
      door.step = undefined;
      const { name, incarnation, mark } = door;
      changes.push({ kind: "door", door: { name, incarnation, mark } });
    }
    return changes;
  }
}
