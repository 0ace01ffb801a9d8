// A task of one of the door's clients, from submission to the core until its outcome is known.

import { Chain, type TaskId } from "@yardmaster/core";
import type { ScalerDoorClient } from "./door-client.js";
import type { GraphNode } from "./graph-run.js";
import type { Identified } from "./id-table.js";
import type { ScalerObjects } from "./objects.js";
import { copyOfId, endAt, type IdBytes, isId, nextAt, type PackedTask } from "./packed-messages.js";
import type { ScalerObject } from "./scaler-object.js";

export class LiveTask implements Identified<LiveTask> {
  readonly idHash: number;
  nextOfHash: LiveTask | undefined = undefined;
  readonly client: ScalerDoorClient;
  readonly node: GraphNode | undefined;
  readonly #id: IdBytes;
  /** Objects that the task needs, held once it is submitted. */
  needs: readonly ScalerObject[] = [];
  /** The core's id of the task, once accepted. */
  task: TaskId | undefined = undefined;
  isCancelWanted = false;
  /** Number of the client's connection over which it was last sent. */
  saidOver: number;
  /** The task was accepted before a restart. */
  isRestored = false;
  /** The list of its client's tasks that contains it. */
  list: LiveTasks | undefined = undefined;
  previous: LiveTask | undefined = undefined;
  next: LiveTask | undefined = undefined;

  constructor(client: ScalerDoorClient, node: GraphNode | undefined, idHash: number, id: IdBytes) {
    this.client = client;
    this.saidOver = client.connection;
    this.node = node;
    this.idHash = idHash;
    this.#id = id;
  }

  hasId(bytes: Uint8Array, from: number, to: number): boolean {
    return isId(this.#id, bytes, from, to);
  }

  /** A copy. */
  get id(): Buffer {
    return copyOfId(this.#id);
  }
}

/** The unfinished tasks of one client, in the order of submission. */
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

  /** Removes and returns all tasks. */
  *takeAll(): Generator<LiveTask> {
    for (let task = this.#tasks.first; task !== undefined; task = this.#tasks.first) {
      this.delete(task);
      yield task;
    }
  }
}

/** Marks the objects that a task needs, so that they are kept. */
export function needsOf(objects: ScalerObjects, { bytes, functionAt }: PackedTask): ScalerObject[] {
  const needs: ScalerObject[] = [];
  // Each further id comes after its kind.
  for (let at = functionAt; at < bytes.length; at = nextAt(bytes, nextAt(bytes, at)))
    needs.push(objects.needAt(bytes, at, endAt(bytes, at)));
  return needs;
}
