// Tasks as they come from the store's thread: two records each, behind their lengths.

import type { StoredTask } from "@yardmaster/core";
import type { LoadItem } from "../engine.js";
import { RecordReader, readHead, readProgress } from "../records/index.js";
import type { Answer } from "./store-messages.js";

/** Everything in a part of the load, with bytes of its own. */
export function takePart(part: Answer, take: (item: LoadItem) => void): void {
  if (part.type === "items") for (const item of part.items) take(item);
  else for (const task of tasksOf(part, copyingReader)) take({ type: "task", task });
}

/** Their bytes are views of the answer's. */
const viewingReader = new RecordReader();
/** What is loaded stays: views would keep whole parts, of which payloads are the smaller half. */
const copyingReader = new RecordReader({ copies: true });

/** The tasks of an answer, whose bytes they share. */
export function viewedTasks(answer: Answer): Generator<StoredTask> {
  return tasksOf(answer, viewingReader);
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
