// A worker from the door's side: the tasks it holds, those it was asked to return or stop, and what
// its answers mean to the core. Its answers name tasks but not attempts, so it can only answer a
// task that it holds [scaler 3.3].

import type {
  AttemptNumber,
  Effect,
  LossReason,
  TaskHead,
  TaskId,
  WorkerId,
  YardEvent,
} from "@yardmaster/core";
import { type AnsweredTask, type AttemptRef, meaningOf, missingResult, refusedHoldMs } from "./answers.js";
import { foreignArgument, foreignObject, foreignTask, taskIn, yardSource } from "./bodies.js";
import { code, isProgram, writeToWorker } from "./codec.js";
import type { WorkerHost, WorkerSettings } from "./door-worker-host.js";
import { HeldAttempt, HeldTasks } from "./held-tasks.js";
import { hashOf } from "./id-table.js";
import type { ScalerLine } from "./line.js";
import { MadeObjects } from "./made-objects.js";
import type {
  BalanceResponse,
  Heartbeat,
  ScalerWire,
  TaskMessage,
  TaskResult,
  ToWorker,
  WorkerMessage,
} from "./messages.js";
import { ObjectCreation } from "./object-creation.js";
import { ObjectExchange, type ObjectRequester } from "./object-exchange.js";
import { keyOf } from "./objects.js";
import type { OwedTasks } from "./owed-tasks.js";
import { endAt, type IdBytes, idBytes, PackedResult, PackedTask } from "./packed-messages.js";
import { sendPacked } from "./packed-writer.js";
import { withBytes } from "./result-reading.js";
import type { ObjectContent, ScalerObject } from "./scaler-object.js";
import { TaskReturns } from "./task-returns.js";
import { infoOf } from "./worker-info.js";

type Assign = Extract<Effect, { type: "assign" }>;
type Revoke = Extract<Effect, { type: "revoke" }>;
type Recall = Extract<Effect, { type: "recall" }>;

export class ScalerDoorWorker implements ObjectRequester {
  readonly role = "worker";
  readonly id: WorkerId;
  readonly line: ScalerLine;
  readonly #settings: WorkerSettings;
  readonly #exchange: ObjectExchange;
  readonly #host: WorkerHost;
  readonly #held = new HeldTasks();
  readonly #made: MadeObjects;
  /** [scaler 3.9] Tasks that it may hold in addition to `#held`. */
  readonly #returns: TaskReturns;
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
    owed?: OwedTasks,
  ) {
    this.id = id;
    this.line = line;
    this.wire = wire;
    this.hasSplitCounts = wire === "d-split";
    this.#settings = settings;
    this.#exchange = exchange;
    this.#made = new MadeObjects(exchange.objects);
    this.#host = host;
    this.#returns = new TaskReturns(owed, {
      now: () => host.now().instant,
      cancel: (task) => this.#cancel(task, true),
      give: (task) => sendPacked(line, code.TK, task),
      giveUp: (held, reason) => this.#giveUp(held, reason),
      pastTasks: (from, max) => host.pastTasks(from, max),
    });
  }

  /** Tasks that it may still hold when it comes back. */
  get owed(): OwedTasks {
    return this.#returns.owed;
  }

  receive(message: WorkerMessage): void {
    switch (message.type) {
      case "task-result":
        return this.#resulted(PackedResult.of(message));
      case "object-create":
        return this.#creates(ObjectCreation.of(message));
      case "object-request":
        return this.#exchange.request(this, message.ids);
      case "heartbeat":
        return this.#beat(message);
      case "balance-response":
        return this.#givenBack(message);
      case "disconnect-request":
        return this.#goodbye(message.worker);
      case "object-delete":
        // [scaler 5.4] Only owners may delete objects.
        return this.#host.fault("not_its_object", this.line.name);
      default:
        message satisfies never;
    }
  }

  assign({ task, attempt }: Assign): void {
    // Assigned before the core learned that the worker left; that loss returns the task too.
    if (!this.#isKnown) return;
    if (this.#give(task, attempt)) return;
    const ref = { worker: this.id, task: task.id, attempt };
    this.#host.post({ type: "attempt-returned", reason: "undelivered", holdMs: refusedHoldMs, ...ref });
  }

  /** Refuses an id that the worker already holds: it would answer both tasks as one. */
  #give(task: TaskHead, attempt: AttemptNumber): boolean {
    const own = task.door === this.#settings.door ? taskIn(task.payload) : undefined;
    const message = own ?? PackedTask.of(foreignTask(task, this.#settings.functionName));
    const hash = this.#hash(message);
    if (this.#held.get(hash, message.bytes, message.taskAt, message.taskEnd) !== undefined) return false;
    const payload = own === undefined ? task.payload : undefined;
    const held = new HeldAttempt(task.id, attempt, payload, hash, message.idToKeep());
    // `goesOutAgain` must be called in every case, because it also records the task.
    const isOfBefore = this.#host.goesOutAgain(held);
    if (isOfBefore || this.owed.get(message) !== undefined) this.#returns.defer(held, message);
    else if (!sendPacked(this.line, code.TK, message)) return false;
    this.#held.add(held);
    return true;
  }

  #hash({ bytes, taskAt, taskEnd }: IdBytes): number {
    return hashOf(this.#settings.idSecret, bytes, taskAt, taskEnd);
  }

  #find(id: IdBytes): HeldAttempt | undefined {
    return this.#held.get(this.#hash(id), id.bytes, id.taskAt, id.taskEnd);
  }

  /** [scaler 3.4] Forced, because a form-r worker does not answer a cancel that is not. */
  revoke({ task, attempt }: Revoke): void {
    const held = this.#held.ofTask(task);
    if (held === undefined || held.attempt !== attempt) return;
    if (held.isDeferred) return this.#returns.withdraw(held, "undelivered");
    held.isRevoked = true;
    this.#cancel(held.id, true);
  }

  /** [scaler 3.5] Each task is recalled once. A worker keeps the tasks that it has begun. */
  recall({ attempts }: Recall): void {
    const named: HeldAttempt[] = [];
    for (const { task, attempt } of attempts) {
      const held = this.#held.ofTask(task);
      if (held === undefined || held.attempt !== attempt || held.isRevoked) continue;
      if (held.isDeferred) {
        this.#returns.withdraw(held, "balance");
        continue;
      }
      held.isRecalled = true;
      named.push(held);
    }
    if (named.length === 0) return;
    if (isProgram(this.wire)) for (const held of named) this.#cancel(held.id, false);
    else this.line.answer(writeToWorker({ type: "balance-request", count: named.length }, this.wire));
  }

  /** The core has no room for this worker. Its next heartbeat lets it join again. */
  dismiss(): void {
    this.#isKnown = false;
  }

  shutDown(): void {
    this.line.answer(writeToWorker({ type: "client-disconnect", kind: "shutdown" }, this.wire));
  }

  /** Tasks that it holds now it may still hold when it comes back. */
  leave(reason: LossReason): void {
    this.#returns.leave(this.#held);
    this.#held.clear();
    this.#made.dropAll();
    this.#exchange.dropRequester(this);
    if (!this.#isKnown) return;
    this.#isKnown = false;
    this.#host.post({ type: "worker-left", worker: this.id, reason });
  }

  /** [scaler 3.9] Asks for tasks that it may hold, and echoes a heartbeat that may be lost. */
  comesBack(): void {
    this.#send({ type: "heartbeat-echo" });
    this.#returns.askForAll();
  }

  /** [scaler 3.9] A result of an earlier connection counts if the task has not ended since. */
  #answeredLate(task: TaskId | undefined, message: PackedResult, object: ScalerObject | undefined): void {
    const isOpen = message.status === "S" && this.#host.isOpen(message.task);
    const ref = task !== undefined && isOpen ? { worker: this.id, task, attempt: undefined } : undefined;
    const post = ref && this.#meaning(message, object, recovered, ref);
    if (post?.type !== "attempt-done") return this.#made.drop(message);
    this.#made.nameAll(message);
    this.#host.post({ type: "task-answered", task: post.task, by: this.line.name, result: post.result });
  }

  /** [scaler 7.2] The function and the argument of a task of another dialect. */
  virtual(id: Buffer): ObjectContent | undefined {
    const payloadOf = (task: TaskId) => this.#held.ofTask(task)?.payload;
    return foreignObject(id, this.#settings.functionName, payloadOf);
  }

  #beat(heartbeat: Heartbeat): void {
    this.#send({ type: "heartbeat-echo" });
    this.wire = heartbeat.wire;
    if (!this.#isKnown) this.#join();
    this.#returns.accountFor(heartbeat, this.#held, (id) => this.#find(idBytes(id)) !== undefined);
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
        // [scaler 3.8] The worker may run a more urgent task before those that it already holds.
        ...{ runsAtOnce: 1, pulls: false, givesBack: true, acceptsUrgentOverflow: true },
      },
    });
  }

  /** [scaler 5.1] Results of its tasks, each owned by an existing client or by the door. */
  #creates(creation: ObjectCreation): void {
    this.hasSplitCounts = creation.hasSplitCounts || this.wire === "d-split";
    const owner = this.#host.ownerIn(creation.frames, creation.sourceAt);
    if (owner === undefined) this.#host.fault("unknown_source", this.line.name);
    else this.#exchange.create(owner, creation, this.line, this.#made);
  }

  #resulted(message: PackedResult): void {
    const { bytes, resultAt } = message;
    const object =
      resultAt < bytes.length
        ? this.#exchange.objects.find(bytes, resultAt, endAt(bytes, resultAt))
        : undefined;
    if (object?.isOutOfLine !== true) return this.#answered(message, object);
    withBytes(object, this, this.#exchange, () => this.#answered(message, object));
  }

  #answered(message: PackedResult, object: ScalerObject | undefined): void {
    const held = this.#find(message);
    const owed = this.owed.get(message);
    if (held === undefined && owed === undefined) return this.#answeredUnheld(message, object);
    const { status } = message;
    if (status === "I" || status === "R" || status === "X") {
      // [scaler 3.3] These states do not end a task.
      this.#host.fault("unexpected_status", this.line.name);
      return;
    }
    const answer = owed === undefined ? "attempt" : this.#returns.answered(owed, message, this.wire);
    if (answer === "settled") return this.#made.drop(message);
    if (held === undefined || answer === "late") return this.#answeredLate(owed?.task, message, object);
    this.#held.delete(held);
    const { task, attempt } = held;
    const post = this.#meaning(message, object, held, { worker: this.id, task, attempt });
    // [scaler 3.9] A worker that reports a loss may still hold the task.
    if (post.type === "attempt-lost" && isProgram(this.wire)) this.#returns.ask(held);
    if (held.isRevoked) this.#made.drop(message);
    else this.#made.nameAll(message);
    this.#host.post(post);
    if (held.payload !== undefined) this.#clearForeign(held, message);
  }

  /** [scaler 3.7] The worker may have received the task before the restart. */
  #answeredUnheld(message: PackedResult, object: ScalerObject | undefined): void {
    const task = this.#host.recover(message.task);
    if (task === undefined || !this.#isKnown) {
      // A cancellation of a task that is no longer wanted is not a fault.
      if (message.status !== "C" && message.status !== "N") this.#host.fault("not_its_task", this.line.name);
      this.#made.drop(message);
      return;
    }
    const post = this.#meaning(message, object, recovered, { worker: this.id, task, attempt: undefined });
    // After the result was read: a named object's bytes leave memory.
    this.#made.nameAll(message);
    this.#host.post(post);
  }

  #meaning(
    message: PackedResult,
    object: ScalerObject | undefined,
    held: AnsweredTask,
    ref: AttemptRef,
  ): YardEvent {
    if (!message.hasOneResult && (message.status === "S" || message.status === "F"))
      this.#host.fault("bad_result", this.line.name);
    const post = meaningOf(message, object, held, ref, this.#exchange);
    if (post.type === "attempt-failed" && post.error.code === missingResult)
      this.#host.fault(missingResult, this.line.name);
    return post;
  }

  #giveUp(held: HeldAttempt, reason: "undelivered" | "balance"): void {
    this.#held.delete(held);
    const { task, attempt } = held;
    this.#host.post({ type: "attempt-returned", reason, worker: this.id, task, attempt });
  }

  /** [scaler 7.2] The worker no longer needs the objects of a foreign task. */
  #clearForeign(held: HeldAttempt, { results }: TaskResult): void {
    for (const id of results) this.#exchange.objects.disown(keyOf(yardSource), id);
    ObjectExchange.forget(this, [foreignArgument(held.task)]);
  }

  /** [scaler 3.5] Accepts any held task: the worker may have begun the requested ones. */
  #givenBack({ tasks }: BalanceResponse): void {
    for (const id of tasks) {
      const held = this.#find(idBytes(id));
      if (held === undefined) {
        this.#host.fault("not_its_task", this.line.name);
        continue;
      }
      this.#held.delete(held);
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
    // [scaler 3.6] A form-r worker that still runs a task does not expect this answer.
    if (wasIdle || !isProgram(this.wire)) this.#send({ type: "disconnect-response", worker });
  }

  #cancel(task: Buffer, force: boolean): void {
    const flags = { force, retrieveTaskObject: false };
    this.line.answer(writeToWorker({ type: "task-cancel", task, flags }, this.wire));
  }

  #send(message: ToWorker | TaskMessage): boolean {
    return this.line.send(writeToWorker(message, this.wire));
  }
}

/** A task that was sent before the restart. */
const recovered = { payload: undefined, isRevoked: false, isRecalled: false, isOfBefore: true };
