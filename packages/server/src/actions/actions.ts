// Bulk actions: cancel, retry or purge many tasks, a bounded number a step. A step is committed
// together with the action's record before the next one begins. So other work goes on between
// steps, and after a crash the action goes on with its next step.

import { setTimeout as sleep } from "node:timers/promises";
import {
  type ActionRecord,
  type ActionWork,
  actionMemoName,
  actionMemoPrefix,
  type StoredTask,
  type Submission,
  type TaskId,
} from "@yardmaster/core";
import type { Logger } from "pino";
import type { Port } from "../door-kit/door.js";
import type { Exchange } from "../http/exchange.js";
import { Problem } from "../http/problems.js";
import {
  cancelledBecauseOf,
  causeOf,
  doneDependencies,
  hasCancelledDependents,
  type RetriedTask,
  retriedGraph,
} from "./retried-graph.js";
import { retriedSubmission } from "./retried-submission.js";
import { type FoundWalk, isRetriedBy, pageOf, walksOf } from "./walks.js";

/** Tasks cancelled in one step: a few milliseconds of work. */
const stepTasks = 1_000;
/** Tasks retried in one step, and the bytes of their payloads, which are read for it. */
const retryTasks = 200;
const retryBytes = 4_194_304;
/** Tasks that depend on each other and are retried together, and the bytes of their payloads. */
const graphTasksMax = 10_000;
const graphBytesMax = 67_108_864;
const evicted = "The task was evicted before it could be retried.";
/** Actions that may run at once. */
export const runningActionsMax = 16;
/** Actions that have ended and are still listed. */
const endedActionsMax = 100;
/** Wait after a step that could not be taken. */
const troubleMs = 1_000;

interface Entry {
  record: ActionRecord;
  isStopping: boolean;
  /** Resolves when its steps have ended: it is over, or the door is closed. */
  over: Promise<void>;
}

/** What a step leads to. */
interface Next {
  readonly record: ActionRecord;
  readonly work?: ActionWork;
}

export type NewAction = Pick<ActionRecord, "kind" | "by" | "filter">;

export class Actions {
  readonly #port: Port;
  readonly #exchange: Pick<Exchange, "ask">;
  readonly #log: Pick<Logger, "warn">;
  /** Oldest first. */
  readonly #entries = new Map<string, Entry>();
  #lastId = 0;
  #isClosed = false;

  constructor(port: Port, exchange: Pick<Exchange, "ask">, log: Pick<Logger, "warn">) {
    this.#port = port;
    this.#exchange = exchange;
    this.#log = log;
  }

  /** Continues the actions that an earlier process began. */
  resume(memos: ReadonlyMap<string, Uint8Array>): void {
    const records: ActionRecord[] = [];
    for (const [name, bytes] of memos)
      if (name.startsWith(actionMemoPrefix)) records.push(JSON.parse(Buffer.from(bytes).toString("utf8")));
    records.sort((one, other) => Number(one.id) - Number(other.id));
    for (const record of records) {
      this.#lastId = Number(record.id);
      this.#start(record);
    }
  }

  /** Resolves when the action is committed; it runs from then on. */
  async begin(asked: NewAction): Promise<ActionRecord> {
    this.#makeRoom();
    this.#lastId += 1;
    const id = String(this.#lastId);
    const startedAt = this.#port.now().wall;
    const counts = { walk: 0, matched: 0, done: 0, refused: 0 };
    const record: ActionRecord = { ...asked, id, startedAt, state: "running", ...counts };
    // Listed at once, so that the limit holds for actions that begin together.
    this.#entries.set(id, { record, isStopping: false, over: Promise.resolve() });
    try {
      const begun = (await this.#commit({ record })).action;
      this.#start(begun);
      return begun;
    } catch (fault) {
      this.#entries.delete(id);
      throw fault;
    }
  }

  /** Newest first. */
  list(): readonly ActionRecord[] {
    return [...this.#entries.values()].map(({ record }) => record).reverse();
  }

  get(id: string): ActionRecord {
    return this.#entry(id).record;
  }

  /** Resolves when it has ended, which may be because there was nothing left to do. */
  async stop(id: string): Promise<ActionRecord> {
    const entry = this.#entry(id);
    entry.isStopping = true;
    await entry.over;
    return entry.record;
  }

  close(): void {
    this.#isClosed = true;
  }

  #entry(id: string): Entry {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new Problem("not_found", `there is no action ${id.slice(0, 40)}`);
    return entry;
  }

  #makeRoom(): void {
    const entries = [...this.#entries];
    const ended = entries.filter(([, { record }]) => record.state !== "running");
    if (entries.length - ended.length >= runningActionsMax) {
      const advice = "wait for one to end, or stop one with POST /v1/actions/{id}:stop";
      throw new Problem("queue_full", `${runningActionsMax} actions are running, the limit; ${advice}`);
    }
    for (const [id] of ended.slice(0, Math.max(0, ended.length + 1 - endedActionsMax))) {
      this.#entries.delete(id);
      this.#port.post({ type: "memo-dropped", name: actionMemoName(id) });
    }
  }

  #start(record: ActionRecord): void {
    const entry = { record, isStopping: false, over: Promise.resolve() };
    this.#entries.set(record.id, entry);
    entry.over = this.#run(entry);
  }

  async #run(entry: Entry): Promise<void> {
    while (entry.record.state === "running" && !this.#isClosed) {
      try {
        // A step is durable long before the store has taken it over. Without this, steps would fill
        // the journal, and then all commits wait for seconds.
        await this.#port.reads.whenCaughtUp();
        await this.#step(entry);
      } catch (fault) {
        // The dispatcher is stopping, or a page could not be read.
        if (this.#isClosed) return;
        this.#log.warn({ err: fault, action: entry.record.id }, "a step of an action failed; tried again");
        await sleep(troubleMs, undefined, { ref: false });
      }
    }
  }

  async #step(entry: Entry): Promise<void> {
    const { record } = entry;
    const walk = walksOf(record)[record.walk];
    if (entry.isStopping || walk === undefined) {
      const state = walk === undefined ? "done" : "stopped";
      const ended: ActionRecord = { ...record, state, endedAt: this.#port.now().wall };
      entry.record = (await this.#commit({ record: ended })).action;
    } else if (walk.type === "ready") {
      const work = { type: "purge", queue: walk.queue, max: stepTasks } as const;
      const { action, isMore } = await this.#commit({ record, work });
      entry.record = isMore ? action : nextWalk(action);
    } else if (record.kind === "retry") await this.#retry(entry, walk);
    else entry.record = (await this.#commit(await this.#cancel(record, walk))).action;
  }

  async #cancel(record: ActionRecord, walk: FoundWalk): Promise<Next> {
    const { items, cursor } = await this.#port.reads.find(pageOf(walk, record, stepTasks));
    const tasks = items.map(({ head }) => head.id);
    const { state } = walk.query;
    return { record: after(record, cursor, tasks.at(-1)), work: { type: "cancel", tasks, state } };
  }

  /** One page, in as many steps as its payloads need. */
  async #retry(entry: Entry, walk: FoundWalk): Promise<void> {
    const { items, cursor } = await this.#port.reads.find(pageOf(walk, entry.record, retryTasks));
    const mayBeGraphs = await hasCancelledDependents(this.#port.reads);
    let submissions: Submission[] = [];
    let bytes = 0;
    let unreadable = 0;
    for (const task of items) {
      if (mayBeGraphs && (await this.#isOfGraph(entry.record, task))) continue;
      const graph = mayBeGraphs ? await this.#dependentsOf(entry.record, task) : [];
      if (graph.length > 0) {
        const before = { ...entry.record, below: task.head.id + 1 };
        if (submissions.length + unreadable > 0) await this.#submit(entry, before, submissions, unreadable);
        submissions = [];
        bytes = unreadable = 0;
        await this.#submitGraph(entry, [task, ...graph]);
        if (this.#isClosed || entry.isStopping) return;
        continue;
      }
      const submission = await this.#retried(task);
      if (submission === undefined) unreadable += 1;
      else submissions.push(submission);
      bytes += submission?.payload.size ?? 0;
      if (this.#isClosed) return;
      if (bytes < retryBytes && !entry.isStopping) continue;
      await this.#submit(entry, { ...entry.record, below: task.head.id }, submissions, unreadable);
      if (entry.isStopping) return;
      submissions = [];
      bytes = unreadable = 0;
    }
    await this.#submit(entry, after(entry.record, cursor, items.at(-1)?.head.id), submissions, unreadable);
  }

  async #submit(entry: Entry, record: ActionRecord, submissions: Submission[], lost: number): Promise<void> {
    const refusal = lost > 0 ? { lastRefusal: evicted } : {};
    const counted = { ...record, ...refusal, matched: record.matched + lost, refused: record.refused + lost };
    entry.record = (await this.#commit({ record: counted, work: { type: "submit", submissions } })).action;
  }

  /**
   * True if it was cancelled because of a task that this action retries, and so is retried with
   * that one.
   */
  async #isOfGraph(record: ActionRecord, task: StoredTask): Promise<boolean> {
    const cause = causeOf(task);
    const caused = cause === undefined ? undefined : await this.#port.reads.task(cause);
    return caused !== undefined && isRetriedBy(record, caused);
  }

  /**
   * The tasks that were cancelled because of this one, level by level, as far as the action matches
   * them.
   */
  async #dependentsOf(record: ActionRecord, task: StoredTask): Promise<StoredTask[]> {
    const found = new Map<TaskId, StoredTask>([[task.head.id, task]]);
    // A map is walked in the order in which it grows.
    for (const id of found.keys()) {
      for await (const dependent of cancelledBecauseOf(this.#port.reads, id)) {
        if (isRetriedBy(record, dependent)) found.set(dependent.head.id, dependent);
        if (found.size > graphTasksMax) return [...found.values()].slice(1);
      }
    }
    return [...found.values()].slice(1);
  }

  /** A task and its dependents, all or none. */
  async #submitGraph(entry: Entry, tasks: readonly StoredTask[]): Promise<void> {
    const record = { ...entry.record, below: (tasks[0] as StoredTask).head.id };
    const retried: RetriedTask[] = [];
    let bytes = 0;
    for (const task of tasks) {
      bytes += task.head.payload.size;
      const fits = tasks.length <= graphTasksMax && bytes <= graphBytesMax;
      const submission = fits ? await this.#retried(task) : undefined;
      if (submission === undefined) return this.#refuseGraph(entry, record, tasks.length, fits);
      retried.push({ task, submission });
    }
    const work = { type: "submit-graph", ...retriedGraph(retried) } as const;
    entry.record = (await this.#commit({ record, work })).action;
  }

  async #refuseGraph(entry: Entry, record: ActionRecord, tasks: number, fits: boolean): Promise<void> {
    const lastRefusal = fits
      ? evicted
      : `More than ${graphTasksMax} tasks or ${graphBytesMax} bytes depend on each other.`;
    const counted = { matched: record.matched + tasks, refused: record.refused + tasks, lastRefusal };
    entry.record = (await this.#commit({ record: { ...record, ...counted } })).action;
  }

  /** Undefined if retention evicted the task after it was found. */
  async #retried(task: StoredTask): Promise<Submission | undefined> {
    const { payload } = task.head;
    const body = payload.bytes === undefined ? await this.#port.reads.body(task.head.id, "payload") : payload;
    if (body === undefined) return undefined;
    const submission = retriedSubmission(task, body);
    const after = await doneDependencies(this.#port.reads, task);
    if (after.length === 0) return submission;
    return { ...submission, after, pastOutcomes: after.map((id) => ({ task: id, state: "done" })) };
  }

  async #commit({ record: action, work }: Next) {
    const step = { type: "action-stepped", action, ...(work && { work }) } as const;
    const answer = await this.#exchange.ask((request) => ({ ...step, request }));
    if (answer.type !== "acted") throw new Error(`a step of an action was answered with ${answer.type}`);
    return answer;
  }
}

function after(record: ActionRecord, cursor: string | undefined, last: TaskId | undefined): ActionRecord {
  return cursor === undefined || last === undefined ? nextWalk(record) : { ...record, below: last };
}

function nextWalk({ below: _, ...record }: ActionRecord): ActionRecord {
  return { ...record, walk: record.walk + 1 };
}
