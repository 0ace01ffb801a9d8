// The objects that a worker's tasks need. Each is requested once, however many tasks need it, and
// cached for later tasks up to a size limit. A task keeps its own objects, so evicting one from the
// cache does not affect it.

import { ownBytes } from "../body.js";
import type { ObjectAnswer } from "./messages.js";
import { keyOf } from "./objects.js";
import type { HeldTask } from "./worker-tasks.js";

interface NeededObject {
  readonly id: Buffer;
  /** The positions at which each task needs the object: the same argument may appear twice. */
  readonly tasks: Map<HeldTask, number[]>;
  isAsked: boolean;
}

interface ObjectFetch {
  readonly task: HeldTask;
  readonly ids: readonly Buffer[];
}

export interface WorkerObjectsHost {
  ask(ids: readonly Buffer[]): void;
  /** All objects that the task needs are there. */
  ready(task: HeldTask): void;
  /** The scheduler does not have this object. */
  failed(task: HeldTask, id: Buffer): void;
}

export class WorkerObjects {
  readonly #bytesMax: number;
  readonly #host: WorkerObjectsHost;
  /** Ordered by last use, most recent last. */
  readonly #kept = new Map<string, Buffer>();
  #keptBytes = 0;
  /** Running average of the bytes in an answer. Large at first, because it is unknown. */
  #typicalBytes: number;
  readonly #wanted = new Map<string, NeededObject>();
  /** By the ids requested, which the answer repeats exactly [scaler 5.2]. */
  readonly #asked = new Map<string, ObjectFetch>();

  constructor(bytesMax: number, host: WorkerObjectsHost) {
    this.#bytesMax = bytesMax;
    this.#typicalBytes = bytesMax / 4;
    this.#host = host;
  }

  /**
   * False while too many requests are unanswered. A request outlives the task for which it was
   * made.
   */
  get mayAsk(): boolean {
    return this.#asked.size < unansweredMax;
  }

  /** Number of tasks that cannot begin yet and for which objects may be requested. */
  get ahead(): number {
    return Math.max(1, Math.floor(this.#bytesMax / Math.max(1, this.#typicalBytes)));
  }

  /** Collects the objects of a task and requests those that are missing. */
  collect(task: HeldTask): void {
    task.missing = 0;
    for (let index = 0; index < task.objects.length; index += 1) {
      const id = task.objectId(index);
      const key = keyOf(id);
      const bytes = this.#kept.get(key);
      if (bytes !== undefined) {
        this.#keep(key, bytes);
        task.objects[index] = bytes;
        continue;
      }
      task.missing += 1;
      this.#want(key, id, task, index);
    }
    if (task.missing === 0) this.#host.ready(task);
    else this.#askFor(task);
  }

  answered({ kind, ids, bytes }: ObjectAnswer): void {
    const name = nameOf(ids);
    const asked = this.#asked.get(name);
    if (asked === undefined) return;
    this.#asked.delete(name);
    const found = kind === "content" ? bytes.length : 0;
    const size = bytes.reduce((sum, { length }) => sum + length, 0);
    this.#typicalBytes += (size - this.#typicalBytes) / 8;
    for (let index = 0; index < found; index += 1) this.#came(asked.ids[index], bytes[index]);
    if (found < ids.length) this.#missed(asked, found);
  }

  /** [scaler 5.5] The scheduler deleted these objects. */
  drop(ids: readonly Buffer[]): void {
    for (const id of ids) this.#unkeep(keyOf(id));
  }

  /**
   * The task is no longer wanted. Objects that were requested for it may still arrive and are
   * cached.
   */
  forget(task: HeldTask): void {
    for (let index = 0; index < task.objects.length; index += 1) {
      this.#wanted.get(keyOf(task.objectId(index)))?.tasks.delete(task);
    }
  }

  clear(): void {
    this.#kept.clear();
    this.#keptBytes = 0;
    this.#wanted.clear();
    this.#asked.clear();
  }

  #came(id: Buffer | undefined, slice: Buffer | undefined): void {
    if (id === undefined || slice === undefined) return;
    const key = keyOf(id);
    const bytes = ownBytes(slice);
    const tasks = this.#wanted.get(key)?.tasks ?? [];
    this.#wanted.delete(key);
    this.#keep(key, bytes);
    for (const [task, places] of tasks) {
      for (const index of places) task.objects[index] = bytes;
      task.missing = (task.missing ?? 0) - places.length;
      if (task.missing === 0) this.#host.ready(task);
    }
  }

  #want(key: string, id: Buffer, task: HeldTask, index: number): void {
    const wanted = this.#wanted.get(key) ?? { id, tasks: new Map(), isAsked: false };
    this.#wanted.set(key, wanted);
    const places = wanted.tasks.get(task);
    if (places === undefined) wanted.tasks.set(task, [index]);
    else places.push(index);
  }

  /**
   * [scaler 5.3] Only the first missing object is known to be missing. The state of those after it
   * is unknown, and other tasks may still want them.
   */
  #missed({ task, ids }: ObjectFetch, found: number): void {
    const unanswered = ids.slice(found);
    const [first] = unanswered;
    const isWanted = first !== undefined && this.#wanted.get(keyOf(first))?.tasks.has(task) === true;
    this.forget(task);
    const others = new Set<HeldTask>();
    for (const id of unanswered) {
      const wanted = this.#wanted.get(keyOf(id));
      if (wanted === undefined) continue;
      wanted.isAsked = false;
      if (wanted.tasks.size === 0) this.#wanted.delete(keyOf(id));
      for (const other of wanted.tasks.keys()) others.add(other);
    }
    if (isWanted) this.#host.failed(task, first);
    for (const other of others) this.#askFor(other);
  }

  #askFor(task: HeldTask): void {
    const ids: Buffer[] = [];
    for (let index = 0; index < task.objects.length; index += 1) {
      const wanted = this.#wanted.get(keyOf(task.objectId(index)));
      if (wanted === undefined || wanted.isAsked || !wanted.tasks.has(task)) continue;
      wanted.isAsked = true;
      ids.push(wanted.id);
    }
    if (ids.length === 0) return;
    this.#asked.set(nameOf(ids), { task, ids });
    this.#host.ask(ids);
  }

  #keep(key: string, bytes: Buffer): void {
    this.#unkeep(key);
    if (bytes.length > this.#bytesMax) return;
    this.#kept.set(key, bytes);
    this.#keptBytes += sizeOf(key, bytes);
    for (const oldest of this.#kept.keys()) {
      if (this.#keptBytes <= this.#bytesMax) return;
      this.#unkeep(oldest);
    }
  }

  #unkeep(key: string): void {
    const bytes = this.#kept.get(key);
    if (bytes === undefined) return;
    this.#kept.delete(key);
    this.#keptBytes -= sizeOf(key, bytes);
  }
}

/** Many times the number of requests that a worker makes ahead. */
const unansweredMax = 1_000;

/** Memory of an object besides its bytes, so that a million empty objects are not free. */
const bookkeepingBytes = 128;

function sizeOf(key: string, bytes: Buffer): number {
  return bookkeepingBytes + key.length + bytes.length;
}

/** Ids have any length, so their lengths are included to keep different lists apart. */
function nameOf(ids: readonly Buffer[]): string {
  return ids.map((id) => `${id.length}:${keyOf(id)}`).join("");
}
