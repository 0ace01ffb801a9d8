// One owner of the store under test: an open engine, its epoch, and the number of its batches. What
// it reads is brought into one plain form, because engines may differ in irrelevant details: absent
// or undefined, Buffer or Uint8Array.

import assert from "node:assert/strict";
import type { Change, StoredTask, TaskId } from "@yardmaster/core";
import type { BodyPart, CommitOutcome, Engine, LoadItem, TaskQuery } from "../engine.js";

/** One store, for the duration of a test. */
export interface EngineSite {
  /** A new engine object on the same store, not yet open. */
  open(): Promise<Engine>;
  destroy(): Promise<void>;
}

/** Makes the next owner of the test's store. */
export type Take = () => Promise<Owner>;

export interface Loaded {
  /** In the order of arrival. */
  readonly tasks: readonly StoredTask[];
  /** Everything else except `end`, in sorted order. */
  readonly others: readonly LoadItem[];
  readonly lastTask: number;
  readonly lastSettled: number;
  readonly lanes?: readonly number[];
}

export class Owner {
  readonly engine: Engine;
  readonly epoch: number;
  #batches = 0;

  private constructor(engine: Engine, epoch: number) {
    this.engine = engine;
    this.epoch = epoch;
  }

  static async take(site: EngineSite): Promise<Owner> {
    const engine = await site.open();
    const { epoch } = await engine.open();
    return new Owner(engine, epoch);
  }

  /** Commits the next batch, which must succeed. */
  async commit(...changes: Change[]): Promise<void> {
    assert.deepEqual(await this.offer(changes), { type: "done" });
  }

  /** Offers the next batch. */
  offer(changes: readonly Change[]): Promise<CommitOutcome> {
    this.#batches++;
    return this.again(this.#batches, changes);
  }

  /** Offers a batch with a number that the test chooses. */
  again(number: number, changes: readonly Change[]): Promise<CommitOutcome> {
    return this.engine.commit({ epoch: this.epoch, number, changes });
  }

  async load(): Promise<unknown> {
    const items: LoadItem[] = [];
    await this.engine.load((item) => items.push(item));
    const end = items.pop();
    assert.ok(end?.type === "end", "the last item is the end");
    const tasks = items.flatMap((item) => (item.type === "task" ? [item.task] : []));
    const others = items.filter((item) => item.type !== "task");
    const { type: _, ...last } = end;
    return loadedForm({ tasks, others, ...last });
  }

  async task(id: number): Promise<unknown> {
    return plain(await this.engine.task(id as TaskId));
  }

  async body(id: number, part: BodyPart): Promise<unknown> {
    return plain(await this.engine.body(id as TaskId, part));
  }

  /** The ids of all pages. Each page must respect the limit. */
  async ids(query: TaskQuery): Promise<number[]> {
    return (await this.findAll(query)).map((task) => task.head.id);
  }

  async findAll(query: TaskQuery): Promise<StoredTask[]> {
    const found: StoredTask[] = [];
    let next: TaskQuery | undefined = query;
    while (next) {
      const { items, cursor } = await this.engine.find(next);
      assert.ok(items.length <= query.limit, "a page keeps the limit");
      assert.ok(cursor === undefined || items.length > 0, "a page that found nothing is the last");
      found.push(...items);
      next = cursor === undefined ? undefined : { ...query, cursor };
    }
    return found;
  }
}

/** The result of `Owner.load` for this state, and of the model, in the same form. */
export function loadedForm(loaded: Loaded): unknown {
  const others = loaded.others.map((item) => JSON.stringify(plain(item))).sort();
  return { ...loaded, tasks: plain(loaded.tasks), others };
}

/** The value without undefined fields, with bytes in hex and fields in a fixed order. */
export function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString("hex")}`;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(
    fields.sort(([one], [other]) => (one < other ? -1 : 1)).map(([k, v]) => [k, plain(v)]),
  );
}
