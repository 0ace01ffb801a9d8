// The content of the disk, for checkers: every task that a door accepted, with its payload in line
// or out of line.

import type { Body, TaskHead, TaskProgress } from "@yardmaster/core";
import type { MemoryStore } from "@yardmaster/engines";

export interface DiskTask {
  readonly head: TaskHead;
  readonly progress: TaskProgress | undefined;
  readonly state: string;
}

export class DiskTasks {
  readonly #store: MemoryStore;
  readonly #door: string;

  constructor(store: MemoryStore, door: string) {
    this.#store = store;
    this.#door = door;
  }

  /** The tasks of this door. */
  all(): DiskTask[] {
    return this.#everybodys().filter(({ head }) => head.door === this.#door);
  }

  areFinished(): boolean {
    return this.all().every(({ state }) => isFinished(state));
  }

  payloadOf({ id, payload }: TaskHead): Body {
    return this.#store.body(id, "payload") ?? payload;
  }

  textOf(head: TaskHead): string {
    return Buffer.from(this.payloadOf(head).bytes ?? []).toString("latin1");
  }

  /**
   * The state of the task whose payload contains this, whichever door accepted it; undefined if
   * there is none.
   */
  stateOf(mark: string): string | undefined {
    return this.#everybodys().findLast(({ head }) => this.textOf(head).includes(mark))?.state;
  }

  #everybodys(): DiskTask[] {
    const tasks: DiskTask[] = [];
    this.#store.tasks.forEach((head, progress) => {
      tasks.push({ head, progress, state: progress?.state ?? "waiting" });
    });
    return tasks;
  }
}

export function isFinished(state: string | undefined): boolean {
  return state !== undefined && state !== "waiting" && state !== "running";
}
