// The simulated disk: a memory engine whose commits take time and sometimes fail or have an unknown
// result. Committed data outlives the process. A commit in flight when the process dies has
// happened or not, by chance.

import type { Body, Change, TaskId } from "@yardmaster/core";
import {
  type Batch,
  type BodyPart,
  type CommitOutcome,
  type Engine,
  type LoadItem,
  MemoryEngine,
  type MemoryStore,
  type Opened,
  type TaskQuery,
} from "@yardmaster/engines";
import type { Random } from "./random.js";
import { Process, type World } from "./world.js";

export interface DiskFaults {
  /** Shares of commits with this result. */
  readonly unknown: number;
  readonly unavailable: number;
  readonly broken: number;
  readonly full: number;
  readonly commitMsMax: number;
}

const machine = new Process("disk");

export class SimulatedDisk implements Engine {
  readonly name = "simulated";
  readonly durability = "memory";
  // Small, so that both kinds of bodies occur.
  readonly inlineBytesMax = 12;
  readonly minBatchIntervalMs = 3;
  readonly #engine: MemoryEngine;
  readonly #world: World;
  readonly #random: Random;
  readonly #process: Process;
  readonly #faults: () => DiskFaults;

  constructor(store: MemoryStore, world: World, random: Random, process: Process, faults: () => DiskFaults) {
    this.#engine = new MemoryEngine(store);
    this.#world = world;
    this.#random = random;
    this.#process = process;
    this.#faults = faults;
  }

  open(): Promise<Opened> {
    return this.#engine.open();
  }

  load(take: (item: LoadItem) => void): Promise<void> {
    return this.#engine.load(take);
  }

  commit(given: Batch): Promise<CommitOutcome> {
    const batch = { ...given, changes: given.changes.map((change) => this.#recordOf(change)) };
    const { unknown, unavailable, broken, full, commitMsMax } = this.#faults();
    const ms = this.#random.between(0.05, commitMsMax);
    const draw = this.#random.next();
    return new Promise((resolve, reject) => {
      this.#world.plan(machine, ms, () => {
        const happens = this.#process.isDead ? this.#random.chance(0.5) : true;
        if (!happens) return;
        this.#world.drain();
        if (draw < broken) reject(new Error("EIO: i/o error, write"));
        else if (draw < broken + full) resolve({ type: "full", message: "no space left on device" });
        else if (draw < broken + full + unavailable) resolve({ type: "unavailable", message: "not now" });
        else if (draw < broken + full + unavailable + unknown) this.#leaveOpen(batch, resolve, reject);
        else this.#engine.commit(batch).then(resolve, reject);
      });
    });
  }

  /** A record without its large bodies, which were stored out of line. */
  #recordOf(change: Change): Change {
    if (change.kind === "head") {
      const { head } = change;
      return { kind: "head", head: { ...head, payload: this.#recordBody(head.payload) } };
    }
    if (change.kind !== "progress" || change.progress.result === undefined) return change;
    const { progress } = change;
    return { kind: "progress", progress: { ...progress, result: this.#recordBody(change.progress.result) } };
  }

  #recordBody(body: Body): Body {
    return body.size > this.inlineBytesMax ? { mediaType: body.mediaType, size: body.size } : body;
  }

  #leaveOpen(
    batch: Batch,
    resolve: (outcome: CommitOutcome) => void,
    reject: (error: unknown) => void,
  ): void {
    const outcome: CommitOutcome = { type: "unknown", message: "no answer" };
    if (this.#random.chance(0.5)) this.#engine.commit(batch).then(() => resolve(outcome), reject);
    else resolve(outcome);
  }

  putBody(task: TaskId, part: BodyPart, body: Body): Promise<void> {
    return this.#afterReading(() => this.#engine.putBody(task, part, body));
  }

  dropBody(task: TaskId, part: BodyPart): Promise<void> {
    this.#world.drain();
    return this.#engine.dropBody(task, part);
  }

  body(task: TaskId, part: BodyPart): Promise<Body | undefined> {
    return this.#afterReading(() => this.#engine.body(task, part));
  }

  memo(door: string, name: string): Promise<Uint8Array | undefined> {
    return this.#afterReading(() => this.#engine.memo(door, name));
  }

  task(id: TaskId) {
    return this.#afterReading(() => this.#engine.task(id));
  }

  find(query: TaskQuery) {
    return this.#afterReading(() => this.#engine.find(query));
  }

  #afterReading<Value>(read: () => Promise<Value>): Promise<Value> {
    const ms = this.#random.between(0.05, this.#faults().commitMsMax);
    return new Promise((resolve, reject) => {
      this.#world.plan(this.#process, ms, () => {
        this.#world.drain();
        read().then(resolve, reject);
      });
    });
  }

  close(): Promise<void> {
    return this.#engine.close();
  }
}
