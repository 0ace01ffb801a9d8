// For tests: an engine in memory that keeps large bodies outside their records, like a disk. A test
// can delay a read, a body or a commit, or make it fail.

import type { Body, Change, TaskId } from "@yardmaster/core";
import {
  type Batch,
  type BodyPart,
  type CommitOutcome,
  MemoryEngine,
  type MemoryStore,
} from "@yardmaster/engines";

export class OutOfLineEngine extends MemoryEngine {
  override readonly inlineBytesMax: number;
  /** The tasks whose bodies were read, in order. */
  readonly read: TaskId[] = [];
  /** Awaited before each read. */
  beforeRead: (task: TaskId) => Promise<void> = async () => {};
  /** Awaited before each body is stored. */
  beforePut: (task: TaskId) => Promise<void> = async () => {};
  /** Awaited before each commit. */
  beforeCommit: () => Promise<void> = async () => {};
  /** Bodies that were stored and not dropped, as `payload 1`. */
  readonly bodies = new Set<string>();

  constructor(inlineBytesMax: number, store?: MemoryStore) {
    super(store);
    this.inlineBytesMax = inlineBytesMax;
  }

  override async commit(batch: Batch): Promise<CommitOutcome> {
    await this.beforeCommit();
    return super.commit({ ...batch, changes: batch.changes.map((change) => this.#recordOf(change)) });
  }

  override async putBody(task: TaskId, part: BodyPart, body: Body): Promise<void> {
    await this.beforePut(task);
    this.bodies.add(`${part} ${task}`);
    return super.putBody(task, part, body);
  }

  override async dropBody(task: TaskId, part: BodyPart): Promise<void> {
    this.bodies.delete(`${part} ${task}`);
    return super.dropBody(task, part);
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
