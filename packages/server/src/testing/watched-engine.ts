// For tests: a memory engine that records commits and memo reads, and can delay both.

import type { Change } from "@yardmaster/core";
import { type Batch, type CommitOutcome, MemoryEngine, MemoryStore } from "@yardmaster/engines";

export class WatchedEngine extends MemoryEngine {
  readonly store: MemoryStore;
  /** One entry per batch. */
  readonly commits: (readonly Change[])[] = [];
  /** Names of memos, in the order in which they were read. */
  readonly reads: string[] = [];
  /** Awaited before each commit, and before each read. */
  beforeCommit: (changes: readonly Change[]) => Promise<void> = async () => {};
  beforeRead: (name: string) => Promise<void> = async () => {};

  constructor(store = new MemoryStore()) {
    super(store);
    this.store = store;
  }

  override async commit(batch: Batch): Promise<CommitOutcome> {
    await this.beforeCommit(batch.changes);
    this.commits.push(batch.changes);
    return super.commit(batch);
  }

  override async memo(door: string, name: string): Promise<Uint8Array | undefined> {
    this.reads.push(name);
    await this.beforeRead(name);
    return super.memo(door, name);
  }

  /** Names of the memos that are stored. */
  get memoNames(): string[] {
    const names: string[] = [];
    this.store.load((item) => {
      if (item.type === "memo") names.push(item.memo.name);
      else if (item.type === "large-memo") names.push(item.name);
    });
    return names;
  }
}

/** A promise that the test opens. */
export class Gate {
  open: () => void = () => {};
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}
