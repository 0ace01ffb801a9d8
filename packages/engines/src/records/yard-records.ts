// The records that belong to no task: keys, queues, doors, memos and segments of history. Also the
// changes that delete, which are written only on their way to the store.

import type {
  Change,
  DoorRecord,
  HistorySegment,
  KeyRecord,
  MemoRecord,
  QueueRecord,
  TaskId,
  WallTime,
} from "@yardmaster/core";
import { BadRecord, recordKinds } from "./record-form.js";
import type { RecordReader } from "./record-reader.js";
import type { RecordWriter } from "./record-writer.js";
import { readHead, readProgress, writeHead, writeProgress } from "./task-records.js";

export function writeKey(to: RecordWriter, record: KeyRecord): number {
  const start = to.begin(recordKinds.key);
  to.string(record.queue);
  to.string(record.key);
  to.number(record.task);
  to.number(record.finishedAt);
  to.byte(record.fingerprint === undefined ? 0 : 1);
  if (record.fingerprint !== undefined) to.string(record.fingerprint);
  return start;
}

export function readKey(from: RecordReader): KeyRecord {
  const queue = from.name();
  const key = from.string();
  const task = from.number() as TaskId;
  const finishedAt = from.number() as WallTime;
  const fingerprint = from.byte() === 0 ? undefined : from.string();
  from.finish();
  return { queue, key, task, fingerprint, finishedAt };
}

export function writeQueue(to: RecordWriter, { name, paused, draining }: QueueRecord): number {
  const start = to.begin(recordKinds.queue);
  to.string(name);
  to.byte((paused ? 1 : 0) | (draining ? 2 : 0));
  return start;
}

export function readQueue(from: RecordReader): QueueRecord {
  const name = from.name();
  const bits = from.byte();
  from.finish();
  return { name, paused: (bits & 1) !== 0, draining: (bits & 2) !== 0 };
}

export function writeDoor(to: RecordWriter, { name, incarnation, mark }: DoorRecord): number {
  const start = to.begin(recordKinds.door);
  to.string(name);
  to.number(incarnation);
  to.number(mark);
  return start;
}

export function readDoor(from: RecordReader): DoorRecord {
  const record = { name: from.name(), incarnation: from.number(), mark: from.number() };
  from.finish();
  return record;
}

export function writeMemo(to: RecordWriter, { door, name, bytes }: MemoRecord): number {
  const start = to.begin(recordKinds.memo);
  to.string(door);
  to.string(name);
  to.blob(bytes);
  return start;
}

export function readMemo(from: RecordReader): MemoRecord {
  const record = { door: from.name(), name: from.string(), bytes: from.blob() };
  from.finish();
  return record;
}

export function writeSegment(to: RecordWriter, segment: HistorySegment): number {
  const start = to.begin(recordKinds.segment);
  to.number(segment.index);
  to.number(segment.count);
  to.number(segment.bytes);
  to.number(segment.lastFinishedAt);
  return start;
}

/**
 * Leaves the reader after the sums: an engine may store more of a segment, and reads that itself.
 */
export function readSegment(from: RecordReader): HistorySegment {
  return {
    index: from.number(),
    count: from.number(),
    bytes: from.number(),
    lastFinishedAt: from.number() as WallTime,
  };
}

/** Writes any change, a put or a delete, and returns its offset. */
export function writeChange(to: RecordWriter, change: Change): number {
  switch (change.kind) {
    case "head":
      return writeHead(to, change.head);
    case "progress":
      return writeProgress(to, change.progress);
    case "key":
      return writeKey(to, change.key);
    case "queue":
      return writeQueue(to, change.queue);
    case "door":
      return writeDoor(to, change.door);
    case "memo":
      return writeMemo(to, change.memo);
    case "key-gone":
      return writeGone(to, recordKinds.keyGone, change.queue, change.key, change.task);
    case "queue-gone":
      return writeGone(to, recordKinds.queueGone, change.name);
    case "memo-gone":
      return writeGone(to, recordKinds.memoGone, change.door, change.name);
    case "history-trimmed":
      return writeGone(to, recordKinds.historyTrimmed, change.through);
    default:
      return change satisfies never;
  }
}

/** Reads the change at this offset. */
export function readChange(from: RecordReader, bytes: Buffer, start: number, end: number): Change {
  from.begin(bytes, start, end);
  const kind = bytes[start + 5];
  switch (kind) {
    case recordKinds.head:
      return { kind: "head", head: readHead(from) };
    case recordKinds.progress:
      return { kind: "progress", progress: readProgress(from) };
    case recordKinds.key:
      return { kind: "key", key: readKey(from) };
    case recordKinds.queue:
      return { kind: "queue", queue: readQueue(from) };
    case recordKinds.door:
      return { kind: "door", door: readDoor(from) };
    case recordKinds.memo:
      return { kind: "memo", memo: readMemo(from) };
    case recordKinds.keyGone:
      return { kind: "key-gone", queue: from.name(), key: from.string(), task: from.number() as TaskId };
    case recordKinds.queueGone:
      return { kind: "queue-gone", name: from.name() };
    case recordKinds.memoGone:
      return { kind: "memo-gone", door: from.name(), name: from.string() };
    case recordKinds.historyTrimmed:
      return { kind: "history-trimmed", through: from.number() };
    default:
      throw new BadRecord(`no change has the kind ${kind}`);
  }
}

function writeGone(
  to: RecordWriter,
  kind: Parameters<RecordWriter["begin"]>[0],
  ...fields: readonly (string | number)[]
): number {
  const start = to.begin(kind);
  for (const field of fields) {
    if (typeof field === "string") to.string(field);
    else to.number(field);
  }
  return start;
}
