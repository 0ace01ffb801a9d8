// Answers the engine's requests from the store. Commits run at once. Long work (a search, a large
// body, the load) runs in slices, and commits run between them.

import { existsSync } from "node:fs";
import type { TaskId } from "@yardmaster/core";
import { Batch } from "../durable/batches.js";
import type { TaskQuery } from "../engine.js";
import { BadRecord, RecordWriter } from "../records/index.js";
import { accountForFile } from "./file-account.js";
import { LookAhead } from "./look-ahead.js";
import { Store, type StoreOptions } from "./store.js";
import { pieceBytes } from "./store-bodies.js";
import { makeStoreFile } from "./store-file.js";
import {
  type Answer,
  type Answered,
  type Asked,
  type BatchGroup,
  type Failure,
  groupBytes,
  type Request,
} from "./store-messages.js";

/** Maximum time for which a slice delays a commit. */
const sliceMs = 2;
/** Bytes of a body read in one slice. */
const bodySliceBytes = 16 * pieceBytes;
/**
 * Size of one part of the load. It is small, because one waiting payload keeps its whole part in
 * memory.
 */
const loadPartBytes = 256 * 1024;
const loadPartItems = 256;
/** Maximum number of parts that were sent and not yet processed. */
const loadPartsMax = 4;
/** Idle time before trimmed segments are swept. */
const idleMs = 5;

export type Post = (answered: Answered, transferred: ArrayBuffer[]) => void;

export class StoreService {
  readonly #post: Post;
  readonly #guard: Pick<StoreOptions, "guard">;
  #store: Store | undefined;
  #partsUnderWay = 0;
  #onPartTaken: (() => void) | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #isLoading = false;
  readonly #lookAhead = new LookAhead();
  /** Buffers for groups, for reuse. */
  readonly #arenas: Buffer[] = [];

  constructor(post: Post, guard: Pick<StoreOptions, "guard"> = {}) {
    this.#post = post;
    this.#guard = guard;
  }

  handle({ id, request }: Asked): void {
    try {
      this.#handle(id, request);
    } catch (error) {
      this.#fail(id, error);
    }
    this.#sweepWhenIdle();
  }

  #handle(id: number, request: Request): void {
    switch (request.op) {
      case "open":
        return this.#inSlices(id, this.#open(id, request));
      case "commit":
        return this.#commit(id, request);
      case "put-bodies":
        this.store.putBodies(request.stretches);
        return this.#answer(id, { type: "nothing" });
      case "body":
        return this.#inSlices(id, this.#readBody(id, request));
      case "memo":
        return this.#readMemo(id, request);
      case "tasks":
        return this.#readTasks(id, request);
      case "find":
        return this.#inSlices(id, this.#find(id, request.query));
      case "load":
        return this.#inSlices(id, this.#load(id));
      case "taken":
        this.#partsUnderWay -= 1;
        return this.#onPartTaken?.();
      case "close":
        return this.#inSlices(id, this.#close(id));
      default:
        request satisfies never;
    }
  }

  #commit(id: number, { group, isAll }: Extract<Request, { op: "commit" }>): void {
    const { ready, next } = this.#lookAhead.take(group && this.#keep(group), isAll);
    const taken = ready.flat();
    if (isAll || taken.length > 0) this.store.commit(taken, next);
    for (const [first] of ready) if (first?.bytes.length === groupBytes) this.#arenas.push(first.bytes);
    this.#answer(id, { type: "committed", through: taken.at(-1)?.number ?? 0 });
  }

  /** Copies the group out of shared memory, from which LMDB cannot read. */
  #keep({ bytes, batches }: BatchGroup): Batch[] {
    const end = batches.at(-1)?.end ?? 0;
    const own =
      end > groupBytes
        ? Buffer.allocUnsafeSlow(end)
        : (this.#arenas.pop() ?? Buffer.allocUnsafeSlow(groupBytes));
    own.set(new Uint8Array(bytes, 0, end));
    return batches.map((place) => new Batch(place.number, { ...place, bytes: own }));
  }

  get store(): Store {
    if (this.#store === undefined) throw new Error("the store is not open");
    return this.#store;
  }

  async #open(id: number, request: Extract<Request, { op: "open" }>): Promise<void> {
    const { path, durability, transaction, journal } = request;
    if (existsSync(path)) accountForFile(path, transaction);
    else await makeStoreFile(path);
    const store = new Store({ path, durability, ...this.#guard });
    try {
      const epoch = store.takeOver(journal);
      this.#store = store;
      const damaged = store.tasks.faults.found.splice(0);
      const tasks = store.tasks.index.counts().live;
      const { lastTask } = store.end;
      this.#post({ id, answer: { type: "opened", epoch, tasks, lastTask }, damaged }, []);
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  async #close(id: number): Promise<void> {
    clearTimeout(this.#idleTimer);
    const store = this.#store;
    this.#store = undefined;
    await store?.close();
    this.#answer(id, { type: "nothing" });
  }

  async #find(id: number, query: TaskQuery): Promise<void> {
    const search = this.store.search(query);
    for (;;) {
      const end = performance.now() + sliceMs;
      if (search.step(() => performance.now() > end)) break;
      await nextTurn();
    }
    this.#tasks(id, search.found, { cursor: search.cursor, damaged: [...search.damaged] });
  }

  /** The record that refers to the body may still be in the tail. */
  async #readBody(id: number, { task, part, size }: Extract<Request, { op: "body" }>): Promise<void> {
    const { tasks, bodies } = this.store;
    const bytes = new Uint8Array(size);
    const wasHere = tasks.isThere(task);
    for (let at = 0; at < size; ) {
      // The task was evicted while its body was read.
      if (wasHere && !tasks.isThere(task)) return this.#answer(id, { type: "nothing" });
      at = bodies.read(task, part, bytes, at, bodySliceBytes);
      await nextTurn();
    }
    this.#answer(id, { type: "bytes", bytes: bytes.buffer }, [bytes.buffer]);
  }

  #readMemo(id: number, { door, name }: Extract<Request, { op: "memo" }>): void {
    const found = this.store.memos.bytesOf(door, name);
    if (found === undefined) return this.#answer(id, { type: "nothing" });
    const bytes = found.buffer as ArrayBuffer;
    this.#answer(id, { type: "bytes", bytes }, [bytes]);
  }

  async #load(id: number): Promise<void> {
    const { store } = this;
    this.#isLoading = true;
    let part = new RecordWriter({ size: loadPartBytes });
    for (const task of store.tasks.liveTasks()) {
      store.tasks.loadTo(part, task);
      if (part.at < loadPartBytes * 0.9) continue;
      await this.#sendPart(id, this.#tasksIn(part));
      part = new RecordWriter({ size: loadPartBytes });
    }
    await this.#sendPart(id, this.#tasksIn(part));
    store.tasks.endLoad();
    let items = [];
    for (const item of store.loadOthers()) {
      items.push(item);
      if (items.length < loadPartItems) continue;
      await this.#sendPart(id, { type: "items", items });
      items = [];
    }
    await store.reopen();
    this.#isLoading = false;
    this.#answer(id, { type: "items", items: [...items, store.end] });
  }

  async #sendPart(id: number, answer: Answer): Promise<void> {
    while (this.#partsUnderWay >= loadPartsMax) {
      await new Promise<void>((resolve) => {
        this.#onPartTaken = resolve;
      });
    }
    this.#partsUnderWay += 1;
    this.#post({ id, answer, more: true }, "bytes" in answer ? [answer.bytes] : []);
  }

  #readTasks(id: number, { tasks, isLenient }: Extract<Request, { op: "tasks" }>): void {
    const damaged: string[] = [];
    this.#tasks(id, tasks, { damaged, isLenient });
  }

  #tasks(
    id: number,
    ids: readonly TaskId[],
    {
      cursor,
      damaged,
      isLenient = false,
    }: { cursor?: string | undefined; damaged: string[]; isLenient?: boolean },
  ): void {
    const to = new RecordWriter({ size: 1024 });
    for (const task of ids) {
      const start = to.at;
      try {
        this.store.tasks.copyTo(to, task);
      } catch (error) {
        if (!isLenient || !(error instanceof BadRecord)) throw error;
        to.at = start;
        damaged.push(error.message);
      }
    }
    const answer = this.#tasksIn(to);
    const answered = { id, answer: cursor === undefined ? answer : { ...answer, cursor } };
    this.#post(damaged.length > 0 ? { ...answered, damaged } : answered, [answer.bytes]);
  }

  #tasksIn({ bytes: { buffer }, at }: RecordWriter): Extract<Answer, { type: "tasks" }> {
    return { type: "tasks", bytes: buffer, length: at, through: this.store.lastBatch };
  }

  #inSlices(id: number, work: Promise<void>): void {
    work.catch((error: unknown) => this.#fail(id, error));
  }

  #sweepWhenIdle(): void {
    clearTimeout(this.#idleTimer);
    if (this.#store?.isMoreToSweep !== true || this.#isLoading) return;
    this.#idleTimer = setTimeout(() => {
      try {
        this.#store?.sweep();
      } catch {
        // The next commit meets the same fault and reports it.
        return;
      }
      this.#sweepWhenIdle();
    }, idleMs);
  }

  #answer(id: number, answer: Answer, transferred: ArrayBuffer[] = []): void {
    this.#post({ id, answer }, transferred);
  }

  #fail(id: number, error: unknown): void {
    const { name, message, code } = error as Error & { code?: number | string };
    const failure: Failure = { name, message, code };
    this.#answer(id, { type: "failed", failure });
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
