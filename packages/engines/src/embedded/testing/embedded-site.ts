// The embedded engine over a simulated disk, for the simulator of the dispatcher. A process that
// dies loses what was in its memory: the batches that its store did not have come from the journal.
// Everything is answered without a turn of the event loop, because time there is simulated.

import assert from "node:assert/strict";
import type { Body, StoredTask, TaskId } from "@yardmaster/core";
import type {
  Batch,
  BodyPart,
  CommitOutcome,
  Engine,
  LoadItem,
  Opened,
  TaskPage,
  TaskQuery,
} from "../../engine.js";
import type { JournalMark } from "../journal.js";
import { Fenced } from "../store.js";
import { MemoryFile } from "./memory-file.js";
import { SeededRandom } from "./random.js";
import { SimulatedFiles } from "./simulated-files.js";
import { openSimulated, SimulatedOwner } from "./simulated-owner.js";

export { plain } from "../../conformance/owner.js";

/** One data folder, and the engines that own it one after another. */
export class EmbeddedSite {
  readonly random: SeededRandom;
  readonly #file = new MemoryFile();
  readonly #files = new SimulatedFiles();
  /** The journals that must be there; undefined after a clean shutdown. */
  journals: JournalMark | undefined;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
  }

  /** The engine of a new process, not yet open. */
  engine(): Engine {
    return new SimulatedEmbedded(this);
  }

  takeOver(): SimulatedOwner {
    const { random } = this;
    const pace = { entries: 1 + random.below(200), lists: 1 + random.below(16) };
    const store = openSimulated(this.#file, this.#files, pace);
    store.takeOver(this.journals);
    const owner = new SimulatedOwner(store, this.#files, 4096 + random.below(65_536));
    this.journals = owner.journals;
    return owner;
  }
}

class SimulatedEmbedded implements Engine {
  readonly name = "embedded";
  readonly durability = "fsync";
  readonly inlineBytesMax = 4096;
  readonly minBatchIntervalMs = 3;
  readonly #site: EmbeddedSite;
  #owner: SimulatedOwner | undefined;
  /** After a fault nothing more is written. */
  #fault: unknown;

  constructor(site: EmbeddedSite) {
    this.#site = site;
  }

  async open(): Promise<Opened> {
    this.#owner = this.#site.takeOver();
    return { epoch: this.#owner.store.epoch };
  }

  async load(take: (item: LoadItem) => void): Promise<void> {
    this.#write((owner) => owner.send(true));
    const { store } = this.#opened;
    for (const id of store.tasks.liveTasks())
      take({ type: "task", task: store.tasks.task(id) as StoredTask });
    store.tasks.learnLive();
    for (const item of store.loadOthers()) take(item);
    take(store.end);
  }

  async commit({ epoch, number, changes }: Batch): Promise<CommitOutcome> {
    const owner = this.#opened;
    assert.equal(epoch, owner.store.epoch, "the batch is of another epoch than the engine's");
    if (this.#fault === undefined && number > owner.lastBatch) {
      assert.equal(number, owner.lastBatch + 1, "a batch number was left out");
      try {
        await owner.commit(changes);
      } catch (error) {
        this.#fault = error;
      }
      const { random } = this.#site;
      if (random.chance(0.3)) this.#write(() => owner.send(random.chance(0.1)));
      if (random.chance(0.05)) this.#write(() => owner.sweep());
    }
    if (this.#fault === undefined) return { type: "done" };
    if (this.#fault instanceof Fenced) return { type: "fenced", message: this.#fault.message };
    throw this.#fault;
  }

  async putBody(task: TaskId, part: BodyPart, { bytes = new Uint8Array() }: Body): Promise<void> {
    const stretch = { task, part, from: 0, bytes: new Uint8Array(bytes).buffer };
    this.#write(({ store }) => store.putBodies([stretch]));
  }

  async dropBody(task: TaskId, part: BodyPart): Promise<void> {
    this.#write(({ store }) => store.putBodies([{ task, part, from: 0, bytes: undefined }]));
  }

  body(task: TaskId, part: BodyPart): Promise<Body | undefined> {
    return this.#opened.reads.body(task, part);
  }

  memo(door: string, name: string): Promise<Uint8Array | undefined> {
    return this.#opened.reads.memo(door, name);
  }

  task(id: TaskId): Promise<StoredTask | undefined> {
    return this.#opened.reads.task(id);
  }

  find(query: TaskQuery): Promise<TaskPage> {
    return this.#opened.reads.find(query);
  }

  async close(): Promise<void> {
    const owner = this.#owner;
    this.#owner = undefined;
    if (owner === undefined || this.#fault !== undefined) return;
    await owner.close(() => {
      this.#site.journals = undefined;
    });
  }

  get #opened(): SimulatedOwner {
    assert.ok(this.#owner, "the engine is not open");
    return this.#owner;
  }

  /** Once there is a later owner, nothing is written; the next commit reports it. */
  #write(work: (owner: SimulatedOwner) => void): void {
    if (this.#fault !== undefined) return;
    try {
      work(this.#opened);
    } catch (error) {
      this.#fault = error;
    }
  }
}
