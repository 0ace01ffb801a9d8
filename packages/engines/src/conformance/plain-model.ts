// The expected answers of an engine, computed in the slow and obvious way: maps, and a scan for
// each query. It shares no code with any engine.

import {
  type Change,
  type DoorRecord,
  type HistorySegment,
  historySegmentOf,
  type KeyRecord,
  type MemoRecord,
  type QueueRecord,
  type StoredTask,
  storedBytes,
  type TaskId,
  type WallTime,
} from "@yardmaster/core";
import { type LoadItem, loadedMemoBytesMax, type TaskQuery } from "../engine.js";
import { loadedForm } from "./owner.js";

export class PlainModel {
  #tasks = new Map<TaskId, StoredTask>();
  readonly #keys = new Map<string, KeyRecord>();
  readonly #queues = new Map<string, QueueRecord>();
  readonly #doors = new Map<string, DoorRecord>();
  readonly #memos = new Map<string, MemoRecord>();
  #lastTask = 0;
  #lastSettled: number[] = [0];

  has(id: TaskId): boolean {
    return this.#tasks.has(id);
  }

  task(id: TaskId): StoredTask | undefined {
    return this.#tasks.get(id);
  }

  apply(change: Change): void {
    switch (change.kind) {
      case "head": {
        const progress = this.#tasks.get(change.head.id)?.progress;
        this.#tasks.set(change.head.id, { head: change.head, progress });
        this.#lastTask = Math.max(this.#lastTask, change.head.id);
        break;
      }
      case "progress": {
        const head = this.#tasks.get(change.progress.id)?.head;
        if (!head) break;
        this.#tasks.set(head.id, { head, progress: change.progress });
        this.#noteSettled(change.progress.settled);
        break;
      }
      case "key":
        this.#keys.set(keyName(change.key), change.key);
        break;
      case "key-gone":
        if (this.#keys.get(keyName(change))?.task === change.task) this.#keys.delete(keyName(change));
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
        this.#memos.set(memoName(change.memo), change.memo);
        break;
      case "memo-gone":
        this.#memos.delete(memoName(change));
        break;
      case "history-trimmed":
        this.#tasks = new Map(
          [...this.#tasks].filter(
            ([, task]) =>
              !isSettled(task) ||
              laneOf(segmentOf(task)) !== laneOf(change.through) ||
              segmentOf(task) > change.through,
          ),
        );
        break;
      default:
        change satisfies never;
    }
  }

  #noteSettled(settled: number): void {
    const lane = laneOf(historySegmentOf(Math.max(1, settled)));
    for (let at = this.#lastSettled.length; at <= lane; at++) this.#lastSettled[at] = 0;
    this.#lastSettled[lane] = Math.max(this.#lastSettled[lane] ?? 0, settled);
  }

  #lastPlaces() {
    const [lastSettled = 0, ...lanes] = this.#lastSettled;
    return lanes.length === 0 ? { lastSettled } : { lastSettled, lanes: this.#lastSettled };
  }

  load(): unknown {
    const others: LoadItem[] = [
      ...[...this.#keys.values()].map((key) => ({ type: "key", key }) as const),
      ...[...this.#queues.values()].map((queue) => ({ type: "queue", queue }) as const),
      ...[...this.#doors.values()].map((door) => ({ type: "door", door }) as const),
      ...[...this.#memos.values()].map(memoItem),
      ...this.#segments().map((segment) => ({ type: "segment", segment }) as const),
    ];
    const tasks = this.#newestFirst()
      .filter((task) => !isSettled(task))
      .reverse();
    return loadedForm({ tasks, others, lastTask: this.#lastTask, ...this.#lastPlaces() });
  }

  find(query: TaskQuery): StoredTask[] {
    return this.#newestFirst().filter(({ head, progress }) => {
      const error = progress?.error;
      const texts = [`${head.id}`, head.key, error?.code];
      return (
        isOrAny(head.queue, query.queue) &&
        isOrAny(progress === undefined ? "waiting" : progress.state, query.state) &&
        isOrAny(head.door, query.door) &&
        isOrAny(progress?.worker, query.worker) &&
        head.submittedAt >= (query.since ?? 0) &&
        head.submittedAt < (query.until ?? Number.POSITIVE_INFINITY) &&
        (query.text === undefined ||
          texts.includes(query.text) ||
          (error !== undefined && error.message.indexOf(query.text) === 0) ||
          (error !== undefined && hasWords(error.message, query.text)))
      );
    });
  }

  #newestFirst(): StoredTask[] {
    return [...this.#tasks.values()].sort((one, other) => other.head.id - one.head.id);
  }

  #segments(): HistorySegment[] {
    const settled = this.#newestFirst().filter(isSettled);
    return [...new Set(settled.map(segmentOf))].map((index) => {
      const members = settled.filter((task) => segmentOf(task) === index);
      return {
        index,
        count: members.length,
        bytes: members.reduce((sum, task) => sum + storedBytes(task.head, task.progress?.result), 0),
        lastFinishedAt: Math.max(...members.map((task) => task.progress?.finishedAt ?? 0)) as WallTime,
      };
    });
  }
}

/** A large memo is loaded without its bytes. */
function memoItem(memo: MemoRecord): LoadItem {
  const { door, name, bytes } = memo;
  const isLarge = bytes.length > loadedMemoBytesMax;
  return isLarge ? { type: "large-memo", door, name, size: bytes.length } : { type: "memo", memo };
}

/** The expected result of a load after these changes. */
export function loadedAfter(...changes: Change[]): unknown {
  const model = new PlainModel();
  for (const change of changes) model.apply(change);
  return model.load();
}

function keyName({ queue, key }: { readonly queue: string; readonly key: string }): string {
  return JSON.stringify([queue, key]);
}

function memoName({ door, name }: { readonly door: string; readonly name: string }): string {
  return JSON.stringify([door, name]);
}

function isSettled(task: StoredTask): boolean {
  return task.progress !== undefined && task.progress.settled > 0;
}

function segmentOf(task: StoredTask): number {
  return historySegmentOf(task.progress?.settled ?? 0);
}

function isOrAny(actual: string | undefined, asked: string | undefined): boolean {
  return asked === undefined || actual === asked;
}

/** Written otherwise than the engines do it. */
function hasWords(message: string, text: string): boolean {
  const split = (words: string) =>
    words
      .toLowerCase()
      .split(/[^\p{L}\p{N}]+/u)
      .filter((each) => each !== "");
  const words = [...new Set(split(message))].slice(0, 24);
  const asked = split(text);
  return asked.length > 0 && asked.every((each) => words.some((word) => word.indexOf(each) === 0));
}

function laneOf(segment: number): number {
  return Math.floor(segment / 2 ** 36);
}
