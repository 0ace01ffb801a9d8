// Drives a core in tests: numbers posts, owns the clock, commits every step to a model store and
// checks the invariants after each. It returns effects in brief. A worker's name may include its
// door: `y/w` is w of door y, `w` is w of door x.

import type { LossReason, ReturnReason } from "../attempt-events.js";
import { Dispatcher } from "../dispatcher.js";
import type { Effect } from "../effects.js";
import type { QueueSettingsPatch, YardEvent } from "../events.js";
import { type CoreOptions, defaultCoreOptions, defaultLimits, type Limits } from "../limits.js";
import type { AttemptNumber, TaskId, WorkerId } from "../names.js";
import type { Body, Change, StoredTask, TaskError } from "../records.js";
import type { Step } from "../step.js";
import type { Submission } from "../submission.js";
import type { Instant, Moment, WallTime } from "../time.js";
import type { QueueView, WorkerView } from "../views.js";
import type { WorkerProfile } from "../worker-events.js";
import { brief, briefStory } from "./brief.js";
import { ModelStore } from "./model-store.js";

export type DriverOptions = Partial<Omit<CoreOptions, "limits">> & { readonly limits?: Partial<Limits> };

export const wallAtStart = 1_700_000_000_000;

export function bodyOf(size: number): Body {
  return { mediaType: "text/plain", size, bytes: new Uint8Array(size) };
}

const plainProfile: WorkerProfile = {
  dialect: "test",
  address: "here",
  queues: ["q"],
  slots: 1,
  runsAtOnce: 1,
  pulls: false,
  givesBack: false,
};

export class YardDriver {
  readonly options: CoreOptions;
  store: ModelStore;
  core: Dispatcher;
  epoch: number;
  now: Moment = { instant: 0 as Instant, wall: wallAtStart as WallTime };
  /** The last attempt of each task. */
  readonly attempts = new Map<number, AttemptNumber>();
  /** All effects of the last step. */
  effects: Effect[] = [];
  changes: Change[] = [];
  #marks = new Map<string, number>();
  #nextRequest = 1000;

  constructor(options: DriverOptions = {}, store = new ModelStore(), epoch = 1) {
    const limits = { ...defaultLimits, ...options.limits };
    this.options = { ...defaultCoreOptions, random: () => 0.5, ...options, limits };
    this.store = store;
    this.epoch = epoch;
    this.core = this.#restored();
  }

  /** Crashes and starts again from committed state. Peers and their numbers are gone. */
  restart(): string[] {
    this.epoch += 1;
    this.#marks = new Map();
    this.core = this.#restored();
    return this.effects.map(brief);
  }

  post(door: string, event: YardEvent): string[] {
    const number = (this.#marks.get(door) ?? 0) + 1;
    if (number === 1 && event.type !== "door-opened") {
      return [
        ...this.post(door, { type: "door-opened", incarnation: this.epoch }),
        ...this.post(door, event),
      ];
    }
    return this.postNumbered(door, number, event);
  }

  postNumbered(door: string, number: number, event: YardEvent): string[] {
    this.#marks.set(door, number);
    return this.#commit(this.core.handle({ door, number, event }, this.now));
  }

  /** Lets time pass, with every deadline handled when it is due. */
  wait(ms: number): string[] {
    const end = this.now.instant + ms;
    const found: string[] = [];
    for (;;) {
      const next = this.core.nextDeadline();
      if (next === undefined || next > end) break;
      this.pass(Math.max(0, next - this.now.instant));
      found.push(...this.timeout());
    }
    this.pass(end - this.now.instant);
    return found;
  }

  /** Lets time pass with nothing handled. */
  pass(ms: number): void {
    const { instant, wall } = this.now;
    this.now = { instant: (instant + ms) as Instant, wall: (wall + ms) as WallTime };
  }

  jumpWall(ms: number): void {
    this.now = { instant: this.now.instant, wall: (this.now.wall + ms) as WallTime };
  }

  timeout(): string[] {
    return this.#commit(this.core.handleTimeout(this.now));
  }

  /** Time until the next deadline; undefined if there is none. */
  get nextMs(): number | undefined {
    const next = this.core.nextDeadline();
    return next === undefined ? undefined : next - this.now.instant;
  }

  submit(fields: Partial<Submission> & { request?: number; door?: string } = {}): string[] {
    const { request, door = "x", ...rest } = fields;
    const submission: Submission = { queue: "q", payload: bodyOf(10), ...rest };
    return this.post(door, {
      type: "task-submitted",
      submission,
      ...(request === undefined ? {} : { request }),
    });
  }

  join(name: string, fields: Partial<WorkerProfile> = {}): string[] {
    const worker = idOf(name);
    return this.post(doorOf(worker), {
      type: "worker-joined",
      worker,
      profile: { ...plainProfile, ...fields },
    });
  }

  /** Joins a worker that claims. */
  joinPuller(name: string): string[] {
    return this.join(name, { pulls: true, slots: 0, queues: [] });
  }

  leave(name: string, reason: LossReason = "connection_closed"): string[] {
    const worker = idOf(name);
    return this.post(doorOf(worker), { type: "worker-left", worker, reason });
  }

  retire(name: string, request?: number): string[] {
    const worker = idOf(name);
    return this.post(doorOf(worker), {
      type: "worker-retired",
      worker,
      ...(request === undefined ? {} : { request }),
    });
  }

  beatWorker(name: string, queued?: number): string[] {
    const worker = idOf(name);
    return this.post(doorOf(worker), {
      type: "worker-beat",
      worker,
      ...(queued === undefined ? {} : { queued }),
    });
  }

  want(
    name: string,
    fields: { queue?: string; max?: number; forMs?: number; leaseMs?: number; request?: number } = {},
  ) {
    const worker = idOf(name);
    const { queue = "q", max = 1, forMs = 0, leaseMs = 5000, request = this.#nextRequest++ } = fields;
    return this.post(doorOf(worker), { type: "work-claimed", request, worker, queue, max, forMs, leaseMs });
  }

  done(name: string, task: number, claim: Claimed = {}): string[] {
    return this.#answer(name, task, claim, { type: "attempt-done", result: bodyOf(3) });
  }

  fail(name: string, task: number, claim: Claimed & { asLoss?: boolean; result?: Body } = {}): string[] {
    const error: TaskError = { code: "broke", message: "it broke" };
    const { asLoss, result, ...rest } = claim;
    return this.#answer(name, task, rest, {
      type: "attempt-failed",
      error,
      ...(asLoss === undefined ? {} : { asLoss }),
      ...(result && { result }),
    });
  }

  lose(name: string, task: number, reason: LossReason = "send_failed", claim: Claimed = {}): string[] {
    return this.#answer(name, task, claim, { type: "attempt-lost", reason });
  }

  giveBack(name: string, task: number, reason: ReturnReason, holdMs?: number): string[] {
    return this.#answer(
      name,
      task,
      {},
      { type: "attempt-returned", reason, ...(holdMs === undefined ? {} : { holdMs }) },
    );
  }

  beat(name: string, task: number, leaseMs?: number, claim: Claimed = {}): string[] {
    return this.#answer(name, task, claim, {
      type: "attempt-beat",
      ...(leaseMs === undefined ? {} : { leaseMs }),
    });
  }

  cancel(task: number, request?: number): string[] {
    return this.post("x", {
      type: "cancel-asked",
      task: task as TaskId,
      by: "me",
      ...(request === undefined ? {} : { request }),
    });
  }

  /** An answer of a peer that holds no lease. */
  answer(task: number, request?: number, error?: TaskError): string[] {
    return this.post("x", {
      type: "task-answered",
      task: task as TaskId,
      by: "another",
      ...(error === undefined ? { result: bodyOf(3) } : { error }),
      ...(request === undefined ? {} : { request }),
    });
  }

  seek(key: string, request: number, queue = "q"): string[] {
    return this.post("x", { type: "task-sought", request, queue, key });
  }

  order(order: "pause" | "resume" | "drain", queue = "q", request?: number): string[] {
    return this.post("x", {
      type: "queue-order-given",
      queue,
      order,
      ...(request === undefined ? {} : { request }),
    });
  }

  /** Settings of queue `q`. */
  set(settings: QueueSettingsPatch, request?: number): string[] {
    return this.post("x", {
      type: "queue-settings-given",
      queue: "q",
      settings,
      ...(request === undefined ? {} : { request }),
    });
  }

  drain(name: string, request?: number): string[] {
    return this.post("x", {
      type: "worker-drain-asked",
      worker: idOf(name),
      ...(request === undefined ? {} : { request }),
    });
  }

  stored(task: number): StoredTask {
    const stored = this.store.tasks.get(task as TaskId);
    if (stored === undefined) throw new Error(`task ${task} is not in the store`);
    return stored;
  }

  state(task: number): string {
    return this.stored(task).progress?.state ?? "waiting";
  }

  story(task: number): string[] {
    return briefStory(this.stored(task));
  }

  why(task: number): string | undefined {
    return this.core.view.why(task as TaskId, this.now)?.code;
  }

  queue(name = "q"): QueueView | undefined {
    return this.core.view.queues().find((queue) => queue.name === name);
  }

  worker(name: string): WorkerView | undefined {
    return this.core.view.workers().find(({ id }) => id === idOf(name));
  }

  #answer(name: string, task: number, claim: Claimed, event: AnswerEvent): string[] {
    const worker = idOf(name);
    const attempt = "attempt" in claim ? claim.attempt : this.attempts.get(task);
    const { request, isOfBefore } = claim;
    return this.post(doorOf(worker), {
      ...event,
      worker,
      task: task as TaskId,
      attempt,
      ...(request === undefined ? {} : { request }),
      ...(isOfBefore && { isOfBefore }),
    } as YardEvent);
  }

  #restored(): Dispatcher {
    const core = new Dispatcher(this.options, this.epoch, this.now);
    this.store.restoreInto(core);
    this.core = core;
    const { lastTask, lastSettled, lanes } = this.store;
    this.#commit(core.begin({ lastTask, lastSettled, lanes }, this.now));
    return core;
  }

  #commit(step: Step): string[] {
    this.changes = step.takeChanges();
    this.store.apply(this.changes);
    this.effects = step.takeEffects();
    this.core.checkInvariants();
    for (const effect of this.effects)
      if (effect.type === "assign") this.attempts.set(effect.task.id, effect.attempt);
    return this.effects.map(brief);
  }
}

export interface Claimed {
  /** Default: the last one assigned. Undefined if the dialect names none. */
  readonly attempt?: AttemptNumber | undefined;
  readonly isOfBefore?: boolean;
  readonly request?: number;
}

type Distributed<Event> = Event extends unknown
  ? Omit<Event, "worker" | "task" | "attempt" | "request">
  : never;
type AnswerEvent = Distributed<Extract<YardEvent, { type: `attempt-${string}` }>>;

function idOf(name: string): WorkerId {
  return (name.includes("/") ? name : `x/${name}`) as WorkerId;
}

function doorOf(worker: WorkerId): string {
  return worker.slice(0, worker.indexOf("/"));
}
