// Checks the promise from outside: it sees only messages of peers and the content of the disk. Each
// part of the promise that is visible there is checked as it happens or at the end.

import { type AttemptNumber, epochOf, type StoredTask, type TaskId } from "@yardmaster/core";
import type { MemoryStore } from "@yardmaster/engines";
import type { LimitsChecker } from "./limits-checker.js";

export interface HeldAttempt {
  readonly task: TaskId;
  readonly attempt: AttemptNumber;
}

/** How an attempt arrived at its worker. */
interface Arrival {
  readonly payload: string;
  readonly at: number;
  /** True if it answers a claim: then the attempt must be on the disk. */
  readonly isClaimed: boolean;
}

/** What one client knows of one of its tasks. */
interface SubmittedTask {
  readonly payload: string;
  task: TaskId | undefined;
  outcome: string | undefined;
  /** A cancel was granted. */
  isCancelled: boolean;
  readonly after: readonly TaskId[];
  readonly runsIfFailed: boolean;
}

/** The dependencies that a client gave to a task. */
interface Dependencies {
  readonly after?: readonly TaskId[];
  readonly ifFailed?: string | number | undefined;
}

/** What workers saw of one task. */
interface Seen {
  /** Attempts that arrived at a worker, and when. */
  readonly arrived: { readonly attempt: AttemptNumber; readonly worker: string; readonly at: number }[];
  /** The attempt whose answer counted. */
  counted: AttemptNumber | undefined;
}

export class Violation extends Error {}

export class Checker {
  readonly #store: MemoryStore;
  readonly #asked = new Map<string, SubmittedTask>();
  readonly #byTask = new Map<TaskId, SubmittedTask>();
  readonly #seen = new Map<TaskId, Seen>();
  /** The epoch of the dispatcher that is open now. */
  epoch = 0;
  /** Set if the queue has limits. */
  limits: LimitsChecker | undefined;
  /** True if a worker of a dialect without attempt numbers received this payload. */
  wasGivenElsewhere: (worker: string, payload: string) => boolean = () => false;

  constructor(store: MemoryStore) {
    this.#store = store;
  }

  get acceptedCount(): number {
    return [...this.#asked.values()].filter(({ task }) => task !== undefined).length;
  }

  submitted(client: string, number: number, payload: string, depends: Dependencies = {}): void {
    this.#asked.set(`${client} ${number}`, {
      payload,
      task: undefined,
      outcome: undefined,
      isCancelled: false,
      after: depends.after ?? [],
      runsIfFailed: depends.ifFailed === "run",
    });
  }

  accepted(client: string, number: number, task: TaskId): void {
    const asked = this.#of(client, number);
    if (asked.task !== undefined && asked.task !== task) {
      fail(`${client} ${number} was accepted twice, as task ${asked.task} and as task ${task}`);
    }
    asked.task = task;
    this.#byTask.set(task, asked);
    const stored = this.#store.task(task);
    if (stored === undefined) fail(`task ${task} was acknowledged but is not on the disk`);
    const payload = this.#payloadOf(stored);
    if (payload !== undefined && payload !== asked.payload)
      fail(`task ${task} is not what ${client} ${number} asked for`);
  }

  /** The client asks for a copy of a task that ended badly. */
  retried(client: string, number: number, again: number): void {
    this.submitted(client, again, this.#of(client, number).payload);
  }

  /** The client was told that its task is cancelled. */
  cancelled(client: string, number: number, task: TaskId): void {
    this.#of(client, number).isCancelled = true;
    if (this.#stateOf(task) !== "cancelled") fail(`task ${task} was cancelled but is ${this.#stateOf(task)}`);
  }

  told(client: string, number: number, task: TaskId, outcome: string): void {
    const asked = this.#of(client, number);
    if (asked.task !== undefined && asked.task !== task)
      fail(`${client} ${number} is told of task ${task}, not ${asked.task}`);
    if (asked.outcome !== undefined && asked.outcome !== outcome) {
      fail(`${client} ${number} was told "${asked.outcome}" and then "${outcome}"`);
    }
    if (asked.isCancelled && outcome !== "cancelled")
      fail(`${client} ${number} was cancelled and then told "${outcome}"`);
    asked.task = task;
    asked.outcome = outcome;
    const state = this.#store.task(task)?.progress?.state;
    if (state === undefined || !outcome.startsWith(state))
      fail(`task ${task} was told as "${outcome}" but is ${state} on the disk`);
  }

  workArrived(worker: string, { task, attempt }: HeldAttempt, { payload, at, isClaimed }: Arrival): void {
    const stored = this.#store.task(task);
    if (stored === undefined) fail(`${worker} was given task ${task}, which is not on the disk`);
    if (isClaimed && (stored.progress?.attempt ?? 0) < attempt)
      fail(`${worker} claimed attempt ${attempt} of task ${task}, which is not on the disk`);
    const kept = this.#payloadOf(stored);
    if (kept !== undefined && kept !== payload) fail(`task ${task} reached ${worker} with another payload`);
    this.#checkDependencies(worker, task);
    const { arrived } = this.#seenOf(task);
    const other = arrived.find((earlier) => earlier.attempt === attempt && earlier.worker !== worker);
    if (other !== undefined)
      fail(`attempt ${attempt} of task ${task} went to ${other.worker} and to ${worker}`);
    arrived.push({ attempt, worker, at });
    this.limits?.workArrived({ task, attempt }, at);
  }

  /** A task that depends on others is assigned only when those have ended as required. */
  #checkDependencies(worker: string, task: TaskId): void {
    const { after = [], runsIfFailed = false } = this.#byTask.get(task) ?? {};
    for (const id of after) {
      const state = this.#stateOf(id);
      if (!this.#isFinished(id)) fail(`${worker} was given task ${task} early: task ${id} is ${state}`);
      if (state !== "done" && !runsIfFailed)
        fail(`${worker} was given task ${task} although task ${id} is ${state}`);
    }
  }

  /** An attempt that was last given to another worker, if there is one. */
  attemptOfAnother(
    worker: string,
  ): (HeldAttempt & { readonly holder: string; readonly payload: string }) | undefined {
    for (const [task, { arrived }] of [...this.#seen].reverse()) {
      const last = arrived[arrived.length - 1];
      const stored = this.#store.task(task);
      const payload = stored && this.#payloadOf(stored);
      if (last === undefined || last.worker === worker || payload === undefined) continue;
      return { task, attempt: last.attempt, holder: last.worker, payload };
    }
    return undefined;
  }

  /** Undefined if the disk keeps it out of line and has not got it yet. */
  #payloadOf({ head }: StoredTask): string | undefined {
    const { bytes } = this.#store.body(head.id, "payload") ?? head.payload;
    return bytes && Buffer.from(bytes).toString();
  }

  /** Empty if the task has none, or the disk keeps it out of line and has not got it yet. */
  #resultOf(task: TaskId): string {
    const { bytes } = this.#store.body(task, "result") ?? this.#store.task(task)?.progress?.result ?? {};
    return Buffer.from(bytes ?? []).toString();
  }

  /** True if the disk says that this attempt runs. */
  isRunning({ task, attempt }: HeldAttempt): boolean {
    const { state, attempt: last } = this.#store.task(task)?.progress ?? {};
    return state === "running" && last === attempt;
  }

  /** The worker's answer, first sent at `sentAt`, was confirmed or refused. */
  answered(worker: string, { task, attempt }: HeldAttempt, counted: boolean, sentAt: number): void {
    if (!counted) {
      if (this.#resultOf(task).startsWith(`${attempt} `))
        fail(`${worker}'s result of attempt ${attempt} counts, and was refused`);
      return;
    }
    const seen = this.#seenOf(task);
    if (seen.counted !== undefined && seen.counted !== attempt) {
      fail(`two attempts of task ${task} counted: ${seen.counted} and ${attempt}`);
    }
    seen.counted = attempt;
    // An assignment need not be committed, so only attempts of the same process supersede each
    // other.
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

  /** True if every living client has received the outcomes of its accepted tasks. */
  isComplete(living: ReadonlySet<string>): boolean {
    for (const [name, { task, outcome }] of this.#asked) {
      if (task === undefined) continue;
      if (living.has(clientOf(name)) ? outcome === undefined : !this.#isFinished(task)) return false;
    }
    return true;
  }

  /** Checks the whole promise at the end. */
  finish(living: ReadonlySet<string>): void {
    this.limits?.finish();
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
      const failed = asked.runsIfFailed ? undefined : asked.after.find((id) => this.#stateOf(id) !== "done");
      if (failed !== undefined && !["cancelled", "expired"].includes(this.#stateOf(task)))
        fail(
          `task ${task} is ${this.#stateOf(task)} although task ${failed}, on which it depends, is not done`,
        );
      if (outcome !== undefined && asked.task !== undefined)
        this.#checkOutcome(name, asked.task, outcome, asked.payload);
    }
  }

  /** A result names the attempt that produced it, so that it is visible whose answer counted. */
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

  #of(client: string, number: number): SubmittedTask {
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
