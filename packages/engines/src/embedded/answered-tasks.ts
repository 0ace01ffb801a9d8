// Decodes answers of the store's thread. A task is two records, each behind its length.

import assert from "node:assert/strict";
import type { StoredTask } from "@yardmaster/core";
import type { StoredTasks } from "../durable/tail-reads.js";
import type { LoadItem } from "../engine.js";
import { RecordReader, readHead, readProgress } from "../records/index.js";
import type { Answer } from "./store-messages.js";

/** Passes on every item of a part of the load, with its own copy of the bytes. */
export function takePart(part: Answer, take: (item: LoadItem) => void): void {
  if (part.type === "items") for (const item of part.items) take(item);
  else for (const task of tasksOf(part, copyingReader)) take({ type: "task", task });
}

/** Byte fields are views of the answer's buffer. */
const viewingReader = new RecordReader();
/**
 * Loaded tasks stay in memory, and views would keep the whole part, of which payloads are less than
 * half.
 */
const copyingReader = new RecordReader({ copies: true });

/** The tasks of an answer. Their bytes are views of the answer's buffer. */
export function tasksIn(answer: Answer): StoredTasks {
  assert.equal(answer.type, "tasks");
  const { through, cursor } = answer;
  return { tasks: [...tasksOf(answer, viewingReader)], through, cursor };
}

export function bytesIn(answer: Answer): Uint8Array | undefined {
  return answer.type === "bytes" ? new Uint8Array(answer.bytes) : undefined;
}

function* tasksOf(answer: Answer, reader: RecordReader): Generator<StoredTask> {
  if (answer.type !== "tasks") return;
  const bytes = Buffer.from(answer.bytes);
  for (let at = 0; at < answer.length; ) {
    const headEnd = at + 4 + bytes.readUInt32LE(at);
    reader.begin(bytes, at + 4, headEnd);
    const head = readHead(reader);
    const end = headEnd + 4 + bytes.readUInt32LE(headEnd);
    at = end;
    if (end === headEnd + 4) {
      yield { head, progress: undefined };
      continue;
    }
    reader.begin(bytes, headEnd + 4, end);
    yield { head, progress: readProgress(reader) };
  }
}
