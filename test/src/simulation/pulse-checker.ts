// What of the promise pulse's workers can see, together with what lies on the disk. The dialect has no askers: that every
// task ends, once and with its own solution, is seen by those who asked for it.

import type { TaskId } from "@yardmaster/core";
import type { pulse } from "@yardmaster/dialects";
import type { MemoryStore } from "@yardmaster/engines";
import { fail } from "./checker.js";
import type { Process } from "./world.js";

interface Held {
  readonly task: bigint;
  /** The dispatcher that gave it: one that was taken for dead may know less than the next. */
  readonly yard: Process | undefined;
}

export class PulseChecker {
  readonly #store: MemoryStore;
  /** The ids that were ever given out, by whichever life of the dispatcher. */
  readonly #ids = new Set<bigint>();
  /** Who was given what, ever. */
  readonly #given = new Map<string, string[]>();
  /** What each living worker has taken and was not asked for yet. */
  readonly #held = new Map<Process, Held>();

  constructor(store: MemoryStore) {
    this.#store = store;
  }

  registered(process: Process, id = 0n): void {
    const worker = process.name;
    // Under another name it has nothing.
    this.#held.delete(process);
    if (id === 0n) fail(`${worker} was registered without an id`);
    // [pulse 2.5]
    if (this.#ids.has(id)) fail(`${worker} was registered as ${id}, which is or was somebody else`);
    this.#ids.add(id);
  }

  /** SET_TASK has arrived. */
  given(worker: Process, yard: Process | undefined, task = 0n): void {
    const held = this.#held.get(worker);
    if (held !== undefined && held.yard === yard)
      fail(`${worker.name} was given task ${task} while it had task ${held.task}`);
  }

  /** A worker has taken a task. */
  taken(
    worker: Process,
    yard: Process | undefined,
    { message, extra }: pulse.WithExtra<pulse.ControlMessage>,
  ): void {
    const task = message.taskId ?? 0n;
    const { name } = worker;
    const stored = this.#store.task(Number(task) as TaskId);
    if (stored === undefined) fail(`${name} was given task ${task}, which is not on the disk`);
    const payload = Buffer.from(this.#store.body(stored.head.id, "payload")?.bytes ?? []).toString();
    if (payload !== extra.toString()) fail(`task ${task} reached ${name} as another: ${extra}`);
    this.#held.set(worker, { task, yard });
    this.#given.set(name, [...(this.#given.get(name) ?? []), payload]);
  }

  /** It has handed over what it had. */
  fetched(worker: Process): void {
    this.#held.delete(worker);
  }

  /** Whether it was given a task whose payload is this, or has this in it. */
  wasGiven(worker: string, payload: string): boolean {
    return this.#given.get(worker)?.some((given) => given.includes(payload)) ?? false;
  }
}
