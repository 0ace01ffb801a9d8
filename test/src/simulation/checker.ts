// Believes nothing: it sees only what peers sent and received, and what lies on the disk. Every sentence of the promise
// that can be seen from there is checked, as it happens or at the end.

import { type AttemptNumber, epochOf, type TaskId } from "@yardmaster/core";
import type { MemoryStore } from "@yardmaster/engines";
import type { Held } from "./signals.js";

/** What one client knows of one task it wanted. */
interface Asked {
  readonly payload: string;
  task: TaskId | undefined;
  outcome: string | undefined;
}

/** What workers saw of one task. */
interface Seen {
  /** Attempts that arrived somewhere, and when. */
  readonly arrived: { readonly attempt: AttemptNumber; readonly worker: string; readonly at: number }[];
  /** The attempt whose answer counted. */
  counted: AttemptNumber | undefined;
}

export class Violation extends Error {}

export class Checker {
  readonly #store: MemoryStore;
  readonly #asked = new Map<string, Asked>();
  readonly #seen = new Map<TaskId, Seen>();
  /** The epoch of the dispatcher that answers now. */
  epoch = 0;
  /** Whether a worker of a dialect without attempt numbers was given this payload. */
  wasGivenElsewhere: (worker: string, payload: string) => boolean = () => false;

  constructor(store: MemoryStore) {
    this.#store = store;
  }

  get acceptedCount(): number {
    return [...this.#asked.values()].filter(({ task }) => task !== undefined).length;
  }

  submitted(client: string, number: number, payload: string): void {
    this.#asked.set(`${client} ${number}`, { payload, task: undefined, outcome: undefined });
  }

  accepted(client: string, number: number, task: TaskId): void {
    const asked = this.#of(client, number);
    if (asked.task !== undefined && asked.task !== task) {
      fail(`${client} ${number} was accepted twice, as task ${asked.task} and as task ${task}`);
    }
    asked.task = task;
    const stored = this.#store.task(task);
    if (stored === undefined) fail(`task ${task} was acknowledged but is not on the disk`);
    if (stored.head.key !== `${client} ${number}`)
      fail(`task ${task} is not what ${client} ${number} asked for`);
  }

  told(client: string, number: number, task: TaskId, outcome: string): void {
    const asked = this.#of(client, number);
    if (asked.task !== undefined && asked.task !== task)
      fail(`${client} ${number} is told of task ${task}, not ${asked.task}`);
    if (asked.outcome !== undefined && asked.outcome !== outcome) {
      fail(`${client} ${number} was told "${asked.outcome}" and then "${outcome}"`);
    }
    asked.task = task;
    asked.outcome = outcome;
    const state = this.#store.task(task)?.progress?.state;
    if (state === undefined || !outcome.startsWith(state))
      fail(`task ${task} was told as "${outcome}" but is ${state} on the disk`);
  }

  workArrived(worker: string, { task, attempt }: Held, payload: string, at: number): void {
    const stored = this.#store.task(task);
    if (stored === undefined) fail(`${worker} was given task ${task}, which is not on the disk`);
    const bytes = this.#store.body(task, "payload")?.bytes;
    if (bytes !== undefined && Buffer.from(bytes).toString() !== payload)
      fail(`task ${task} reached ${worker} with another payload`);
    const { arrived } = this.#seenOf(task);
    const other = arrived.find((earlier) => earlier.attempt === attempt && earlier.worker !== worker);
    if (other !== undefined)
      fail(`attempt ${attempt} of task ${task} went to ${other.worker} and to ${worker}`);
    arrived.push({ attempt, worker, at });
  }

  /** An attempt that somebody other than this worker was given last, if there is one. */
  attemptOfAnother(worker: string): (Held & { readonly payload: string }) | undefined {
    for (const [task, { arrived }] of [...this.#seen].reverse()) {
      const last = arrived[arrived.length - 1];
      const bytes = this.#store.body(task, "payload")?.bytes;
      if (last === undefined || last.worker === worker || bytes === undefined) continue;
      return { task, attempt: last.attempt, payload: Buffer.from(bytes).toString() };
    }
    return undefined;
  }

  /** The worker's answer, sent at `sentAt` for the first time, was said to count, or not. */
  answered(worker: string, { task, attempt }: Held, counted: boolean, sentAt: number): void {
    if (!counted) return;
    const seen = this.#seenOf(task);
    if (seen.counted !== undefined && seen.counted !== attempt) {
      fail(`two attempts of task ${task} counted: ${seen.counted} and ${attempt}`);
    }
    seen.counted = attempt;
    // An assignment need not be committed, so only attempts of the life that judges them depose each other.
    const deposedBy =
      epochOf(attempt) === this.epoch
        ? seen.arrived.find((later) => later.attempt > attempt && later.at < sentAt)
        : undefined;
    if (deposedBy !== undefined) {
      fail(
        `${worker}'s attempt ${attempt} of task ${task} counted although ${deposedBy.worker} had attempt ${deposedBy.attempt}`,
      );
    }
  }

  /** Whether every client that lives has heard how its accepted tasks ended. */
  isComplete(living: ReadonlySet<string>): boolean {
    for (const [name, { task, outcome }] of this.#asked) {
      if (task === undefined) continue;
      if (living.has(clientOf(name)) ? outcome === undefined : !this.#isFinished(task)) return false;
    }
    return true;
  }

  /** The whole promise, at the end. */
  finish(living: ReadonlySet<string>): void {
    const owners = new Map<TaskId, string>();
    for (const [name, asked] of this.#asked) {
      const { task, outcome } = asked;
      if (task === undefined) continue;
      const owner = owners.get(task);
      if (owner !== undefined) fail(`task ${task} was given to both ${owner} and ${name}`);
      owners.set(task, name);
      if (!this.#isFinished(task))
        fail(`task ${task} of ${name} was accepted and is lost: it is ${this.#stateOf(task)}`);
      if (living.has(clientOf(name)) && outcome === undefined)
        fail(`${name} lives and was never told of task ${task}`);
      if (outcome !== undefined && asked.task !== undefined)
        this.#checkOutcome(name, asked.task, outcome, asked.payload);
    }
  }

  /** A result names the attempt it came from, so that it can be seen whose answer counted. */
  #checkOutcome(name: string, task: TaskId, outcome: string, payload: string): void {
    if (!outcome.startsWith("done ")) return;
    const [, attempt, echo, worker] = outcome.split(" ");
    if (echo !== payload) fail(`${name} was told the result of another payload: ${outcome}`);
    const { arrived, counted } = this.#seenOf(task);
    const wasGiven =
      attempt === "-"
        ? this.wasGivenElsewhere(worker ?? "", payload)
        : arrived.some((one) => String(one.attempt) === attempt && one.worker === worker);
    if (!wasGiven) {
      fail(`${name} was told a result from a worker that never had the task: ${outcome}`);
    }
    if (counted !== undefined && String(counted) !== attempt)
      fail(`${name} was told "${outcome}" but attempt ${counted} counted`);
  }

  #isFinished(task: TaskId): boolean {
    return !["waiting", "running", "gone"].includes(this.#stateOf(task));
  }

  #stateOf(task: TaskId): string {
    const stored = this.#store.task(task);
    return stored === undefined ? "gone" : (stored.progress?.state ?? "waiting");
  }

  #of(client: string, number: number): Asked {
    return this.#asked.get(`${client} ${number}`) ?? fail(`${client} never asked for ${number}`);
  }

  #seenOf(task: TaskId): Seen {
    const seen = this.#seen.get(task) ?? { arrived: [], counted: undefined };
    this.#seen.set(task, seen);
    return seen;
  }
}

function clientOf(name: string): string {
  return name.slice(0, name.indexOf(" "));
}

export function fail(message: string): never {
  throw new Violation(message);
}
