// What a store holds, as counts and a digest. Two stores with equal tallies hold the same records
// and the same bodies, in whatever order they were read.

import { createHash } from "node:crypto";
import type { Body, Change, StoredTask, TaskStateName } from "@yardmaster/core";
import { headerBytes, RecordWriter, writeChange } from "../records/index.js";

export interface StoreCounts {
  readonly tasks: Readonly<Record<TaskStateName, number>>;
  /** Payloads and results that are not empty, and their bytes. */
  readonly bodies: number;
  readonly bodyBytes: number;
  readonly keys: number;
  readonly queues: number;
  readonly doors: number;
  readonly memos: number;
}

export class Tally {
  readonly counts = {
    tasks: { waiting: 0, running: 0, done: 0, failed: 0, cancelled: 0, expired: 0 },
    bodies: 0,
    bodyBytes: 0,
    keys: 0,
    queues: 0,
    doors: 0,
    memos: 0,
  };
  /** The digests of all records, combined by XOR, which does not depend on their order. */
  readonly #digest = Buffer.alloc(32);
  /** Bodies are hashed separately: stores differ in which bodies they keep inside a record. */
  readonly #writer = new RecordWriter({ bodyBytesMax: -1 });

  /** Both bodies come with their bytes. */
  addTask({ head, progress }: StoredTask, payload: Body, result: Body | undefined): void {
    this.counts.tasks[progress?.state ?? "waiting"] += 1;
    this.#addRecord({ kind: "head", head }, payload);
    if (progress !== undefined) this.#addRecord({ kind: "progress", progress }, result);
  }

  addOther(change: Change): void {
    if (change.kind === "key") this.counts.keys += 1;
    else if (change.kind === "queue") this.counts.queues += 1;
    else if (change.kind === "door") this.counts.doors += 1;
    else if (change.kind === "memo") this.counts.memos += 1;
    this.#addRecord(change);
  }

  get tasks(): number {
    return Object.values(this.counts.tasks).reduce((sum, each) => sum + each, 0);
  }

  get digest(): string {
    return this.#digest.toString("hex");
  }

  #addRecord(change: Change, body?: Body): void {
    const writer = this.#writer;
    writer.at = 0;
    writeChange(writer, change);
    const hash = createHash("sha256");
    // Before the kind, the header has a checksum, which is not filled in here, and a version.
    hash.update(writer.bytes.subarray(headerBytes - 1, writer.at));
    if (body !== undefined && body.size > 0) {
      this.counts.bodies += 1;
      this.counts.bodyBytes += body.size;
      hash.update(body.bytes as Uint8Array);
    }
    const digest = hash.digest();
    for (let at = 0; at < digest.length; at++) {
      this.#digest[at] = (this.#digest[at] as number) ^ (digest[at] as number);
    }
  }
}
