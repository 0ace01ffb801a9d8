// The objects that a worker's tasks need: asked for once however many want them, and kept for the next task up to so many bytes.
// What a task got it keeps itself, so that nothing dropped here is missed by one.

import { ownBytes } from "../body.js";
import type { ObjectAnswer } from "./messages.js";
import { keyOf } from "./objects.js";
import type { HeldTask } from "./worker-tasks.js";

interface Wanted {
  readonly id: Buffer;
  /** Where each of them needs it: an argument may be given twice. */
  readonly tasks: Map<HeldTask, number[]>;
  isAsked: boolean;
}

interface Asked {
  readonly task: HeldTask;
  readonly ids: readonly Buffer[];
}

export interface WorkerObjectsHost {
  ask(ids: readonly Buffer[]): void;
  /** Everything it needs is there. */
  ready(task: HeldTask): void;
  /** The scheduler does not have this object. */
  failed(task: HeldTask, id: Buffer): void;
}

export class WorkerObjects {
  readonly #bytesMax: number;
  readonly #host: WorkerObjectsHost;
  /** The one that was used last is the last. */
  readonly #kept = new Map<string, Buffer>();
  #keptBytes = 0;
  /** What an answer brings, by and by; unknown, and so large, at first. */
  #typicalBytes: number;
  readonly #wanted = new Map<string, Wanted>();
  /** By their ids: an answer repeats them exactly [scaler 5.2]. */
  readonly #asked = new Map<string, Asked>();

  constructor(bytesMax: number, host: WorkerObjectsHost) {
    this.#bytesMax = bytesMax;
    this.#typicalBytes = bytesMax / 4;
    this.#host = host;
  }

  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** False when too much was asked for and is not answered: what is asked for a task outlives it. */
  get mayAsk(): boolean {
    return this.#asked.size < unansweredMax;
  }

  /** For how many tasks that cannot begin yet there is room. */
  get ahead(): number {
    return Math.max(1, Math.floor(this.#bytesMax / Math.max(1, this.#typicalBytes)));
  }

  /** Looks for what a task needs, and asks for what is not here. */
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

  /** [scaler 5.5] The scheduler deleted them. */
  drop(ids: readonly Buffer[]): void {
    for (const id of ids) this.#unkeep(keyOf(id));
  }

  /** Nobody waits for this task any more. What it asked for may still come, and is kept for others. */
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

  /** [scaler 5.3] The first that is missing is missing; those behind it nobody knows about, and others may still want them. */
  #missed({ task, ids }: Asked, found: number): void {
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

/** Many times what a worker asks for ahead. */
const unansweredMax = 1_000;

/** What an object takes beside its bytes: a million empty ones are not free. */
const bookkeepingBytes = 128;

function sizeOf(key: string, bytes: Buffer): number {
  return bookkeepingBytes + key.length + bytes.length;
}

/** Ids have any length: their lengths keep two lists apart that read alike. */
function nameOf(ids: readonly Buffer[]): string {
  return ids.map((id) => `${id.length}:${keyOf(id)}`).join("");
}
