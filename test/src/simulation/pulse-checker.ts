// The part of the promise that pulse's workers can see, together with the content of the disk. The
// dialect has no clients: the clients of other dialects check that every task ends once, with its
// own solution.

import type { TaskId } from "@yardmaster/core";
import type { pulse } from "@yardmaster/dialects";
import type { MemoryStore } from "@yardmaster/engines";
import { fail } from "./checker.js";
import type { Process } from "./world.js";

interface HeldTask {
  readonly task: bigint;
  /** The dispatcher that sent it: a deposed one may know less than the next. */
  readonly yard: Process | undefined;
}

export class PulseChecker {
  readonly #store: MemoryStore;
  /** Every id that was ever assigned, by any dispatcher process. */
  readonly #ids = new Set<bigint>();
  /** The tasks that each worker ever received. */
  readonly #given = new Map<string, string[]>();
  /** The task that each living worker has accepted and that was not fetched yet. */
  readonly #held = new Map<Process, HeldTask>();

  constructor(store: MemoryStore) {
    this.#store = store;
  }

  registered(process: Process, id = 0n): void {
    const worker = process.name;
    // Under another id it holds nothing.
    this.#held.delete(process);
    if (id === 0n) fail(`${worker} was registered without an id`);
    // [pulse 2.5]
    if (this.#ids.has(id)) fail(`${worker} was registered as ${id}, which is or was another worker`);
    this.#ids.add(id);
  }

  /** SET_TASK has arrived. */
  given(worker: Process, yard: Process | undefined, task = 0n): void {
    const held = this.#held.get(worker);
    if (held !== undefined && held.yard === yard)
      fail(`${worker.name} was given task ${task} while it had task ${held.task}`);
  }

  /** A worker has accepted a task. */
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

  /** Its solution was fetched. */
  fetched(worker: Process): void {
    this.#held.delete(worker);
  }

  /** True if it received a task whose payload is or contains this. */
  wasGiven(worker: string, payload: string): boolean {
    return this.#given.get(worker)?.some((given) => given.includes(payload)) ?? false;
  }
}
