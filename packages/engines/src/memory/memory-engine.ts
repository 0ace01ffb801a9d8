// The engine that keeps everything in memory: a commit is done at once, and survives the engine
// object but not the process. It is for tests, the simulator, and yards whose tasks need not
// survive a restart.

import assert from "node:assert/strict";
import type { Body, StoredTask, TaskId } from "@yardmaster/core";
import type {
  Batch,
  BodyPart,
  CommitOutcome,
  Engine,
  LoadItem,
  Opened,
  TaskPage,
  TaskQuery,
} from "../engine.js";
import { MemoryStore } from "./memory-store.js";
import { findTasks } from "./task-search.js";

export class MemoryEngine implements Engine {
  readonly name = "memory";
  readonly durability = "memory";
  /** Everything is in memory, so an out-of-line body would save nothing. */
  readonly inlineBytesMax: number = Number.POSITIVE_INFINITY;
  readonly minBatchIntervalMs: number = 0;
  readonly #store: MemoryStore;
  /** 0 while it is not open. */
  #epoch = 0;

  constructor(store = new MemoryStore()) {
    this.#store = store;
  }

  async open(): Promise<Opened> {
    assert.equal(this.#epoch, 0, "the engine is open already");
    this.#epoch = this.#store.takeOver();
    return { epoch: this.#epoch };
  }

  async load(take: (item: LoadItem) => void): Promise<void> {
    this.#assertOpen();
    this.#store.load(take);
  }

  async commit(batch: Batch): Promise<CommitOutcome> {
    this.#assertOpen();
    assert.equal(batch.epoch, this.#epoch, "the batch is of another epoch than the engine's");
    if (this.#isFenced()) return fenced(this.#epoch, this.#store.epoch);
    if (batch.number <= this.#store.lastBatch) return done;
    assert.equal(batch.number, this.#store.lastBatch + 1, "a batch number was left out");
    for (const change of batch.changes) this.#store.apply(change);
    this.#store.lastBatch = batch.number;
    return done;
  }

  async putBody(task: TaskId, part: BodyPart, body: Body): Promise<void> {
    this.#assertOpen();
    assert.equal(body.bytes?.length, body.size, "a body is put with all its bytes");
    if (!this.#isFenced()) this.#store.putBody(task, part, body);
  }

  async dropBody(task: TaskId, part: BodyPart): Promise<void> {
    this.#assertOpen();
    if (!this.#isFenced()) this.#store.dropBody(task, part);
  }

  async body(task: TaskId, part: BodyPart): Promise<Body | undefined> {
    this.#assertOpen();
    return this.#store.body(task, part);
  }

  async memo(door: string, name: string): Promise<Uint8Array | undefined> {
    this.#assertOpen();
    return this.#store.memo(door, name);
  }

  async task(id: TaskId): Promise<StoredTask | undefined> {
    this.#assertOpen();
    return this.#store.task(id);
  }

  async find(query: TaskQuery): Promise<TaskPage> {
    this.#assertOpen();
    assert.ok(query.limit >= 1, "a page has room for at least one task");
    return findTasks(this.#store.tasks, query);
  }

  async close(): Promise<void> {
    this.#epoch = 0;
  }

  #isFenced(): boolean {
    return this.#store.epoch !== this.#epoch;
  }

  #assertOpen(): void {
    assert.notEqual(this.#epoch, 0, "the engine is not open");
  }
}

const done: CommitOutcome = { type: "done" };

function fenced(own: number, owner: number): CommitOutcome {
  return { type: "fenced", message: `epoch ${owner} has the store; this engine opened it in epoch ${own}` };
}
