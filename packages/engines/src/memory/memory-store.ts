// What the memory engine has committed. It outlives the engine object as a disk outlives a process: a crash is to drop
// the engine and open another on the same store. Records of live tasks are held by
// reference, since the core shares its immutable heads; those of settled ones are packed.

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
import type { BodyPart, LoadItem } from "../engine.js";
import { History } from "./history.js";
import { TaskPages } from "./task-pages.js";

export class MemoryStore {
  /** Of the present owner; 0 before the first. */
  epoch = 0;
  /** The last batch of this epoch that was applied. */
  lastBatch = 0;
  readonly #history = new History();
  readonly tasks = new TaskPages((settled) => this.#history.read(settled));
  /** The greatest id ever put, trimmed or not. */
  #lastTask: TaskId | 0 = 0;
  /** By queue, then by key. */
  readonly #keys = new Map<string, Map<string, KeyRecord>>();
  readonly #queues = new Map<string, QueueRecord>();
  readonly #doors = new Map<string, DoorRecord>();
  /** By door, then by name. */
  readonly #memos = new Map<string, Map<string, MemoRecord>>();
  readonly #bodies = new Map<TaskId, Partial<Record<BodyPart, Body>>>();

  /** A new owner begins: its epoch. What an earlier one put and never referred to is cleared. */
  takeOver(): number {
    this.lastBatch = 0;
    for (const [id, parts] of this.#bodies) {
      if (parts.payload && !this.#isApart(id, "payload")) delete parts.payload;
      if (parts.result && !this.#isApart(id, "result")) delete parts.result;
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
    for (const memos of this.#memos.values()) for (const memo of memos.values()) take({ type: "memo", memo });
    for (const segment of this.#history.segments()) take({ type: "segment", segment });
    take({ type: "end", lastTask: this.#lastTask, lastSettled: this.#history.lastSettled });
  }

  task(id: TaskId): StoredTask | undefined {
    return this.tasks.task(id);
  }

  putBody(id: TaskId, part: BodyPart, body: Body): void {
    this.#bodies.set(id, { ...this.#bodies.get(id), [part]: body });
  }

  body(id: TaskId, part: BodyPart): Body | undefined {
    return this.#isApart(id, part) ? this.#bodies.get(id)?.[part] : this.#referred(id, part);
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
    // Trimmed: what comes after for it has nothing left to be about.
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

  /** A settled task whose record is about to be replaced. */
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

  /** The body as the task's record has it, with or without its bytes. */
  #referred(id: TaskId, part: BodyPart): Body | undefined {
    const task = this.tasks.task(id);
    return part === "payload" ? task?.head.payload : task?.progress?.result;
  }

  /** Whether a record refers to a body whose bytes are not in it. */
  #isApart(id: TaskId, part: BodyPart): boolean {
    const body = this.#referred(id, part);
    return body !== undefined && body.bytes === undefined;
  }
}
