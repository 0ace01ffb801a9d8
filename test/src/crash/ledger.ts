// Records what clients and workers observed across all restarts of the dispatcher, and checks at
// the end that the dispatcher agrees. It knows nothing of how the dispatcher works.

import { Acknowledgements } from "../cluster/acknowledgements.js";

/** A task as http shows it at the end. */
export interface FinalTask {
  readonly id: string;
  readonly mark: string | undefined;
  readonly state: string;
  readonly finishedAt: string | null;
  readonly result: string;
}

interface Entry {
  /** True if the dispatcher acknowledged it. */
  accepted: boolean;
  /** The ids under which it was accepted. */
  readonly ids: Set<string>;
  /** The results of its runs, as workers made them. */
  readonly runs: Set<string>;
  /** The results that its client received. */
  readonly told: Set<string>;
  /** The results that were acknowledged to a worker. */
  readonly completed: Set<string>;
}

interface Sighting {
  readonly state: string;
  readonly finishedAt: string | null;
  readonly seenAt: number;
}

const finishedStates: ReadonlySet<string> = new Set(["done", "failed", "cancelled", "expired"]);
const markPattern = /~[a-z]+\.\d+~/;
const runPattern = /~[a-z]+\.\d+~ run \d+ by [\w./-]+/;

export class Ledger {
  readonly #entries = new Map<string, Entry>();
  readonly #sightings = new Map<string, Sighting>();
  /** What was wrong while it ran. */
  readonly #wrong = new Set<string>();
  readonly acknowledgements = new Acknowledgements();
  /** The ids of all tasks that were acknowledged with one, in that order. */
  readonly acknowledgedIds: string[] = [];
  #lastMark = 0;
  #lastRun = 0;
  toldTwice = 0;

  /** The mark of a task that is about to be submitted. */
  newMark(dialect: string): string {
    this.#lastMark += 1;
    const mark = `~${dialect}.${this.#lastMark}~`;
    this.#entries.set(mark, {
      accepted: false,
      ids: new Set(),
      runs: new Set(),
      told: new Set(),
      completed: new Set(),
    });
    return mark;
  }

  accepted(mark: string, id?: string): void {
    const entry = this.#entryOf(mark);
    entry.accepted = true;
    this.acknowledgements.note();
    if (id === undefined || entry.ids.has(id)) return;
    entry.ids.add(id);
    this.acknowledgedIds.push(id);
  }

  /** A worker runs the task. Returns a unique result for it to answer. */
  ran(payload: string, worker: string): string {
    const mark = markIn(payload) ?? "";
    this.#lastRun += 1;
    const result = `${mark} run ${this.#lastRun} by ${worker}`;
    this.#entries.get(mark)?.runs.add(result);
    return result;
  }

  /** The client received the result. */
  told(mark: string, result: string): void {
    const { told } = this.#entryOf(mark);
    if (told.size > 0) this.toldTwice += 1;
    told.add(runIn(result) ?? result);
  }

  /** The result was acknowledged to the worker that made it. */
  completed(mark: string, result: string): void {
    this.#entryOf(mark).completed.add(runIn(result) ?? result);
  }

  /** The task was seen over http, in the answer to a request that was sent at this instant. */
  saw(id: string, { state, finishedAt }: Omit<Sighting, "seenAt">, askedAt: number): void {
    const before = this.#sightings.get(id);
    if (before === undefined || !finishedStates.has(before.state)) {
      this.#sightings.set(id, { state, finishedAt, seenAt: performance.now() });
    } else if (askedAt > before.seenAt && (state !== before.state || finishedAt !== before.finishedAt)) {
      this.#wrong.add(
        `task ${id} was seen ${before.state} at ${before.finishedAt}, and later ${state} at ${finishedAt}`,
      );
    }
  }

  /** A task that was acknowledged was answered as unknown. */
  missed(id: string): void {
    this.#wrong.add(`task ${id} was acknowledged, and later answered as unknown`);
  }

  /** The dispatcher made a mistake, which is never right. */
  erred(path: string, answer: string): void {
    this.#wrong.add(`${path} was answered with ${short(answer)}`);
  }

  get counts(): { submitted: number; accepted: number; runs: number; told: number; seen: number } {
    const entries = [...this.#entries.values()];
    return {
      submitted: entries.length,
      accepted: entries.filter((entry) => entry.accepted).length,
      runs: entries.reduce((sum, { runs }) => sum + runs.size, 0),
      told: entries.filter(({ told }) => told.size > 0).length,
      seen: this.#sightings.size,
    };
  }

  /** Every broken promise, one line each. */
  faults(tasks: readonly FinalTask[]): string[] {
    const byMark = new Map<string, FinalTask>();
    const byId = new Map(tasks.map((task) => [task.id, task]));
    const faults = [...this.#wrong];
    for (const task of tasks) {
      const { id, mark, state } = task;
      if (mark === undefined || !this.#entries.has(mark))
        faults.push(`task ${id} is nobody's: it was invented`);
      else if (byMark.has(mark)) faults.push(`${mark} is there twice: ${id} and ${byMark.get(mark)?.id}`);
      else byMark.set(mark, task);
      if (!finishedStates.has(state)) faults.push(`task ${id} (${mark}) has no outcome: it is ${state}`);
      if (state !== "done") faults.push(`task ${id} (${mark}) ended ${state}, and nothing was wrong with it`);
    }
    for (const [mark, entry] of this.#entries) faults.push(...entryFaults(mark, entry, byMark.get(mark)));
    for (const [id, seen] of this.#sightings) faults.push(...sightingFaults(id, seen, byId.get(id)));
    return faults;
  }

  #entryOf(mark: string): Entry {
    const entry = this.#entries.get(mark);
    if (entry === undefined) throw new Error(`${mark} was never submitted`);
    return entry;
  }
}

function* entryFaults(mark: string, entry: Entry, task: FinalTask | undefined): Generator<string> {
  const { accepted, ids, runs, told, completed } = entry;
  if (task === undefined) {
    if (accepted) yield `${mark} was acknowledged and is lost`;
    if (runs.size > 0) yield `${mark} was run by a worker and is not there`;
    if (told.size > 0) yield `${mark} was told to its client and is not there`;
    if (completed.size > 0) yield `${mark} was completed by a worker and is not there`;
    return;
  }
  if (ids.size > 1) yield `${mark} was acknowledged as ${[...ids].join(" and ")}`;
  if (ids.size === 1 && !ids.has(task.id)) yield `${mark} was acknowledged as ${[...ids]} and is ${task.id}`;
  const result = runIn(task.result);
  if (task.state === "done" && (result === undefined || !runs.has(result)))
    yield `${mark} has a result that no worker made for it: ${short(task.result)}`;
  if (told.size > 1) yield `${mark} was told differently: ${[...told].map(short).join(" | ")}`;
  for (const words of told)
    if (words !== result) yield `${mark} was told "${short(words)}" and is "${short(task.result)}"`;
  for (const words of completed)
    if (words !== result) yield `${mark} was completed with "${short(words)}" and is "${short(task.result)}"`;
}

function* sightingFaults(id: string, seen: Sighting, task: FinalTask | undefined): Generator<string> {
  if (task === undefined) {
    yield `task ${id} was seen through http and is not there`;
    return;
  }
  const isOver = finishedStates.has(seen.state);
  if (isOver && (seen.state !== task.state || seen.finishedAt !== task.finishedAt))
    yield `task ${id} was seen ${seen.state} at ${seen.finishedAt} and is ${task.state} at ${task.finishedAt}`;
}

/** Results may be large; the part that identifies them comes first. */
function short(result: string): string {
  return result.length > 200 ? `${result.slice(0, 200)}… (${result.length} characters)` : result;
}

export function markIn(text: string): string | undefined {
  return markPattern.exec(text)?.[0];
}

function runIn(text: string): string | undefined {
  return runPattern.exec(text)?.[0];
}
