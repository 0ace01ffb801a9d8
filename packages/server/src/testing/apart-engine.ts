// For tests: an engine in memory that keeps large bodies apart from their records, as a disk does. A test can hold a
// read back, or make it fail.

import type { Body, Change, TaskId } from "@yardmaster/core";
import {
  type Batch,
  type BodyPart,
  type CommitOutcome,
  MemoryEngine,
  type MemoryStore,
} from "@yardmaster/engines";

export class ApartEngine extends MemoryEngine {
  override readonly inlineBytesMax: number;
  /** The tasks whose bodies were read, in order. */
  readonly read: TaskId[] = [];
  /** A read waits for this. */
  beforeRead: (task: TaskId) => Promise<void> = async () => {};

  constructor(inlineBytesMax: number, store?: MemoryStore) {
    super(store);
    this.inlineBytesMax = inlineBytesMax;
  }

  override commit(batch: Batch): Promise<CommitOutcome> {
    return super.commit({ ...batch, changes: batch.changes.map((change) => this.#recordOf(change)) });
  }

  override async body(task: TaskId, part: BodyPart): Promise<Body | undefined> {
    this.read.push(task);
    await this.beforeRead(task);
    return super.body(task, part);
  }

  #recordOf(change: Change): Change {
    if (change.kind === "head")
      return { kind: "head", head: { ...change.head, payload: this.#withoutBytes(change.head.payload) } };
    if (change.kind !== "progress" || change.progress.result === undefined) return change;
    const result = this.#withoutBytes(change.progress.result);
    return { kind: "progress", progress: { ...change.progress, result } };
  }

  #withoutBytes(body: Body): Body {
    return body.size <= this.inlineBytesMax ? body : { mediaType: body.mediaType, size: body.size };
  }
}
