// The simulated disk: the embedded engine over simulated files, whose commits take time and
// sometimes fail or have an unknown result. Committed data outlives the process. A commit in flight
// when the process dies has happened or not, by chance.
//
// A memory engine gets the same batches. The checkers look into its store, and every answer that
// the embedded engine gives to the owner of the store must equal its answer.

import assert from "node:assert/strict";
import type { Body, Change, StoredTask, TaskId } from "@yardmaster/core";
import {
  type Batch,
  type BodyPart,
  type CommitOutcome,
  type Engine,
  type LoadItem,
  MemoryEngine,
  type MemoryStore,
  type Opened,
  type TaskPage,
  type TaskQuery,
} from "@yardmaster/engines";
import type { Random } from "./random.js";
import { Process, type World } from "./world.js";

/** A simulated data folder of the embedded engine. */
interface EmbeddedSite {
  /** The engine of a new process, not yet open. */
  engine(): Engine;
}

/** Not among the exports of the package, because it is not published. */
const { EmbeddedSite, plain } = (await import(
  new URL("../../../packages/engines/dist/embedded/testing/embedded-site.js", import.meta.url).href
)) as {
  readonly EmbeddedSite: new (seed: number) => EmbeddedSite;
  /** Without undefined fields, and with one kind of byte array. */
  readonly plain: (value: unknown) => unknown;
};

export interface DiskFaults {
  /** Shares of commits with this result. */
  readonly unknown: number;
  readonly unavailable: number;
  readonly broken: number;
  readonly full: number;
  readonly commitMsMax: number;
}

const machine = new Process("disk");

/** What outlives a process. */
export class SimulatedFolder {
  readonly memory: MemoryStore;
  readonly embedded: EmbeddedSite;
  /** Called when the embedded engine answers otherwise than the memory engine. */
  readonly onFault: (fault: Error) => void;

  constructor(memory: MemoryStore, seed: number, onFault: (fault: Error) => void) {
    this.memory = memory;
    this.embedded = new EmbeddedSite(seed);
    this.onFault = onFault;
  }
}

export class SimulatedDisk implements Engine {
  readonly name = "simulated";
  readonly durability = "memory";
  // Small, so that both kinds of bodies occur.
  readonly inlineBytesMax = 12;
  readonly minBatchIntervalMs = 3;
  readonly #engine: Engine;
  readonly #model: MemoryEngine;
  readonly #folder: SimulatedFolder;
  readonly #world: World;
  readonly #random: Random;
  readonly #process: Process;
  readonly #faults: () => DiskFaults;
  #epoch = 0;

  constructor(
    folder: SimulatedFolder,
    world: World,
    random: Random,
    process: Process,
    faults: () => DiskFaults,
  ) {
    this.#folder = folder;
    this.#engine = folder.embedded.engine();
    this.#model = new MemoryEngine(folder.memory);
    this.#world = world;
    this.#random = random;
    this.#process = process;
    this.#faults = faults;
  }

  async open(): Promise<Opened> {
    const opened = await this.#both("open", (engine) => engine.open(), true);
    this.#epoch = opened.epoch;
    return opened;
  }

  async load(take: (item: LoadItem) => void): Promise<void> {
    const items = await this.#both("load", async (engine) => {
      const loaded: LoadItem[] = [];
      await engine.load((item) => loaded.push(item));
      return loaded;
    });
    for (const item of items) take(item);
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
        else this.#commit(batch).then(resolve, reject);
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
    if (body.size <= this.inlineBytesMax) return body;
    const { bytes: _, ...record } = body;
    return record;
  }

  #leaveOpen(
    batch: Batch,
    resolve: (outcome: CommitOutcome) => void,
    reject: (error: unknown) => void,
  ): void {
    const outcome: CommitOutcome = { type: "unknown", message: "no answer" };
    if (this.#random.chance(0.5)) this.#commit(batch).then(() => resolve(outcome), reject);
    else resolve(outcome);
  }

  #commit(batch: Batch): Promise<CommitOutcome> {
    return this.#both(`batch ${batch.number}`, (engine) => engine.commit(batch), true);
  }

  putBody(task: TaskId, part: BodyPart, body: Body): Promise<void> {
    return this.#afterReading(`put of ${task}`, (engine) => engine.putBody(task, part, body));
  }

  dropBody(task: TaskId, part: BodyPart): Promise<void> {
    this.#world.drain();
    return this.#both(`drop of ${task}`, (engine) => engine.dropBody(task, part));
  }

  body(task: TaskId, part: BodyPart): Promise<Body | undefined> {
    return this.#afterReading(`${part} of ${task}`, (engine) => engine.body(task, part));
  }

  memo(door: string, name: string): Promise<Uint8Array | undefined> {
    return this.#afterReading(`memo ${door} ${name}`, (engine) => engine.memo(door, name));
  }

  task(id: TaskId): Promise<StoredTask | undefined> {
    return this.#afterReading(`task ${id}`, (engine) => engine.task(id));
  }

  find(query: TaskQuery): Promise<TaskPage> {
    return this.#afterReading(JSON.stringify(query), (engine) => engine.find(query));
  }

  #afterReading<Value>(what: string, read: (engine: Engine) => Promise<Value>): Promise<Value> {
    const ms = this.#random.between(0.05, this.#faults().commitMsMax);
    return new Promise((resolve, reject) => {
      this.#world.plan(this.#process, ms, () => {
        this.#world.drain();
        this.#both(what, read).then(resolve, reject);
      });
    });
  }

  /**
   * The answer of the embedded engine, which must be that of the memory engine. What an earlier
   * owner reads is not compared, and it gets the memory engine's answer: its peers do not know that
   * there is a successor, and the checkers expect one history. `isForAll`: also for an earlier
   * owner.
   */
  async #both<Value>(
    what: string,
    ask: (engine: Engine) => Promise<Value>,
    isForAll = false,
  ): Promise<Value> {
    const [answer, expected] = await Promise.allSettled([ask(this.#engine), ask(this.#model)]);
    const isCompared = isForAll || this.#epoch === this.#folder.memory.epoch;
    try {
      if (isCompared)
        assert.deepEqual(comparable(answer), comparable(expected), `${what}: the engines differ`);
    } catch (error) {
      this.#folder.onFault(error as Error);
    }
    const given = isCompared ? answer : expected;
    if (given.status === "rejected") throw given.reason;
    return given.value;
  }

  async close(): Promise<void> {
    await this.#both("close", (engine) => engine.close());
  }
}

/**
 * Without what may differ: the order of a load, the words of a fault, and whether a page that may
 * be the last has a cursor.
 */
function comparable(answer: PromiseSettledResult<unknown>): unknown {
  if (answer.status === "rejected") return `${answer.reason}`;
  const { value } = answer;
  if (Array.isArray(value)) return value.map((item) => JSON.stringify(plain(item))).sort();
  if (typeof value !== "object" || value === null) return value;
  if ("type" in value && "message" in value) return value.type;
  return plain("cursor" in value ? { ...value, cursor: undefined } : value);
}
