// The committed state of the memory engine. It outlives the engine object as a disk outlives a
// process: to simulate a crash, drop the engine and open another on the same store. Records of live
// tasks are held by reference, since the core shares its immutable heads. Those of settled tasks
// are packed.

import type {
  Body,
  Change,
  DoorRecord,
  KeyRecord,
  MemoRecord,
  QueueRecord,
  StoredTask,
  TaskHead,
  TaskId,
  TaskProgress,
} from "@yardmaster/core";
import { type BodyPart, type LoadItem, loadedMemoBytesMax } from "../engine.js";
import { lastPlaces } from "../lane-marks.js";
import { History } from "./history.js";
import { TaskPages } from "./task-pages.js";

export class MemoryStore {
  /** The current owner's epoch; 0 before the first. */
  epoch = 0;
  /** The last batch of this epoch that was applied. */
  lastBatch = 0;
  readonly #history = new History();
  readonly tasks = new TaskPages((settled) => this.#history.read(settled));
  /** The highest id ever put, evicted or not. */
  #lastTask: TaskId | 0 = 0;
  /** By queue, then by key. */
  readonly #keys = new Map<string, Map<string, KeyRecord>>();
  readonly #queues = new Map<string, QueueRecord>();
  readonly #doors = new Map<string, DoorRecord>();
  /** By door, then by name. */
  readonly #memos = new Map<string, Map<string, MemoRecord>>();
  readonly #bodies = new Map<TaskId, Partial<Record<BodyPart, Body>>>();

  /** Starts a new owner and returns its epoch. Bodies without a reference are deleted. */
  takeOver(): number {
    this.lastBatch = 0;
    for (const [id, parts] of this.#bodies) {
      if (parts.payload && !this.#isOutOfLine(id, "payload")) delete parts.payload;
      if (parts.result && !this.#isOutOfLine(id, "result")) delete parts.result;
      if (!parts.payload && !parts.result) this.#bodies.delete(id);
    }
    return ++this.epoch;
  }

  apply(change: Change): void {
    switch (change.kind) {
      case "head":
        this.#putHead(change.head);
        break;
      case "progress":
        this.#putProgress(change.progress);
        break;
      case "key":
        this.#putKey(change.key);
        break;
      case "key-gone":
        this.#deleteKey(change.queue, change.key, change.task);
        break;
      case "queue":
        this.#queues.set(change.queue.name, change.queue);
        break;
      case "queue-gone":
        this.#queues.delete(change.name);
        break;
      case "door":
        this.#doors.set(change.door.name, change.door);
        break;
      case "memo":
        this.#putMemo(change.memo);
        break;
      case "memo-gone":
        this.#memos.get(change.door)?.delete(change.name);
        break;
      case "history-trimmed":
        this.#trim(change.through);
        break;
      default:
        change satisfies never;
    }
  }

  load(take: (item: LoadItem) => void): void {
    this.tasks.forEachUnsettled((head, progress) => {
      take({ type: "task", task: { head, progress } });
    });
    for (const keys of this.#keys.values()) for (const key of keys.values()) take({ type: "key", key });
    for (const queue of this.#queues.values()) take({ type: "queue", queue });
    for (const door of this.#doors.values()) take({ type: "door", door });
    for (const memos of this.#memos.values()) for (const memo of memos.values()) take(memoItem(memo));
    for (const segment of this.#history.segments()) take({ type: "segment", segment });
    take({ type: "end", lastTask: this.#lastTask, ...lastPlaces(this.#history.lastSettled) });
  }

  task(id: TaskId): StoredTask | undefined {
    return this.tasks.task(id);
  }

  memo(door: string, name: string): Uint8Array | undefined {
    return this.#memos.get(door)?.get(name)?.bytes;
  }

  putBody(id: TaskId, part: BodyPart, body: Body): void {
    this.#bodies.set(id, { ...this.#bodies.get(id), [part]: body });
  }

  dropBody(id: TaskId, part: BodyPart): void {
    const parts = this.#bodies.get(id);
    if (parts !== undefined) delete parts[part];
  }

  body(id: TaskId, part: BodyPart): Body | undefined {
    return this.#isOutOfLine(id, part) ? this.#bodies.get(id)?.[part] : this.#referred(id, part);
  }

  #putHead(head: TaskHead): void {
    const settled = this.tasks.entry(head.id);
    const progress = typeof settled === "number" ? this.#takeBack(settled).progress : undefined;
    this.tasks.putHead(head);
    if (progress !== undefined) this.#settle(head, progress);
    if (head.id > this.#lastTask) this.#lastTask = head.id;
  }

  #putProgress(progress: TaskProgress): void {
    const entry = this.tasks.entry(progress.id);
    // The task was evicted, so the progress changes nothing.
    if (entry === undefined) return;
    const head = typeof entry === "number" ? this.#takeBack(entry, progress).head : entry;
    if (progress.settled > 0) {
      this.#settle(head, progress);
      return;
    }
    if (head !== entry) this.tasks.putHead(head);
    this.tasks.putProgress(progress);
  }

  #settle(head: TaskHead, progress: TaskProgress): void {
    this.#history.enter(head, progress);
    this.tasks.settle(head.id, progress.settled);
  }

  /** Takes a settled task out of history, because its record is about to be replaced. */
  #takeBack(settled: number, next?: TaskProgress): StoredTask {
    const task = this.#history.read(settled);
    const isReplaced = next?.settled === settled && next.finishedAt === task.progress?.finishedAt;
    this.#history.leave(settled, isReplaced);
    return task;
  }

  #putMemo(memo: MemoRecord): void {
    let memos = this.#memos.get(memo.door);
    if (!memos) {
      memos = new Map();
      this.#memos.set(memo.door, memos);
    }
    memos.set(memo.name, memo);
  }

  #putKey(record: KeyRecord): void {
    const keys = this.#keys.get(record.queue);
    if (keys) keys.set(record.key, record);
    else this.#keys.set(record.queue, new Map([[record.key, record]]));
  }

  /** A newer task may own the key by now; its record stays. */
  #deleteKey(queue: string, key: string, owner: TaskId): void {
    const keys = this.#keys.get(queue);
    if (keys?.get(key)?.task !== owner) return;
    keys.delete(key);
    if (keys.size === 0) this.#keys.delete(queue);
  }

  #trim(through: number): void {
    for (const id of this.#history.takeThrough(through)) {
      this.tasks.delete(id);
      this.#bodies.delete(id);
    }
  }

  /** The body as in the task's record, with or without its bytes. */
  #referred(id: TaskId, part: BodyPart): Body | undefined {
    const task = this.tasks.task(id);
    return part === "payload" ? task?.head.payload : task?.progress?.result;
  }

  /** True if a record refers to a body without containing its bytes. */
  #isOutOfLine(id: TaskId, part: BodyPart): boolean {
    const body = this.#referred(id, part);
    return body !== undefined && body.bytes === undefined;
  }
}

/** The memo in a load: a large one without its bytes. */
function memoItem(memo: MemoRecord): LoadItem {
  const { door, name, bytes } = memo;
  if (bytes.length <= loadedMemoBytesMax) return { type: "memo", memo };
  return { type: "large-memo", door, name, size: bytes.length };
}
