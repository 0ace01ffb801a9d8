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
import { bytesOf, ownBytes } from "../body.js";
import { type AnsweredTask, type Claim, meaningOf, refusedHoldMs } from "./answers.js";
import {
  foreignArgument,
  foreignTask,
  framesIn,
  isFunctionId,
  ResultBody,
  taskOfArgument,
  yardSource,
} from "./bodies.js";
import { code, isProgram, word, writeToWorker } from "./codec.js";
import { pushTask } from "./frames.js";
import { Held, HeldTasks } from "./held-tasks.js";
import { hashOf, type IdSecret } from "./id-table.js";
import type { ScalerHost, ScalerLine } from "./line.js";
import { MadeObjects } from "./made-objects.js";
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
import { keyOf } from "./objects.js";
import { type OwedTask, OwedTasks } from "./owed-tasks.js";
import { type PackedFrames, PackedWriter } from "./packed-frames.js";
import type { ObjectContent } from "./scaler-object.js";
import { resultMetadataBytes } from "./structs.js";
import { TaskBody, writeTaskBody } from "./task-body.js";
import { infoOf } from "./worker-info.js";

type Assign = Extract<Effect, { type: "assign" }>;
type Revoke = Extract<Effect, { type: "revoke" }>;
type Recall = Extract<Effect, { type: "recall" }>;

export interface WorkerSettings {
  /** The door's name: tasks that came in by it are told from others. */
  readonly door: string;
  readonly queue: string;
  readonly slots: number;
  /** [scaler 7.2] What a task of another dialect calls. */
  readonly functionName: string;
  readonly idSecret: IdSecret;
}

export interface WorkerHost extends ScalerHost {
  /** The core's name of a task that was given out before we were started, while workers may come back for it. */
  recover(task: Buffer): TaskId | undefined;
  /** Whether it was accepted before we were started: then any worker of before may hold it. Notes that it goes out again. */
  goesOutAgain(task: TaskId, id: Buffer): boolean;
  /** What went out again since we were started, from a place in that list on. */
  outAgain(from: number, max: number): readonly Buffer[];
  /** Whether a client waits for this task. */
  isOpen(task: Buffer): boolean;
  /** Whether there is a client of this id. */
  isClient(source: Buffer): boolean;
  /** The client that frame `at` names, if there is one. */
  clientIn(frames: PackedFrames, at: number): { readonly key: string } | undefined;
}

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
  readonly owed: OwedTasks;
  /** How many of the tasks that went out again it was asked for. */
  #probed = 0;
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
    owed = new OwedTasks(),
  ) {
    this.owed = owed;
    this.id = id;
    this.line = line;
    this.wire = wire;
    this.hasSplitCounts = wire === "d-split";
    this.#settings = settings;
    this.#exchange = exchange;
    this.#made = new MadeObjects(exchange.objects);
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
    if (isOfBefore || this.owed.get(id) !== undefined) this.#defer(held, frames);
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
      this.#defer(held, framesIn(body) ?? []);
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
    if (held.isDeferred) return this.#withdraw(held, "undelivered");
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
        this.#withdraw(held, "balance");
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
    for (const held of this.#held.values())
      if (!held.isDeferred) this.owed.add(held.id, held.task, held.attempt);
    for (const owed of this.owed.values()) {
      owed.askedAt = undefined;
      owed.waiting = undefined;
    }
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
    for (const owed of this.owed.values()) this.#ask(owed);
  }

  /** By force: that is answered in every case, and ends a wait for objects whose answer was lost. */
  #ask(owed: OwedTask): void {
    if (owed.askedAt !== undefined) return;
    owed.askedAt = this.#host.now().instant;
    this.#cancel(owed.id, true);
  }

  /** [scaler 3.9] The TK leaves when the worker has said that it does not hold the task. */
  #defer(held: Held, frames: readonly Buffer[]): void {
    const owed = this.owed.add(held.id);
    held.isDeferred = true;
    owed.waiting = { held, frames };
    this.#ask(owed);
  }

  /** Takes back a task that has not been sent. */
  #withdraw(held: Held, reason: "undelivered" | "balance"): void {
    const owed = this.owed.get(held.id);
    if (owed !== undefined) owed.waiting = undefined;
    this.#held.delete(held);
    const { task, attempt } = held;
    this.#host.post({ type: "attempt-returned", reason, worker: this.id, task, attempt });
  }

  /** False when the answer is that of the attempt which waits to be sent, and counts as that. */
  #answeredOwed(owed: OwedTask, message: TaskResult): boolean {
    const { status } = message;
    if (status === "I" || status === "R" || status === "X") return false;
    const isResult = status === "S" || status === "F";
    if (!isResult) {
      this.#made.drop(message.results);
      this.#letIn(owed);
      return true;
    }
    // One of form r still answers the TC: until then nothing of this id is sent.
    if (!isProgram(this.wire) || owed.askedAt === undefined) this.owed.delete(owed);
    const { waiting } = owed;
    owed.waiting = undefined;
    if (waiting === undefined) {
      this.#answeredLate(owed, message);
      return true;
    }
    waiting.held.isDeferred = false;
    return false;
  }

  /** It does not hold the task, so it can be given it. */
  #letIn(owed: OwedTask): void {
    this.owed.delete(owed);
    if (owed.waiting === undefined) return;
    const { held, frames } = owed.waiting;
    held.isDeferred = false;
    if (!this.line.send([word.TK, ...frames])) this.#withdraw(held, "undelivered");
  }

  /** [scaler 3.9] A result from before its connection closed counts if nobody has ended the task since. */
  #answeredLate({ task }: OwedTask, message: TaskResult): void {
    const claim = { worker: this.id, task: task as TaskId, attempt: undefined };
    const isOpen = task !== undefined && message.status === "S" && this.#host.isOpen(message.task);
    const post = isOpen ? this.#meaning(message, recovered, claim) : undefined;
    if (post?.type !== "attempt-done") return this.#made.drop(message.results);
    this.#made.nameAll(message.results);
    this.#host.post({ type: "task-answered", task: post.task, by: this.line.name, result: post.result });
  }

  /**
   * [scaler 3.9] One that says it holds more than is known of holds something from before our restart, and may wait for ever for
   * objects that it asked for then. What went out again since is what it can be.
   */
  #accountFor({ queuedTasks, processors }: Heartbeat): void {
    if (!isProgram(this.wire)) this.#stopWaiting();
    const busy = processors.reduce((sum, { hasTask }) => sum + (hasTask ? 1 : 0), 0);
    if (queuedTasks + busy <= this.#held.size + this.owed.size) return;
    const suspects = this.#host.outAgain(this.#probed, probedAtOnce);
    this.#probed += suspects.length;
    for (const id of suspects) if (this.#find(id) === undefined) this.#ask(this.owed.add(id));
  }

  /** The document's workers need not answer a TC for what they do not hold. */
  #stopWaiting(): void {
    const { instant } = this.#host.now();
    for (const owed of this.owed.values())
      if (owed.askedAt !== undefined && instant - owed.askedAt >= answerMsMax) this.#letIn(owed);
  }

  /** [scaler 7.2] The function and the argument of another dialect's task. */
  virtual(id: Buffer): ObjectContent | undefined {
    const { functionName } = this.#settings;
    if (isFunctionId(id, functionName)) return { name: functionNameFrame, bytes: Buffer.from(functionName) };
    const task = taskOfArgument(id);
    const held = task && this.#held.ofTask(task);
    return held?.payload === undefined
      ? undefined
      : { name: argumentNameFrame, bytes: bytesOf(held.payload) };
  }

  #beat(heartbeat: Heartbeat): void {
    this.#send({ type: "heartbeat-echo" });
    this.wire = heartbeat.wire;
    if (!this.#isKnown) this.#join();
    this.#accountFor(heartbeat);
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
    for (const object of this.#exchange.create(owner, message, this.line.name)) this.#made.add(object, owner);
  }

  /** One object as it came, and nothing out of the ordinary; false where it is not that. */
  createPacked(frames: PackedFrames): boolean {
    if (frames.count !== 7 || !frames.isLetter(1, letterC) || !frames.is(3, oneOfEach)) return false;
    const client = frames.lengthOf(4) === 0 ? undefined : this.#host.clientIn(frames, 2);
    if (client === undefined || !isProgram(this.wire)) return false;
    const object = this.#exchange.createSmall(client.key, frames, 4);
    if (object === undefined) return false;
    this.hasSplitCounts = false;
    this.#made.add(object, client.key);
    return true;
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
    this.#held.delete(held);
    const object = this.#exchange.objects.find(bytes, starts[4] as number, ends[4] as number);
    const id = bytes.toString("hex", starts[4] as number, ends[4] as number);
    const measured = metadata === 0 ? "" : bytes.toString("hex", starts[3] as number, ends[3] as number);
    const result = new ResultBody(id, measured, object?.bytes ?? noBytes);
    this.#made.name(object);
    const { task, attempt } = held;
    this.#host.post({ type: "attempt-done", worker: this.id, task, attempt, result });
    return true;
  }

  #answered(message: TaskResult): void {
    const held = this.#find(message.task);
    const owed = this.owed.get(message.task);
    if (owed !== undefined && this.#answeredOwed(owed, message)) return;
    if (held === undefined) return this.#answeredUnheld(message);
    if (message.status === "I" || message.status === "R" || message.status === "X") {
      // [scaler 3.3] Not an end.
      this.#host.fault("unexpected_status", this.line.name);
      return;
    }
    this.#held.delete(held);
    const { task, attempt } = held;
    const post = this.#meaning(message, held, { worker: this.id, task, attempt });
    // [scaler 3.9] What it gives up of its own accord it may hold none the less.
    if (post.type === "attempt-lost" && isProgram(this.wire)) this.#ask(this.owed.add(held.id, task, attempt));
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
    return meaningOf(message, held, claim, this.#exchange);
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

/** Of tasks that went out again, with one heartbeat. */
const probedAtOnce = 4_096;
/** How long one of form d has to answer a TC. */
const answerMsMax = 5_000;
const noBytes = Buffer.alloc(0);
const letterC = 0x43;
const letterS = 0x53;
/** The counts of one id, one name and one object. */
const oneOfEach = Buffer.from([1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
/** Tasks of more bytes are rare. */
const writer = new PackedWriter(8 * 1024);
/** A task that was given out before we were started. */
const recovered = { payload: undefined, isRevoked: false, isRecalled: false };
const functionNameFrame = Buffer.from("<function>");
const argumentNameFrame = Buffer.from("<argument>");
