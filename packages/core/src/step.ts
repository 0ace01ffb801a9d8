// The output of the core: changes to commit and effects to carry out. One step collects the events
// of a whole turn, so a task that was accepted, assigned and finished within one turn is written
// once, in its final state.

import type { DoorState } from "./door-state.js";
import type { Effect } from "./effects.js";
import type { Change, TaskHead } from "./records.js";
import type { Task } from "./task.js";

/** A record that may change often within a step and is written once. */
export interface KeptRecord {
  step: Step | undefined;
  toChange(): Change;
}

export class Step {
  effects: Effect[] = [];
  readonly #heads: TaskHead[] = [];
  readonly #touched: Task[] = [];
  readonly #begun: Task[] = [];
  readonly #changes: Change[] = [];
  readonly #marked: DoorState[] = [];
  readonly #kept: KeptRecord[] = [];

  /**
   * True if a peer waits for this commit. A step that only records deliveries can wait for other
   * changes.
   */
  isUrgent = false;

  /** The highest id of a task in it; 0 when it has none. */
  lastTask = 0;

  /** True if it holds tasks for which only the assignment must be recorded. */
  get hasBegun(): boolean {
    return this.#begun.length > 0;
  }

  /** A door's mark alone is no reason to commit: its posts have changed nothing else. */
  get hasChanges(): boolean {
    return this.changeCount > 0;
  }

  /** Number of changes, without those that can wait. */
  get changeCount(): number {
    return this.#heads.length + this.#touched.length + this.#changes.length;
  }

  accept(head: TaskHead): void {
    this.isUrgent = true;
    this.#heads.push(head);
    if (head.id > this.lastTask) this.lastTask = head.id;
  }

  touch(task: Task): void {
    this.isUrgent = true;
    if (task.step === this && !task.isOnlyBegun) return;
    task.step = this;
    task.isOnlyBegun = false;
    this.#touched.push(task);
  }

  /**
   * Records an assignment by a door whose workers cannot resume attempts. This can wait: most tasks
   * finish soon and are then written once. After a crash before that, the task is found waiting and
   * is assigned again, as it would be anyway.
   */
  begin(task: Task): void {
    if (task.step === this) return;
    task.step = this;
    task.isOnlyBegun = true;
    this.#begun.push(task);
  }

  /** Records how far the door's posts were handled. */
  mark(door: DoorState): void {
    if (door.step === this) return;
    door.step = this;
    this.#marked.push(door);
  }

  /** Records the final state of something that changes with the tasks of this step. */
  keep(record: KeptRecord): void {
    if (record.step === this) return;
    record.step = this;
    this.#kept.push(record);
  }

  change(change: Change): void {
    this.isUrgent = true;
    this.#changes.push(change);
  }

  /** Removes and returns the effects so far. */
  takeEffects(): Effect[] {
    const { effects } = this;
    if (effects.length > 0) this.effects = [];
    return effects;
  }

  /**
   * Returns the changes in their current state. Call it before the core handles an event into
   * another step. With `next`, assignments that can wait move to that step.
   */
  takeChanges(next?: Step): Change[] {
    const changes: Change[] = [];
    for (const head of this.#heads) changes.push({ kind: "head", head });
    for (const task of this.#begun) {
      if (task.step !== this || !task.isOnlyBegun) continue;
      task.step = undefined;
      if (next === undefined) changes.push(progressOf(task));
      else next.begin(task);
    }
    for (const task of this.#touched) {
      task.step = undefined;
      changes.push(progressOf(task));
      if (task.place === "gone") task.forget();
    }
    for (const change of this.#changes) changes.push(change);
    for (const record of this.#kept) {
      record.step = undefined;
      changes.push(record.toChange());
    }
    for (const door of this.#marked) {
      door.step = undefined;
      const { name, incarnation, mark } = door;
      changes.push({ kind: "door", door: { name, incarnation, mark } });
    }
    return changes;
  }
}

function progressOf(task: Task): Change {
  return { kind: "progress", progress: task.progress(), queue: task.head.queue };
}
