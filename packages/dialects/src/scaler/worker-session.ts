// A worker's end of the dialect, in either form. It sends heartbeats, queues tasks, requests their
// objects, runs up to `concurrency` tasks at a time, and answers each with a result object and a
// result. Time is an argument; the session returns what to do.

import type { Instant, Moment } from "@yardmaster/core";
import { isProgram } from "./codec.js";
import { HeartbeatPace } from "./heartbeat-pace.js";
import { resultId } from "./ids.js";
import type { Processor, TaskCancel, TaskMessage, TaskStatus, ToWorker, WorkerMessage } from "./messages.js";
import { keyOf } from "./objects.js";
import { pickledException } from "./pickle.js";
import { resultMetadata } from "./structs.js";
import type { ScalerWorkerHost, ScalerWorkerSettings } from "./worker-host.js";
import { WorkerObjects } from "./worker-objects.js";
import { HeldTask, WaitingTasks } from "./worker-tasks.js";

/** Many times what a scheduler sends to one worker. Tasks beyond it fail. */
const tasksMax = 100_000;
/**
 * While disconnected no new task begins, so there are never more answers than tasks that can run.
 */
const lateMax = 10_000;
const noMetadata = Buffer.alloc(0);

export class ScalerWorkerSession {
  readonly #identity: Buffer;
  readonly #settings: ScalerWorkerSettings;
  readonly #host: ScalerWorkerHost;
  readonly #objects: WorkerObjects;
  readonly #pace: HeartbeatPace;
  /** All tasks that it holds, begun or not. */
  readonly #held = new Map<string, HeldTask>();
  readonly #waiting = new WaitingTasks();
  /** Waiting tasks that have all their objects. */
  readonly #ready = new Set<HeldTask>();
  readonly #runs = new Map<number, HeldTask>();
  /** Runs that have not ended and whose answer is no longer wanted. */
  readonly #aborted = new Set<number>();
  /** Answers produced while disconnected: an object and a result each. */
  readonly #late: WorkerMessage[] = [];
  #lastRun = 0;
  #taken = 0;
  #state: "away" | "there" | "leaving" | "asked to go" | "gone" = "away";
  #leaveBy = 0 as Instant;

  constructor(identity: Buffer, settings: ScalerWorkerSettings, host: ScalerWorkerHost) {
    this.#identity = identity;
    this.#settings = settings;
    this.#host = host;
    this.#pace = new HeartbeatPace(settings);
    this.#objects = new WorkerObjects(settings.objectBytesMax, {
      ask: (ids) => host.send({ type: "object-request", ids }),
      ready: (task) => this.#ready.add(task),
      failed: (task, id) => this.#failUnbegun(task, `The scheduler has no object ${id.toString("hex")}.`),
    });
  }

  get queued(): number {
    return this.#waiting.size;
  }

  get running(): number {
    return this.#runs.size;
  }

  connected(now: Moment): void {
    if (this.#state !== "away") return;
    this.#state = "there";
    this.#pace.restart();
    this.#beat(now);
    for (const message of this.#late.splice(0)) this.#host.send(message);
  }

  /**
   * [scaler 10.4] Tasks that have not begun now belong to other workers. Running tasks go on: a
   * scheduler that was restarted accepts their answers, and one that gave up on this worker refuses
   * them.
   */
  disconnected(now: Moment): void {
    if (this.#state === "gone" || this.#state === "away") return;
    const wasLeaving = this.#state !== "there";
    this.#state = "away";
    for (const task of this.#runs.values()) task.isOfBefore = true;
    for (const task of this.#waiting) this.#held.delete(task.key);
    this.#waiting.clear();
    this.#ready.clear();
    this.#objects.clear();
    if (wasLeaving) this.leave(now);
  }

  /**
   * Begins nothing more, lets running tasks finish, and says goodbye. Tasks that have not begun go
   * to other workers.
   */
  leave(now: Moment): void {
    if (this.#state === "away") this.#end();
    if (this.#state !== "there") return;
    this.#state = "leaving";
    this.#advance(now);
  }

  receive(message: ToWorker, now: Moment): void {
    switch (message.type) {
      case "task":
        this.#take(message);
        break;
      case "object-answer":
        this.#objects.answered(message);
        break;
      case "object-delete":
        this.#objects.drop(message.ids);
        break;
      case "heartbeat-echo":
        this.#pace.echoed(now);
        break;
      case "task-cancel":
        this.#cancel(message);
        break;
      case "balance-request":
        this.#giveBack(message.count);
        break;
      case "client-disconnect":
        this.leave(now);
        break;
      case "disconnect-response":
        this.#end();
        break;
      default:
        message satisfies never;
    }
    this.#advance(now);
  }

  finish(run: number, result: Buffer, now: Moment): void {
    this.#over(run, "S", result, now);
  }

  fail(run: number, text: string, now: Moment): void {
    this.#over(run, "F", pickledException(text), now);
  }

  nextDeadline(): Instant | undefined {
    if (this.#state === "away" || this.#state === "gone") return undefined;
    if (this.#state === "asked to go") return this.#leaveBy;
    return this.#pace.nextDeadline;
  }

  handleTimeout(now: Moment): void {
    const deadline = this.nextDeadline();
    if (deadline === undefined || now.instant < deadline) return;
    if (this.#state === "asked to go") this.#end();
    else if (this.#pace.due(now) === "heartbeat") this.#beat(now);
    else {
      this.disconnected(now);
      this.#host.reconnect();
    }
  }

  #beat(now: Moment): void {
    const { pid, cpu, rssBytes, freeRssBytes } = this.#host.resources();
    const { wire } = this.#settings;
    const idle = { pid, isInitialized: true, hasTask: false, isSuspended: false, cpu, rssBytes };
    // [scaler 10.3] The original program reports no processors in its first heartbeat.
    const processors = this.#pace.count === 0 && isProgram(wire) ? [] : this.#processors(idle);
    this.#host.send({
      type: "heartbeat",
      wire,
      agentCpu: cpu,
      agentRssBytes: rssBytes,
      freeRssBytes,
      queuedTasks: this.#waiting.size,
      latencyUs: this.#pace.latencyUs,
      hasTaskLock: false,
      processors,
    });
    this.#pace.sent(now);
  }

  #processors(idle: Processor): Processor[] {
    const urgent = this.#mostUrgent;
    const all: Processor[] = [...this.#runs.values()].map(({ priority }) => ({
      ...idle,
      hasTask: true,
      isSuspended: priority > urgent,
    }));
    while (all.length < this.#settings.concurrency) all.push(idle);
    return all;
  }

  #take(message: TaskMessage): void {
    // A task that is received twice is one task.
    const known = this.#held.get(keyOf(message.task));
    if (known !== undefined) known.isGivenBack = false;
    if (this.#state === "gone" || known !== undefined) return;
    this.#taken += 1;
    const task = new HeldTask(message, this.#taken);
    this.#held.set(task.key, task);
    this.#waiting.add(task);
    if (this.#held.size > tasksMax)
      this.#failUnbegun(task, `This worker holds ${tasksMax} tasks, and takes no more.`);
  }

  /**
   * [scaler 3.4] Form d answers every cancel. The original program ignores a cancel of a running
   * task unless it is forced.
   */
  #cancel({ task: id, flags }: TaskCancel): void {
    const task = this.#held.get(keyOf(id));
    const isForced = flags?.force ?? false;
    // [scaler 10.4] After reconnecting, the worker is asked to return tasks that it may hold. It
    // may then receive the same task again.
    if (task?.isOfBefore === true && (isForced || !isProgram(this.#settings.wire))) {
      task.isOfBefore = false;
      task.isGivenBack = true;
      return this.#answer(id, "C");
    }
    if (!isProgram(this.#settings.wire)) {
      if (task !== undefined) this.#dropTask(task);
      this.#answer(id, "C");
    } else if (task === undefined) {
      if (isForced) this.#answer(id, "N");
    } else if (task.run === 0 || isForced) {
      this.#dropTask(task);
      this.#answer(id, "C");
    }
  }

  /** [scaler 3.5] */
  #giveBack(count: number): void {
    const given = this.#waiting.last(Math.min(count, this.#waiting.size));
    for (const task of given) this.#dropTask(task);
    this.#host.send({ type: "balance-response", tasks: given.map(({ message }) => message.task) });
  }

  #dropTask(task: HeldTask): void {
    this.#held.delete(task.key);
    if (task.run !== 0) this.#abort(task.run);
    else this.#unqueue(task);
  }

  #unqueue(task: HeldTask): void {
    this.#waiting.delete(task);
    if (task.missing === undefined) return;
    this.#ready.delete(task);
    this.#objects.forget(task);
  }

  #abort(run: number): void {
    this.#runs.delete(run);
    this.#aborted.add(run);
    this.#host.abort(run);
  }

  #failUnbegun(task: HeldTask, text: string): void {
    this.#dropTask(task);
    this.#tell(task, "F", pickledException(text), 0);
  }

  #over(run: number, status: "S" | "F", bytes: Buffer, now: Moment): void {
    const task = this.#runs.get(run);
    if (task !== undefined) {
      this.#runs.delete(run);
      this.#held.delete(task.key);
      if (!task.isGivenBack) this.#tell(task, status, bytes, (now.instant - task.begunAt) / 1_000);
    } else this.#aborted.delete(run);
    this.#advance(now);
  }

  /** [scaler 2.3] The object first: the reader of the result may request it at once. */
  #tell({ message }: HeldTask, status: "S" | "F", bytes: Buffer, seconds: number): void {
    const { source, task } = message;
    const id = resultId(source, this.#host.unique());
    const names = [Buffer.from(`<res ${id.toString("hex", 0, 3)}>`)];
    const hasSplitCounts = this.#settings.wire === "d-split";
    const metadata = resultMetadata(seconds, 0n);
    this.#say({ type: "object-create", source, ids: [id], names, bytes: [bytes], hasSplitCounts });
    this.#say({ type: "task-result", task, status, metadata, results: [id] });
  }

  #say(message: WorkerMessage): void {
    if (this.#state !== "away") this.#host.send(message);
    else if (this.#late.length < lateMax) this.#late.push(message);
  }

  #answer(task: Buffer, status: TaskStatus): void {
    this.#host.send({ type: "task-result", task, status, metadata: noMetadata, results: [] });
  }

  #advance(now: Moment): void {
    if (this.#state === "leaving" && this.#runs.size === 0) {
      this.#state = "asked to go";
      this.#leaveBy = later(now.instant, this.#settings.leaveMs);
      this.#host.send({ type: "disconnect-request", worker: this.#identity });
    }
    if (this.#state !== "there") return;
    this.#collect();
    for (let task = this.#nextToBegin(); task !== undefined; task = this.#nextToBegin()) {
      this.#begin(task, now);
      this.#collect();
    }
  }

  /**
   * Requests the objects of the tasks that begin next. An urgent task is served before tasks that
   * came earlier.
   */
  #collect(): void {
    const { concurrency, fetchAhead } = this.#settings;
    let count = concurrency + Math.min(fetchAhead, this.#objects.ahead);
    for (const task of this.#waiting) {
      if (task.missing === undefined) {
        if (!this.#objects.mayAsk) return;
        this.#objects.collect(task);
      }
      count -= 1;
      if (count <= 0) return;
    }
  }

  /**
   * [scaler 3.8] A task that is more urgent than every running one begins in addition to them,
   * because they may wait for it.
   */
  #nextToBegin(): HeldTask | undefined {
    let next: HeldTask | undefined;
    for (const task of this.#ready) if (next === undefined || isBefore(task, next)) next = task;
    if (next === undefined) return undefined;
    const isFree = this.#runs.size + this.#aborted.size < this.#settings.concurrency;
    const isUrgent = this.#runs.size > 0 && next.priority < this.#mostUrgent;
    return isFree || isUrgent ? next : undefined;
  }

  get #mostUrgent(): number {
    let most = Number.POSITIVE_INFINITY;
    for (const { priority } of this.#runs.values()) most = Math.min(most, priority);
    return most;
  }

  #begin(task: HeldTask, now: Moment): void {
    this.#unqueue(task);
    this.#lastRun += 1;
    task.run = this.#lastRun;
    task.begunAt = now.instant;
    this.#runs.set(task.run, task);
    const [called, ...given] = task.objects as Buffer[];
    const { run, priority, message } = task;
    this.#host.run({
      run,
      task: message.task,
      source: message.source,
      priority,
      function: called as Buffer,
      arguments: given,
    });
  }

  #end(): void {
    if (this.#state === "gone") return;
    this.#state = "gone";
    for (const run of this.#runs.keys()) this.#abort(run);
    this.#host.ended();
  }
}

function isBefore(one: HeldTask, other: HeldTask): boolean {
  return one.priority === other.priority ? one.order < other.order : one.priority < other.priority;
}

function later(instant: Instant, ms: number): Instant {
  return (instant + ms) as Instant;
}
