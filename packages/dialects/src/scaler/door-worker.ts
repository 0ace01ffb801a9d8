// A worker as the door sees it: the tasks it holds, what it was asked to give back or give up, and what its answers mean to
// the core. Its answers name tasks and no attempts, so only a task that it holds can be answered [scaler 3.3].

import type {
  AttemptNumber,
  Effect,
  LossReason,
  TaskHead,
  TaskId,
  WorkerId,
  YardEvent,
} from "@yardmaster/core";
import { ownBytes } from "../body.js";
import { type AnsweredTask, type Claim, meaningOf, missingResult, refusedHoldMs } from "./answers.js";
import { foreignArgument, foreignObject, foreignTask, framesIn, ResultBody, yardSource } from "./bodies.js";
import { code, isProgram, word, writeToWorker } from "./codec.js";
import type { WorkerHost, WorkerSettings } from "./door-worker-host.js";
import { pushTask } from "./frames.js";
import { Held, HeldTasks } from "./held-tasks.js";
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
import { type Asker, ObjectExchange } from "./object-exchange.js";
import { keyOf } from "./objects.js";
import type { OwedTasks } from "./owed-tasks.js";
import { type PackedFrames, PackedWriter } from "./packed-frames.js";
import type { ObjectContent } from "./scaler-object.js";
import { resultMetadataBytes } from "./structs.js";
import { TaskBody, writeTaskBody } from "./task-body.js";
import { TaskReturns } from "./task-returns.js";
import { create, createPacked } from "./worker-creations.js";
import { infoOf } from "./worker-info.js";

type Assign = Extract<Effect, { type: "assign" }>;
type Revoke = Extract<Effect, { type: "revoke" }>;
type Recall = Extract<Effect, { type: "recall" }>;

export class ScalerDoorWorker implements Asker {
  readonly role = "worker";
  readonly id: WorkerId;
  readonly line: ScalerLine;
  readonly #settings: WorkerSettings;
  readonly #exchange: ObjectExchange;
  readonly #host: WorkerHost;
  readonly #held = new HeldTasks();
  readonly #made: MadeObjects;
  /** [scaler 3.9] What it may hold beside `#held`. */
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
      give: (frames) => line.send([word.TK, ...frames]),
      giveUp: (held, reason) => this.#giveUp(held, reason),
      outAgain: (from, max) => host.outAgain(from, max),
    });
  }

  /** What it may hold when it comes back. */
  get owed(): OwedTasks {
    return this.#returns.owed;
  }

  receive(message: WorkerMessage): void {
    switch (message.type) {
      case "task-result":
        return this.#answered(message);
      case "object-create":
        this.hasSplitCounts = message.hasSplitCounts || this.wire === "d-split";
        return create(message, this.line.name, this.#made, this.#exchange, this.#host);
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
    const { payload } = task;
    const live = payload instanceof TaskBody ? payload.liveTo(this.#settings.idSecret) : undefined;
    const isGiven =
      payload instanceof TaskBody && live !== undefined
        ? this.#givePacked(task.id, attempt, payload, live.idHash)
        : this.#give(task, attempt);
    if (isGiven) return;
    const claim = { worker: this.id, task: task.id, attempt };
    this.#host.post({ type: "attempt-returned", reason: "undelivered", holdMs: refusedHoldMs, ...claim });
  }

  /** A worker tells tasks by their ids alone: two of one id would be answered as one. */
  #give(task: TaskHead, attempt: AttemptNumber): boolean {
    const own = task.door === this.#settings.door ? framesIn(task.payload) : undefined;
    const frames = own ?? pushTask([], foreignTask(task, this.#settings.functionName));
    const id = frames[0] ?? noBytes;
    if (this.#find(id) !== undefined) return false;
    const place = { hash: this.#hash(id), bytes: ownBytes(id), from: 0, to: id.length };
    const held = new Held(task.id, attempt, own === undefined ? task.payload : undefined, place);
    // Both are asked: the first also takes note.
    const isOfBefore = this.#host.goesOutAgain(task.id, held.id);
    if (isOfBefore || this.owed.get(id) !== undefined) this.#returns.defer(held, frames);
    else if (!this.line.send([word.TK, ...frames])) return false;
    this.#held.add(held);
    return true;
  }

  /** The same for the usual case: a task that this door took in since it was started. */
  #givePacked(task: TaskId, attempt: AttemptNumber, body: TaskBody, hash: number): boolean {
    const { bytes, taskAt: from, taskEnd: to } = body;
    if (this.#held.get(hash, bytes, from, to) !== undefined) return false;
    if (this.owed.has(bytes, from, to)) {
      const held = new Held(task, attempt, undefined, { hash, bytes, from, to });
      this.#returns.defer(held, framesIn(body) ?? []);
      this.#held.add(held);
      return true;
    }
    writer.begin(code.TK);
    const isSent = writeTaskBody(writer, body)
      ? this.line.sendPacked(writer.bytes, 0, writer.length)
      : this.line.send([word.TK, ...(framesIn(body) ?? [])]);
    if (isSent) this.#held.add(new Held(task, attempt, undefined, { hash, bytes, from, to }));
    return isSent;
  }

  #hash(id: Buffer): number {
    return hashOf(this.#settings.idSecret, id, 0, id.length);
  }

  #find(id: Buffer): Held | undefined {
    return this.#held.get(this.#hash(id), id, 0, id.length);
  }

  /** [scaler 3.4] By force: a worker of form r says nothing to a gentler word. */
  revoke({ task, attempt }: Revoke): void {
    const held = this.#held.ofTask(task);
    if (held === undefined || held.attempt !== attempt) return;
    if (held.isDeferred) return this.#returns.withdraw(held, "undelivered");
    held.isRevoked = true;
    this.#cancel(held.id, true);
  }

  /** [scaler 3.5] Once for each task; what has begun stays. */
  recall({ attempts }: Recall): void {
    const named: Held[] = [];
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

  /** The core has no room for it. It is as good as unknown, and asks again with its next heartbeat. */
  dismiss(): void {
    this.#isKnown = false;
  }

  shutDown(): void {
    this.line.answer(writeToWorker({ type: "client-disconnect", kind: "shutdown" }, this.wire));
  }

  /** What it holds it may hold still when it comes back. */
  leave(reason: LossReason): void {
    this.#returns.leave(this.#held);
    this.#held.clear();
    this.#made.dropAll();
    this.#exchange.dropAsker(this);
    if (!this.#isKnown) return;
    this.#isKnown = false;
    this.#host.post({ type: "worker-left", worker: this.id, reason });
  }

  /** [scaler 3.9] It is back under its identity: it gives back what it may hold, and may wait for the echo of a lost heartbeat. */
  comesBack(): void {
    this.#send({ type: "heartbeat-echo" });
    this.#returns.askForAll();
  }

  /** [scaler 3.9] A result from before its connection closed counts if nobody has ended the task since. */
  #answeredLate(task: TaskId | undefined, message: TaskResult): void {
    const isOpen = message.status === "S" && this.#host.isOpen(message.task);
    const claim = task !== undefined && isOpen ? { worker: this.id, task, attempt: undefined } : undefined;
    const post = claim && this.#meaning(message, recovered, claim);
    if (post?.type !== "attempt-done") return this.#made.drop(message.results);
    this.#made.nameAll(message.results);
    this.#host.post({ type: "task-answered", task: post.task, by: this.line.name, result: post.result });
  }

  /** [scaler 7.2] The function and the argument of another dialect's task. */
  virtual(id: Buffer): ObjectContent | undefined {
    const payloadOf = (task: TaskId) => this.#held.ofTask(task)?.payload;
    return foreignObject(id, this.#settings.functionName, payloadOf);
  }

  #beat(heartbeat: Heartbeat): void {
    this.#send({ type: "heartbeat-echo" });
    this.wire = heartbeat.wire;
    if (!this.#isKnown) this.#join();
    this.#returns.accountFor(heartbeat, this.#held, (id) => this.#find(id) !== undefined);
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

  /** One object as it came, and nothing out of the ordinary; false where it is not that. */
  createPacked(frames: PackedFrames): boolean {
    const isTaken = isProgram(this.wire) && createPacked(frames, this.#made, this.#exchange, this.#host);
    if (isTaken) this.hasSplitCounts = false;
    return isTaken;
  }

  /** The usual answer as it came: a task that it holds is done, and left one result. False where it is not that. */
  answerPacked(frames: PackedFrames): boolean {
    if (frames.count !== 5 || !frames.isLetter(2, letterS) || frames.lengthOf(4) === 0) return false;
    const metadata = frames.lengthOf(3);
    if (metadata !== 0 && metadata !== resultMetadataBytes) return false;
    const { bytes, starts, ends } = frames;
    const from = starts[1] as number;
    const to = ends[1] as number;
    const held = this.#held.get(hashOf(this.#settings.idSecret, bytes, from, to), bytes, from, to);
    const isUsual = held?.payload === undefined && held?.isRevoked === false && !held.isDeferred;
    if (!isUsual || !isProgram(this.wire) || this.#exchange.hasRefused) return false;
    const object = this.#exchange.objects.find(bytes, starts[4] as number, ends[4] as number);
    if (object?.isThere !== true) return false;
    this.#held.delete(held);
    const id = bytes.toString("hex", starts[4] as number, ends[4] as number);
    const measured = metadata === 0 ? "" : bytes.toString("hex", starts[3] as number, ends[3] as number);
    const result = new ResultBody(id, measured, object.bytes ?? noBytes);
    this.#made.name(object);
    const { task, attempt } = held;
    this.#host.post({ type: "attempt-done", worker: this.id, task, attempt, result });
    return true;
  }

  #answered(message: TaskResult): void {
    const held = this.#find(message.task);
    const owed = this.owed.get(message.task);
    if (held === undefined && owed === undefined) return this.#answeredUnheld(message);
    if (message.status === "I" || message.status === "R" || message.status === "X") {
      // [scaler 3.3] Not an end.
      this.#host.fault("unexpected_status", this.line.name);
      return;
    }
    const answer = owed === undefined ? "attempt" : this.#returns.answered(owed, message, this.wire);
    if (answer === "settled") return this.#made.drop(message.results);
    if (held === undefined || answer === "late") return this.#answeredLate(owed?.task, message);
    this.#held.delete(held);
    const { task, attempt } = held;
    const post = this.#meaning(message, held, { worker: this.id, task, attempt });
    // [scaler 3.9] What it gives up of its own accord it may hold none the less.
    if (post.type === "attempt-lost" && isProgram(this.wire)) this.#returns.ask(held);
    if (held.isRevoked) this.#made.drop(message.results);
    else this.#made.nameAll(message.results);
    this.#host.post(post);
    if (held.payload !== undefined) this.#clearForeign(held, message);
  }

  /** [scaler 3.7] It may have been given the task before we were started. */
  #answeredUnheld(message: TaskResult): void {
    const task = this.#host.recover(message.task);
    if (task === undefined || !this.#isKnown) {
      // A cancelled one that nobody asked for any more is no news.
      if (message.status !== "C" && message.status !== "N") this.#host.fault("not_its_task", this.line.name);
      this.#made.drop(message.results);
      return;
    }
    this.#made.nameAll(message.results);
    this.#host.post(this.#meaning(message, recovered, { worker: this.id, task, attempt: undefined }));
  }

  #meaning(message: TaskResult, held: AnsweredTask, claim: Claim): YardEvent {
    if (message.results.length !== 1 && (message.status === "S" || message.status === "F"))
      this.#host.fault("bad_result", this.line.name);
    const post = meaningOf(message, held, claim, this.#exchange);
    if (post.type === "attempt-failed" && post.error.code === missingResult)
      this.#host.fault(missingResult, this.line.name);
    return post;
  }

  #giveUp(held: Held, reason: "undelivered" | "balance"): void {
    this.#held.delete(held);
    const { task, attempt } = held;
    this.#host.post({ type: "attempt-returned", reason, worker: this.id, task, attempt });
  }

  /** [scaler 7.2] What it keeps of another dialect's task is of no more use to it. */
  #clearForeign(held: Held, { results }: TaskResult): void {
    for (const id of results) this.#exchange.objects.disown(keyOf(yardSource), id);
    ObjectExchange.forget(this, [foreignArgument(held.task)]);
  }

  /** [scaler 3.5] Whatever it names of what it holds; it may have begun what it was asked for, and chosen others. */
  #givenBack({ tasks }: BalanceResponse): void {
    for (const id of tasks) {
      const held = this.#find(id);
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
    // [scaler 3.6] One of form r that still works does not expect it.
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

const noBytes = Buffer.alloc(0);
const letterS = 0x53;
/** Tasks of more bytes are rare. */
const writer = new PackedWriter(8 * 1024);
/** A task that was given out before we were started. */
const recovered = { payload: undefined, isRevoked: false, isRecalled: false, isOfBefore: true };
