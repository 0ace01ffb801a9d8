// Answers the engine's requests out of a store. Commits are done at once; what may take long (a search, a large body, the
// load) is done in slices, between which commits come through.

import { existsSync } from "node:fs";
import type { TaskQuery } from "../engine.js";
import { RecordWriter } from "../records/index.js";
import { Batch } from "./batches.js";
import { accountForFile } from "./file-account.js";
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

/** How long a slice may hold up a commit. */
const sliceMs = 2;
/** Copied out of the file in one slice. */
const bodySliceBytes = 16 * pieceBytes;
/** Of one part of the load: small, because a payload that still waits keeps its whole part in memory. */
const loadPartBytes = 256 * 1024;
const loadPartItems = 256;
/** Parts of the load that are on their way at a time. */
const loadPartsMax = 4;
/** Most tasks that outlive their own group settle within the next two. */
const groupsAhead = 2;
/** How long nothing must have been asked for before what was trimmed is cleared away. */
const idleMs = 5;

export type Post = (answered: Answered, handedOver: ArrayBuffer[]) => void;

export class StoreService {
  readonly #post: Post;
  readonly #surroundings: Pick<StoreOptions, "guard" | "rest">;
  #store: Store | undefined;
  #partsUnderWay = 0;
  #onPartTaken: (() => void) | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #isLoading = false;
  /** Groups of batches that were given and are taken over when enough others are here: these tell what settles soon. */
  #kept: Batch[][] = [];
  /** Memory for groups, to be used again. */
  readonly #arenas: Buffer[] = [];

  constructor(post: Post, surroundings: Pick<StoreOptions, "guard" | "rest"> = {}) {
    this.#post = post;
    this.#surroundings = surroundings;
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
      case "put-body":
        this.store.putBody(request.task, request.part, request.from, new Uint8Array(request.bytes));
        return this.#answer(id, { type: "nothing" });
      case "body":
        return this.#inSlices(id, this.#readBody(id, request));
      case "task":
        return this.#tasks(id, [request.task]);
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
    if (group !== undefined) this.#kept.push(this.#keep(group));
    const ready = this.#kept.splice(0, isAll ? this.#kept.length : this.#kept.length - groupsAhead);
    const taken = ready.flat();
    if (isAll || taken.length > 0) this.store.commit(taken, this.#kept.flat());
    for (const [first] of ready) if (first?.bytes.length === groupBytes) this.#arenas.push(first.bytes);
    this.#answer(id, { type: "committed", through: taken.at(-1)?.number ?? 0 });
  }

  /** In memory of our own: LMDB knows no other. */
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
    const store = new Store({ path, durability, ...this.#surroundings });
    try {
      const epoch = store.takeOver(journal);
      this.#store = store;
      const damaged = store.tasks.damaged.splice(0);
      const tasks = store.tasks.index.counts().live;
      this.#post({ id, answer: { type: "opened", epoch, tasks }, damaged }, []);
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
    this.#tasks(id, search.found, search.cursor, search.damaged);
  }

  async #readBody(id: number, { task, part }: Extract<Request, { op: "body" }>): Promise<void> {
    const { tasks, bodies } = this.store;
    const stored = tasks.task(task);
    const body = part === "payload" ? stored?.head.payload : stored?.progress?.result;
    if (body === undefined) return this.#answer(id, { type: "nothing" });
    const bytes = new Uint8Array(body.size);
    if (body.bytes !== undefined) bytes.set(body.bytes);
    else {
      let at = 0;
      while (at < bytes.length) {
        if (!tasks.isThere(task)) return this.#answer(id, { type: "nothing" });
        at = bodies.read(task, part, bytes, at, bodySliceBytes);
        await nextTurn();
      }
    }
    this.#answer(id, { type: "body", mediaType: body.mediaType, bytes: bytes.buffer }, [bytes.buffer]);
  }

  async #load(id: number): Promise<void> {
    const { store } = this;
    this.#isLoading = true;
    let part = new RecordWriter({ size: loadPartBytes });
    for (const task of store.tasks.liveTasks()) {
      store.tasks.loadTo(part, task);
      if (part.at < loadPartBytes * 0.9) continue;
      await this.#sendPart(id, { type: "tasks", bytes: part.bytes.buffer, length: part.at });
      part = new RecordWriter({ size: loadPartBytes });
    }
    await this.#sendPart(id, { type: "tasks", bytes: part.bytes.buffer, length: part.at });
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

  #tasks(id: number, ids: Iterable<number>, cursor?: string, damaged: readonly string[] = []): void {
    const to = new RecordWriter({ size: 1024 });
    for (const task of ids) this.store.tasks.copyTo(to, task as never);
    const { buffer } = to.bytes;
    const answer = { type: "tasks", bytes: buffer, length: to.at } as const;
    const answered = { id, answer: cursor === undefined ? answer : { ...answer, cursor } };
    this.#post(damaged.length > 0 ? { ...answered, damaged } : answered, [buffer]);
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
        // Whatever it is, the next commit meets it too, and has somebody to tell.
        return;
      }
      this.#sweepWhenIdle();
    }, idleMs);
  }

  #answer(id: number, answer: Answer, handedOver: ArrayBuffer[] = []): void {
    this.#post({ id, answer }, handedOver);
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
