// For tests of a door: a whole yard in memory around it, and a second door that the test controls.

import { type Body, type StoredTask, storyOf, type TaskId } from "@yardmaster/core";
import type { Door, Port } from "../door-kit/door.js";
import type { Runtime } from "../runtime.js";
import { HandDoor } from "./hand-door.js";
import { type MemoryRuntimeOptions, memoryRuntime, until } from "./memory-runtime.js";

export class DoorYard {
  readonly runtime: Runtime;
  readonly hand: HandDoor;
  readonly port: Port;

  constructor(door: string, options: MemoryRuntimeOptions) {
    this.runtime = memoryRuntime(options);
    this.port = this.runtime.port(door);
    this.hand = new HandDoor(this.runtime.port("hand"));
  }

  attach(door: Door): void {
    this.runtime.attach(door);
    this.runtime.attach(this.hand);
  }

  /** `name` is that of a worker of this door. */
  workerIs(name: string, state: "idle" | "busy" | "lost"): Promise<true> {
    return until(async () => {
      const workers = await this.port.reads.workers();
      const id = `${this.port.door}/${name}`;
      return workers.some((worker) => worker.id === id && worker.state === state) || undefined;
    });
  }

  async workerStates(): Promise<string[]> {
    const workers = await this.port.reads.workers();
    return workers.map(({ id, state, lostReason }) => `${id} ${lostReason ?? state}`);
  }

  /** The task with this number, once the condition holds. */
  task(id: number, isWanted: (task: StoredTask) => boolean = () => true): Promise<StoredTask> {
    return until(async () => {
      const task = await this.port.reads.task(id as TaskId);
      return task !== undefined && isWanted(task) ? task : undefined;
    });
  }

  finished(id: number): Promise<StoredTask> {
    return this.task(id, ({ progress }) => (progress?.settled ?? 0) > 0);
  }

  async story(id: number): Promise<string[]> {
    const { head, progress } = await this.task(id);
    return storyOf(head, progress).map(({ to, cause }) => `${to}: ${cause}`);
  }

  body(id: number, part: "payload" | "result"): Promise<Body | undefined> {
    return this.port.reads.body(id as TaskId, part);
  }

  why(id: number): string | undefined {
    return this.port.reads.why(id as TaskId)?.code;
  }
}
