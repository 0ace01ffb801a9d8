// Reads of a durable engine: from the tail alone where it knows everything, and otherwise from the
// store, with the tail laid over the answer.

import type { Body, StoredTask, TaskId } from "@yardmaster/core";
import { cursorBelow, startOf } from "../cursor.js";
import type { BodyPart, TaskPage, TaskQuery } from "../engine.js";
import { isAskedFor } from "../task-filter.js";
import type { Tail } from "./tail.js";

/** Tasks as the store has them after batch `through`. */
export interface StoredTasks {
  readonly tasks: readonly StoredTask[];
  readonly through: number;
  readonly cursor?: string | undefined;
}

/** The questions that a store answers from what it has. */
export interface StoreReads {
  /**
   * `isLenient`: a record that cannot be read is reported and left out. Otherwise it is an error.
   */
  tasks(ids: readonly TaskId[], isLenient: boolean): Promise<StoredTasks>;
  find(query: TaskQuery): Promise<StoredTasks>;
  /** The bytes of a body outside its record; undefined if its task was evicted. */
  bodyBytes(task: TaskId, part: BodyPart, size: number): Promise<Uint8Array | undefined>;
  memo(door: string, name: string): Promise<Uint8Array | undefined>;
}

/** A second try is rare: the store must take over a batch between an answer and its arrival. */
const triesMax = 100;
/** Tasks that are looked at together: few enough for one answer of the store. */
const tasksAtOnce = 256;

export class TailReads {
  readonly #tail: Tail;
  readonly #store: StoreReads;
  readonly #onBehind: (through: number) => Promise<void>;

  /** `onBehind`: the store answered without batches that it had, and may have to be mended. */
  constructor(tail: Tail, store: StoreReads, onBehind = async (_through: number): Promise<void> => {}) {
    this.#tail = tail;
    this.#store = store;
    this.#onBehind = onBehind;
  }

  async task(id: TaskId): Promise<StoredTask | undefined> {
    const known = this.#tail.task(id);
    if (known.isKnown) return known.value;
    const { tasks, through } = await this.#ask(() => this.#store.tasks([id], false));
    return this.#tail.over(tasks[0], id, through);
  }

  async body(id: TaskId, part: BodyPart): Promise<Body | undefined> {
    const body = bodyIn(await this.task(id), part);
    if (body === undefined || body.bytes !== undefined) return body;
    const bytes = await this.#store.bodyBytes(id, part, body.size);
    return bytes && { ...body, bytes };
  }

  async memo(door: string, name: string): Promise<Uint8Array | undefined> {
    const known = this.#tail.memo(door, name);
    return known.isKnown ? known.value : await this.#store.memo(door, name);
  }

  /** Throws CursorMismatch. */
  async find(query: TaskQuery): Promise<TaskPage> {
    const items: StoredTask[] = [];
    let below = startOf(query);
    for (let page: StoredTasks | undefined; ; ) {
      const cursor = page?.cursor ?? query.cursor;
      const from = cursor === undefined ? query : { ...query, cursor };
      // Noted before and after the search: the store may take over batches about these tasks while
      // it searches, after it has passed their ids.
      const ids = this.#tail.touched(below);
      page = await this.#ask(() => this.#store.find(from));
      // Unless there are no more pages, the store has not looked below the last task of this one.
      const floor = page.cursor === undefined ? 0 : (page.tasks.at(-1)?.head.id ?? 0);
      for (const id of this.#tail.touched(below)) ids.add(id);
      for (const id of ids) if (id < floor) ids.delete(id);
      await this.#take(query, page, ids, items);
      const last = items.at(-1);
      if (items.length === query.limit && last !== undefined)
        return { items, cursor: cursorBelow(last.head.id, query) };
      if (page.cursor === undefined) return { items, cursor: undefined };
      below = floor;
    }
  }

  /** Adds the matches of a page and among tasks of the tail, newest first, up to the limit. */
  async #take(
    query: TaskQuery,
    { tasks, through }: StoredTasks,
    touched: ReadonlySet<TaskId>,
    items: StoredTask[],
  ): Promise<void> {
    // At once: while more is read, the store may take over what is to be laid over these.
    const known = new Map(tasks.map(({ head: { id } }, at) => [id, this.#tail.over(tasks[at], id, through)]));
    const order = [...new Set([...touched, ...known.keys()])].sort((one, other) => other - one);
    for (let at = 0; at < order.length && items.length < query.limit; at += tasksAtOnce) {
      const some = order.slice(at, at + tasksAtOnce);
      for (const task of await this.#present(some, known)) {
        if (items.length < query.limit && isAskedFor(query, task.head, task.progress)) items.push(task);
      }
    }
  }

  /** These tasks as they are now, in the same order. `known`: some of them. */
  async #present(
    ids: readonly TaskId[],
    known: ReadonlyMap<TaskId, StoredTask | undefined>,
  ): Promise<StoredTask[]> {
    const present = new Map(known);
    const missing: TaskId[] = [];
    for (const id of ids) {
      if (known.has(id)) continue;
      const fromTail = this.#tail.task(id);
      if (fromTail.isKnown) present.set(id, fromTail.value);
      else missing.push(id);
    }
    if (missing.length > 0) {
      const { tasks, through } = await this.#ask(() => this.#store.tasks(missing, true));
      const found = new Map(tasks.map((task) => [task.head.id, task]));
      for (const id of missing) present.set(id, this.#tail.over(found.get(id), id, through));
    }
    return ids.flatMap((id) => present.get(id) ?? []);
  }

  /** Asks again if the tail has dropped a batch that the answer does not have. */
  async #ask(question: () => Promise<StoredTasks>): Promise<StoredTasks> {
    for (let tries = 0; tries < triesMax; tries++) {
      const answer = await question();
      if (answer.through >= this.#tail.storedThrough) return answer;
      await this.#onBehind(answer.through);
    }
    throw new Error("the store answers without batches that it has taken over");
  }
}

function bodyIn(task: StoredTask | undefined, part: BodyPart): Body | undefined {
  return part === "payload" ? task?.head.payload : task?.progress?.result;
}
