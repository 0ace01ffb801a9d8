// A task of one of the door's clients, from when it is handed to the core until its outcome is known.

import { Chain, type TaskId } from "@yardmaster/core";
import type { ScalerDoorClient } from "./door-client.js";
import type { GraphNode } from "./graph-run.js";
import { areBytes, type Identified } from "./id-table.js";
import type { TaskMessage } from "./messages.js";
import type { ScalerObjects } from "./objects.js";
import type { PackedFrames } from "./packed-frames.js";
import type { ScalerObject } from "./scaler-object.js";
import type { TaskBody } from "./task-body.js";

export class LiveTask implements Identified<LiveTask> {
  readonly idHash: number;
  nextOfHash: LiveTask | undefined = undefined;
  readonly client: ScalerDoorClient;
  readonly node: GraphNode | undefined;
  // Where its id lies.
  readonly #bytes: Buffer;
  readonly #from: number;
  readonly #to: number;
  /** What the core carries, from when it was handed to it. */
  body: TaskBody | undefined = undefined;
  /** What it needs, from then on. */
  needs: readonly ScalerObject[] = [];
  /** The core's name for it, once it is accepted. */
  task: TaskId | undefined = undefined;
  isCancelWanted = false;
  /** Over which of its client's connections it was said last. */
  saidOver: number;
  /** It was accepted in an earlier life. */
  isRestored = false;
  /** Its place among its client's. */
  list: LiveTasks | undefined = undefined;
  previous: LiveTask | undefined = undefined;
  next: LiveTask | undefined = undefined;

  constructor(
    client: ScalerDoorClient,
    node: GraphNode | undefined,
    idHash: number,
    bytes: Buffer,
    from: number,
    to: number,
  ) {
    this.client = client;
    this.saidOver = client.connection;
    this.node = node;
    this.idHash = idHash;
    this.#bytes = bytes;
    this.#from = from;
    this.#to = to;
  }

  hasId(bytes: Uint8Array, from: number, to: number): boolean {
    return to - from === this.#to - this.#from && areBytes(this.#bytes, this.#from, bytes, from, to);
  }

  /** In memory of its own. */
  get id(): Buffer {
    return Buffer.from(this.#bytes.subarray(this.#from, this.#to));
  }
}

/** Those of one client, in the order they came. */
export class LiveTasks {
  readonly #tasks = new Chain<LiveTask>();

  add(task: LiveTask): void {
    if (task.list === this) return;
    task.list = this;
    this.#tasks.add(task);
  }

  delete(task: LiveTask): void {
    if (task.list !== this) return;
    task.list = undefined;
    this.#tasks.remove(task);
  }

  /** All of them, which are no longer in here. */
  *takeAll(): Generator<LiveTask> {
    for (let task = this.#tasks.first; task !== undefined; task = this.#tasks.first) {
      this.delete(task);
      yield task;
    }
  }
}

/** Takes note of what a task needs. */
export function needsOf(objects: ScalerObjects, message: TaskMessage): ScalerObject[] {
  const needs = [objects.need(message.function)];
  for (const { id } of message.arguments) needs.push(objects.need(id));
  return needs;
}

/** The same of a TK as it came. */
export function needsIn(
  objects: ScalerObjects,
  { bytes, starts, ends, count }: PackedFrames,
): ScalerObject[] {
  // Of its length from the start: one that grows makes room for sixteen more.
  const needs = new Array<ScalerObject>((count - 3) >> 1);
  for (let index = 0; index < needs.length; index++) {
    const frame = 4 + 2 * index;
    needs[index] = objects.needAt(bytes, starts[frame] as number, ends[frame] as number);
  }
  return needs;
}
