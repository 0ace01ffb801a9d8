// The simulator of the embedded engine: the real journal, look-ahead and store over a simulated
// disk, with crashes at any step. After each crash the store must hold every acknowledged batch,
// and nothing else except the batch that was under way.

import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { Change, StoredTask, TaskId } from "@yardmaster/core";
import { loadedForm, plain } from "../../conformance/owner.js";
import { PlainModel } from "../../conformance/plain-model.js";
import type { LoadItem, TaskQuery } from "../../engine.js";
import type { JournalMark } from "../journal.js";
import { Fenced, type Store } from "../store.js";
import type { IndexPace } from "../task-index.js";
import { OlderRecords } from "../tree-sums.js";
import { MemoryFile, SimulatedCrash, SimulatedFault } from "./memory-file.js";
import { SeededRandom } from "./random.js";
import { RandomYard, type YardState } from "./random-yard.js";
import { SimulatedFiles } from "./simulated-files.js";
import { openSimulated, SimulatedOwner } from "./simulated-owner.js";

const queries: readonly Omit<TaskQuery, "limit">[] = [
  {},
  { state: "done" },
  { state: "waiting" },
  { state: "running" },
  { queue: "apart" },
  { queue: "render", state: "done" },
  { worker: "udp/w1" },
];

/** The simulated disk, the batches that must be on it, and one owner after another. */
export class SimulatedEngine {
  readonly random: SeededRandom;
  readonly #file = new MemoryFile();
  readonly #files = new SimulatedFiles();
  readonly #yard: RandomYard;
  /** Acknowledged batches, in order. */
  readonly #acknowledged: (readonly Change[])[] = [];
  /** The batch that was not acknowledged yet, with the core's state before it. */
  #underWay: { readonly changes: readonly Change[]; readonly before: YardState } | undefined;
  /** The journals that must exist; undefined after a clean shutdown. */
  #journals: JournalMark | undefined;
  #stepsLeft = Number.POSITIVE_INFINITY;
  /** What happens when no steps are left. */
  #end: () => Error = () => new SimulatedCrash("here");
  #paused: SimulatedOwner | undefined;
  crashes = 0;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    this.#yard = new RandomYard(this.random);
    const step = () => {
      this.#stepsLeft -= 1;
      if (this.#stepsLeft < 0) throw this.#end();
    };
    this.#file.onStep = step;
    this.#files.onStep = step;
  }

  async run(lives: number): Promise<void> {
    for (let life = 0; life < lives; life++) {
      this.#stepsLeft = this.random.below(this.random.chance(0.3) ? 60 : 3000);
      try {
        await this.#live();
      } catch (error) {
        if (!(error instanceof SimulatedCrash)) throw error;
        this.#crash();
      }
    }
    this.#stepsLeft = Number.POSITIVE_INFINITY;
    this.#open();
  }

  #crash(): void {
    this.crashes += 1;
    if (this.random.chance(0.5)) this.#files.kill(this.random.next);
    else this.#files.cutPower(this.random.next);
  }

  #open(): Store {
    const { random } = this;
    const pace = { entries: 1 + random.below(40), lists: 1 + random.below(4) };
    if (random.chance(0.2)) this.#loseWrite(pace);
    const store = openSimulated(this.#file, this.#files, pace);
    store.takeOver(this.#journals);
    this.#check(store);
    return store;
  }

  /** A record that is older than the last one committed must be noticed. It is then put right. */
  #loseWrite(pace: IndexPace): void {
    const undo = this.#file.loseWrite((from) => this.random.pick(from));
    if (undo === undefined) return;
    assert.throws(() => openSimulated(this.#file, this.#files, pace), OlderRecords);
    undo();
  }

  async #live(): Promise<void> {
    const { random } = this;
    const store = this.#open();
    const life = new SimulatedOwner(store, this.#files, 2048 + random.below(16_384));
    this.#journals = life.journals;
    const turns = 10 + random.below(80);
    for (let turn = 1; turn <= turns; turn++) {
      const before = this.#yard.save();
      const changes = turn === 1 ? this.#yard.restart() : this.#yard.turn();
      this.#underWay = { changes, before };
      await life.commit(changes);
      this.#acknowledged.push(changes);
      this.#underWay = undefined;
      if (random.chance(0.3)) life.send(random.chance(0.1));
      if (random.chance(0.05)) life.sweep();
      if (random.chance(0.05)) this.#fail(store);
      if (turn === 5) await this.#wakePaused();
    }
    const dice = random.next();
    if (dice < 0.2) throw new SimulatedCrash("between two steps");
    if (dice < 0.5) {
      this.#paused = life;
      return;
    }
    await life.close(() => {
      this.#journals = undefined;
    });
  }

  /** A transaction fails at some step, and the store goes on. */
  #fail(store: Store): void {
    const { random } = this;
    const [stepsLeft, end] = [this.#stepsLeft, this.#end];
    this.#stepsLeft = random.below(8);
    this.#end = () => new SimulatedFault("here");
    try {
      if (random.chance(0.5)) store.commit([]);
      else store.sweep();
    } catch (error) {
      if (!(error instanceof SimulatedFault)) throw error;
    } finally {
      this.#stepsLeft = stepsLeft;
      this.#end = end;
    }
  }

  /** An earlier owner that was only paused continues while there is a new one. */
  async #wakePaused(): Promise<void> {
    const paused = this.#paused;
    this.#paused = undefined;
    if (paused === undefined) return;
    const lost: Change = { kind: "door", door: { name: "paused", incarnation: 1, mark: 1 } };
    await assert.rejects(paused.commit([lost]), (error) => {
      if (error instanceof SimulatedCrash) throw error;
      return error instanceof Fenced;
    });
  }

  /** The store must equal the acknowledged batches, with or without the one that was under way. */
  #check(store: Store): void {
    const found = contentOf(store);
    const underWay = this.#underWay;
    this.#underWay = undefined;
    if (underWay !== undefined) {
      const further = [...this.#acknowledged, underWay.changes];
      if (isDeepStrictEqual(found, contentOfModel(modelOf(further)))) {
        this.#acknowledged.push(underWay.changes);
        return;
      }
      this.#yard.goBack(underWay.before);
    }
    assert.deepEqual(found, contentOfModel(modelOf(this.#acknowledged)));
  }
}

function modelOf(batches: readonly (readonly Change[])[]): PlainModel {
  const model = new PlainModel();
  for (const change of batches.flat()) model.apply(change);
  return model;
}

/** Answers of the store to every kind of question. */
function contentOf(store: Store): unknown {
  const answers = queries.map((query) => {
    const search = store.search({ ...query, limit: 100_000 });
    search.step(() => false);
    return [JSON.stringify(query), search.found];
  });
  const all = store.search({ limit: 100_000 });
  all.step(() => false);
  const tasks = all.found.map((id) => plain(store.tasks.task(id)));
  return { loaded: loadOf(store), answers, tasks };
}

function contentOfModel(model: PlainModel): unknown {
  const answers = queries.map((query) => {
    const found = model.find({ ...query, limit: 100_000 });
    return [JSON.stringify(query), found.map(({ head }) => head.id)];
  });
  return { loaded: model.load(), answers, tasks: plain(model.find({ limit: 100_000 })) };
}

/** The load of an engine, in the form in which the model is compared. */
function loadOf(store: Store): unknown {
  const others: LoadItem[] = [...store.loadOthers()];
  const tasks: StoredTask[] = [];
  for (const id of store.tasks.liveTasks()) tasks.push(store.tasks.task(id as TaskId) as StoredTask);
  const { type: _, ...end } = store.end;
  return loadedForm({ tasks, others, ...end });
}
