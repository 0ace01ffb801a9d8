// A worker as the door sees it: the tasks it holds, what it was asked to give back or give up, and what its answers mean to
// the core. Its answers name tasks and no attempts, so only a task that it holds can be answered [scaler 3.3].

import type { AttemptNumber, Body, Effect, LossReason, TaskId, WorkerId, YardEvent } from "@yardmaster/core";
import { bodyOf, bytesOf } from "../body.js";
import {
  foreignArgument,
  foreignTask,
  framesIn,
  isFunctionId,
  resultBody,
  taskOfArgument,
  yardSource,
} from "./bodies.js";
import { isProgram, word, writeToWorker } from "./codec.js";
import { pushTask } from "./frames.js";
import type { ScalerHost, ScalerLine } from "./line.js";
import type {
  BalanceResponse,
  Heartbeat,
  ObjectCreate,
  ScalerWire,
  TaskMessage,
  TaskResult,
  ToWorker,
  WorkerMessage,
} from "./messages.js";
import { type Asker, ObjectExchange } from "./object-exchange.js";
import { keyOf, type ObjectContent } from "./objects.js";
import { infoOf } from "./worker-info.js";

type Assign = Extract<Effect, { type: "assign" }>;
type Revoke = Extract<Effect, { type: "revoke" }>;
type Recall = Extract<Effect, { type: "recall" }>;

class Held {
  readonly key: string;
  readonly task: TaskId;
  readonly attempt: AttemptNumber;
  /** Of a task that came in by another door. */
  readonly payload: Body | undefined;
  isRecalled = false;
  isRevoked = false;

  constructor(key: string, task: TaskId, attempt: AttemptNumber, payload: Body | undefined) {
    this.key = key;
    this.task = task;
    this.attempt = attempt;
    this.payload = payload;
  }
}

export interface WorkerSettings {
  /** The door's name: tasks that came in by it are told from others. */
  readonly door: string;
  readonly queue: string;
  readonly slots: number;
  /** [scaler 7.2] What a task of another dialect calls. */
  readonly functionName: string;
}

export interface WorkerHost extends ScalerHost {
  /** The core's name of a task that was given out before we were started, while workers may come back for it. */
  recover(task: Buffer): TaskId | undefined;
  /** Whether there is a client of this id. */
  isClient(source: Buffer): boolean;
}

/** A worker that takes nothing now is left in peace for a while. */
const refusedHoldMs = 1_000;
/** Objects it created that no result has named yet. */
const createdMax = 10_000;

export class ScalerDoorWorker implements Asker {
  readonly role = "worker";
  readonly id: WorkerId;
  readonly line: ScalerLine;
  readonly #settings: WorkerSettings;
  readonly #exchange: ObjectExchange;
  readonly #host: WorkerHost;
  readonly #held = new Map<string, Held>();
  readonly #byTask = new Map<TaskId, Held>();
  readonly #created = new Map<string, { readonly owner: string; readonly id: Buffer }>();
  wire: ScalerWire;
  hasSplitCounts: boolean;
  #isKnown = false;

  constructor(
    id: WorkerId,
    line: ScalerLine,
    wire: ScalerWire,
    settings: WorkerSettings,
    exchange: ObjectExchange,
    host: WorkerHost,
  ) {
    this.id = id;
    this.line = line;
    this.wire = wire;
    this.hasSplitCounts = wire === "d-split";
    this.#settings = settings;
    this.#exchange = exchange;
    this.#host = host;
  }

  receive(message: WorkerMessage): void {
    switch (message.type) {
      case "task-result":
        return this.#answered(message);
      case "object-create":
        return this.#create(message);
      case "object-request":
        return this.#exchange.request(this, message.ids);
      case "heartbeat":
        return this.#beat(message);
      case "balance-response":
        return this.#givenBack(message);
      case "disconnect-request":
        return this.#goodbye(message.worker);
      case "object-delete":
        // [scaler 5.4] Objects are their owners' to delete.
        return this.#host.fault("not_its_object", this.line.name);
      default:
        message satisfies never;
    }
  }

  assign({ task, attempt }: Assign): void {
    // It was given out before the core heard that the worker is gone: that loss brings the task back, too.
    if (!this.#isKnown) return;
    const own = task.door === this.#settings.door ? framesIn(task.payload) : undefined;
    const frames = own ?? pushTask([], foreignTask(task, this.#settings.functionName));
    const key = keyOf(frames[0] ?? noBytes);
    const claim = { worker: this.id, task: task.id, attempt };
    const payload = own === undefined ? task.payload : undefined;
    const held = new Held(key, task.id, attempt, payload);
    // A worker tells tasks by their ids alone: two of one id would be answered as one.
    if (this.#held.has(key) || !this.line.send([word.TK, ...frames])) {
      this.#host.post({ type: "attempt-returned", reason: "undelivered", holdMs: refusedHoldMs, ...claim });
      return;
    }
    this.#held.set(key, held);
    this.#byTask.set(task.id, held);
  }

  /** [scaler 3.4] By force: a worker of form r says nothing to a gentler word. */
  revoke({ task, attempt }: Revoke): void {
    const held = this.#byTask.get(task);
    if (held === undefined || held.attempt !== attempt) return;
    held.isRevoked = true;
    this.#cancel(held, true);
  }

  /** [scaler 3.5] Once for each task; what has begun stays. */
  recall({ attempts }: Recall): void {
    const named: Held[] = [];
    for (const { task, attempt } of attempts) {
      const held = this.#byTask.get(task);
      if (held === undefined || held.attempt !== attempt || held.isRevoked) continue;
      held.isRecalled = true;
      named.push(held);
    }
    if (named.length === 0) return;
    if (isProgram(this.wire)) for (const held of named) this.#cancel(held, false);
    else this.line.answer(writeToWorker({ type: "balance-request", count: named.length }, this.wire));
  }

  /** The core has no room for it. It is as good as unknown, and asks again with its next heartbeat. */
  dismiss(): void {
    this.#isKnown = false;
  }

  shutDown(): void {
    this.line.answer(writeToWorker({ type: "client-disconnect", kind: "shutdown" }, this.wire));
  }

  leave(reason: LossReason): void {
    this.#held.clear();
    this.#byTask.clear();
    for (const { owner, id } of this.#created.values()) this.#exchange.objects.disown(owner, id);
    this.#created.clear();
    this.#exchange.dropAsker(this);
    if (!this.#isKnown) return;
    this.#isKnown = false;
    this.#host.post({ type: "worker-left", worker: this.id, reason });
  }

  /** [scaler 7.2] The function and the argument of another dialect's task. */
  virtual(id: Buffer): ObjectContent | undefined {
    const { functionName } = this.#settings;
    if (isFunctionId(id, functionName)) return { name: functionNameFrame, bytes: Buffer.from(functionName) };
    const task = taskOfArgument(id);
    const held = task && this.#byTask.get(task);
    return held?.payload === undefined
      ? undefined
      : { name: argumentNameFrame, bytes: bytesOf(held.payload) };
  }

  #beat(heartbeat: Heartbeat): void {
    this.#send({ type: "heartbeat-echo" });
    this.wire = heartbeat.wire;
    if (!this.#isKnown) this.#join();
    const info = infoOf(heartbeat);
    this.#host.post({ type: "worker-beat", worker: this.id, queued: heartbeat.queuedTasks, info });
  }

  #join(): void {
    this.#isKnown = true;
    const { queue, slots } = this.#settings;
    this.#host.post({
      type: "worker-joined",
      worker: this.id,
      profile: {
        ...{ dialect: "scaler", address: this.line.address, queues: [queue], slots },
        // [scaler 3.8] What it holds may wait for what is more urgent.
        ...{ runsAtOnce: 1, pulls: false, givesBack: true, passesLimit: true },
      },
    });
  }

  /** [scaler 5.1] For a client there is, or for the door. */
  #create(message: ObjectCreate): void {
    this.hasSplitCounts = message.hasSplitCounts || this.wire === "d-split";
    const { source } = message;
    if (!source.equals(yardSource) && !this.#host.isClient(source)) {
      this.#host.fault("unknown_source", this.line.name);
      return;
    }
    const owner = keyOf(source);
    for (const { key, id } of this.#exchange.create(owner, message, this.line.name)) {
      this.#created.set(key, { owner, id });
      if (this.#created.size <= createdMax) continue;
      const oldest = this.#created.keys().next();
      if (!oldest.done) this.#created.delete(oldest.value);
    }
  }

  #answered(message: TaskResult): void {
    const held = this.#held.get(keyOf(message.task));
    if (held === undefined) return this.#answeredUnheld(message);
    if (message.status === "I" || message.status === "R" || message.status === "X") {
      // [scaler 3.3] Not an end.
      this.#host.fault("unexpected_status", this.line.name);
      return;
    }
    this.#held.delete(held.key);
    this.#byTask.delete(held.task);
    const { task, attempt } = held;
    const post = this.#meaning(message, held, { worker: this.id, task, attempt });
    if (held.isRevoked) this.#dropResults(message);
    else if (this.#created.size > 0) for (const id of message.results) this.#created.delete(keyOf(id));
    this.#host.post(post);
    if (held.payload !== undefined) this.#clearForeign(held, message);
  }

  /** [scaler 3.7] It may have been given the task before we were started. */
  #answeredUnheld(message: TaskResult): void {
    const task = this.#host.recover(message.task);
    if (task === undefined || !this.#isKnown) {
      // A cancelled one that nobody asked for any more is no news.
      if (message.status !== "C" && message.status !== "N") this.#host.fault("not_its_task", this.line.name);
      this.#dropResults(message);
      return;
    }
    const held = new Held(keyOf(message.task), task, 0 as AttemptNumber, undefined);
    for (const id of message.results) this.#created.delete(keyOf(id));
    this.#host.post(this.#meaning(message, held, { worker: this.id, task, attempt: undefined }));
  }

  /** [scaler 3.3] What an answer says to the core. */
  #meaning(
    message: TaskResult,
    held: Held,
    claim: { worker: WorkerId; task: TaskId; attempt: AttemptNumber | undefined },
  ): YardEvent {
    switch (message.status) {
      case "S":
      case "F":
        return this.#resulted(message, held, claim);
      case "C":
        if (held.isRevoked) return { type: "attempt-returned", reason: "undelivered", ...claim };
        if (held.isRecalled) return { type: "attempt-returned", reason: "balance", ...claim };
        return { type: "attempt-lost", reason: "reported", ...claim };
      case "N":
        if (held.isRevoked || held.isRecalled)
          return { type: "attempt-returned", reason: "undelivered", ...claim };
        return { type: "attempt-lost", reason: "forgotten", ...claim };
      case "W":
        return { type: "attempt-returned", reason: "busy", holdMs: refusedHoldMs, ...claim };
      default:
        return { type: "attempt-lost", reason: "reported", ...claim };
    }
  }

  #resulted(
    message: TaskResult,
    held: Held,
    claim: { worker: WorkerId; task: TaskId; attempt: AttemptNumber | undefined },
  ): YardEvent {
    const [id] = message.results;
    if (id === undefined || message.results.length > 1) {
      // [scaler 2.3] A client cannot take any other number.
      this.#host.fault("bad_result", this.line.name);
      return failed(claim, "bad_result", "The worker named no result, or more than one.");
    }
    if (this.#exchange.wasRefused(id)) {
      return failed(
        claim,
        "object_limit",
        "The result had no room: the dispatcher's objects are at their limit.",
      );
    }
    const bytes = this.#exchange.contentOf(id)?.bytes ?? noBytes;
    const result =
      held.payload === undefined ? resultBody({ id, metadata: message.metadata }, bytes) : bodyOf(bytes);
    const { worker, task, attempt } = claim;
    if (message.status === "S") return { type: "attempt-done", worker, task, attempt, result };
    const error = { code: "failed", message: "The worker reported a failure; what it left is the result." };
    return { type: "attempt-failed", error, result, ...claim };
  }

  /** [scaler 7.2] What it keeps of another dialect's task is of no more use to it. */
  #clearForeign(held: Held, { results }: TaskResult): void {
    for (const id of results) this.#exchange.objects.disown(keyOf(yardSource), id);
    ObjectExchange.forget(this, [foreignArgument(held.task)]);
  }

  /** What it made for an attempt that no longer counts. */
  #dropResults({ results }: TaskResult): void {
    for (const id of results) {
      const created = this.#created.get(keyOf(id));
      if (created === undefined) continue;
      this.#created.delete(keyOf(id));
      this.#exchange.objects.disown(created.owner, id);
    }
  }

  /** [scaler 3.5] Whatever it names of what it holds; it may have begun what it was asked for, and chosen others. */
  #givenBack({ tasks }: BalanceResponse): void {
    for (const id of tasks) {
      const held = this.#held.get(keyOf(id));
      if (held === undefined) {
        this.#host.fault("not_its_task", this.line.name);
        continue;
      }
      this.#held.delete(held.key);
      this.#byTask.delete(held.task);
      const { task, attempt } = held;
      this.#host.post({ type: "attempt-returned", reason: "balance", worker: this.id, task, attempt });
    }
  }

  #goodbye(worker: Buffer): void {
    if (!worker.equals(this.line.identity)) {
      this.#host.fault("wrong_source", this.line.name);
      return;
    }
    const wasIdle = this.#held.size === 0;
    this.leave("goodbye");
    // [scaler 3.6] One of form r that still works does not expect it.
    if (wasIdle || !isProgram(this.wire)) this.#send({ type: "disconnect-response", worker });
  }

  #cancel(held: Held, force: boolean): void {
    const task = Buffer.from(held.key, "latin1");
    const flags = { force, retrieveTaskObject: false };
    this.line.answer(writeToWorker({ type: "task-cancel", task, flags }, this.wire));
  }

  #send(message: ToWorker | TaskMessage): boolean {
    return this.line.send(writeToWorker(message, this.wire));
  }
}

const noBytes = Buffer.alloc(0);
const functionNameFrame = Buffer.from("<function>");
const argumentNameFrame = Buffer.from("<argument>");

function failed(
  claim: { worker: WorkerId; task: TaskId; attempt: AttemptNumber | undefined },
  code: string,
  message: string,
): YardEvent {
  return { type: "attempt-failed", error: { code, message }, ...claim };
}
