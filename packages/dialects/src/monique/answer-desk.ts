// Answers: the task that each one is for, and whether it is published. An answer names its question
// and no attempt, so the first answer ends the task, from any worker.

import type {
  Instant,
  Moment,
  Outcome,
  RequestAnswer,
  RequestId,
  TaskHead,
  TaskId,
  WallTime,
  YardEvent,
} from "@yardmaster/core";
import { Recent } from "../recent.js";
import type { Hold, MoniqueController } from "./controller.js";
import { type Audience, type Incoming, isExpired, type Sender } from "./incoming.js";
import { errorCodes, type MoniqueFault, type MoniqueForm, type MoniqueHeader, ownSpecs } from "./messages.js";
import {
  answerFor,
  bodyIn,
  bridgedTaskIn,
  clientOf,
  errorIn,
  type Frames,
  isBridgedAs,
  keyOf,
} from "./questions.js";
import type { SpecRegister } from "./specs.js";
import { readAnswerTag } from "./tag.js";

export interface AnswerDeskHost<Peer> {
  readonly controller: MoniqueController<Peer>;
  /** Specs of recent questions that were refused or are no tasks, by id. */
  readonly asked: Recent<string, string>;
  now(): Moment;
  post(event: YardEvent): void;
  ask(message: Incoming<Peer>, take: (answer: RequestAnswer) => void): RequestId;
  readTask(id: TaskId, take: (task: TaskHead | undefined) => void): void;
  /** Publishes a message that belongs to no task. */
  publish(message: Incoming<Peer>, spec?: string): void;
  publishFrames(frames: Frames, audience?: Audience): number;
  createdAt(): number;
  fault(kind: string, sender: string, detail?: string): void;
}

export interface AnswerDeskOptions {
  readonly door: string;
  readonly form: MoniqueForm;
  readonly specs: SpecRegister;
}

/** The meaning of an answer for its task: a result, or the reason there is none. */
type Verdict = Pick<Extract<YardEvent, { type: "attempt-done" }>, "result"> | { readonly error: TaskError };
type TaskError = { readonly code: string; readonly message: string };

/** [monique 4.9] Most subscribers reconnect within this time. */
const returnMs = 1_000;
/**
 * [monique 4.9] Answers that other subscribers heard but the asking client did not. They are sent
 * again to that client alone.
 */
const publishedMax = 10_000;
const noFrame = Buffer.alloc(0);

export class AnswerDesk<Peer> {
  readonly #options: AnswerDeskOptions;
  readonly #host: AnswerDeskHost<Peer>;
  /**
   * Answers that may be ending their tasks now. Each is published in its original bytes once the
   * outcome is committed.
   */
  readonly #kept = new Map<TaskId, Incoming<Peer>>();
  readonly #published = new Recent<TaskId, true>(publishedMax);
  #openedAt = 0 as WallTime;
  #quietUntil = 0 as Instant;

  constructor(options: AnswerDeskOptions, host: AnswerDeskHost<Peer>) {
    this.#options = options;
    this.#host = host;
  }

  opened(): void {
    const { instant, wall } = this.#host.now();
    this.#openedAt = wall;
    this.#quietUntil = (instant + returnMs) as Instant;
  }

  /** [monique 2.6] An error that answers a known question passes, whatever its spec. */
  mayPass({ type, pid }: MoniqueHeader): boolean {
    return type === "error" && this.#knows(pid);
  }

  take(message: Incoming<Peer>): void {
    const { header } = message;
    const hold = this.#host.controller.holdOf(header.pid, header.creator);
    if (hold !== undefined) {
      if (!isFiled(header, hold.task)) this.#misfiled(hold, message);
      else this.#settle(hold, message, this.#verdictOn(message));
      return;
    }
    const queues = this.#queuesOf(header);
    if (queues.length === 0) this.#host.publish(message);
    else this.#takeUnheld(message, queues);
  }

  /**
   * [monique 2.5] The spec of the answer is not allowed. The worker has answered nevertheless, so
   * its client gets an error instead of waiting for another answer.
   */
  refused(message: Incoming<Peer>): void {
    const { type, pid, creator } = message.header;
    if (type !== "result") return;
    const hold = this.#host.controller.holdOf(pid, creator);
    if (hold !== undefined) this.#misfiled(hold, message, ", which is not registered");
  }

  /**
   * [monique 3.8] The message is refused. If it is the answer that a worker owes, the attempt
   * fails, because the worker will not answer again.
   */
  unreadable(frames: readonly Buffer[], sender: Sender<Peer>, fault: MoniqueFault): void {
    const { pid, creator } = readAnswerTag(frames[0]) ?? {};
    const hold = pid === undefined ? undefined : this.#host.controller.holdOf(pid, creator ?? "");
    if (hold === undefined || pid === undefined) return;
    const [tag = noFrame, content = noFrame] = frames;
    const header = { type: "error", spec: "", id: "", pid, creator: creator ?? "" } as const;
    const message: Incoming<Peer> = {
      ...{ ok: true, header, content: undefined, contentFault: undefined, isTagWrapped: false },
      ...{ frames: [tag, content], sender },
    };
    this.#settle(hold, message, failure(`The worker's answer cannot be read: ${fault}.`));
  }

  /**
   * [monique 3.4] The client does not listen under that spec: the attempt fails, and the error is
   * published under the question's own spec.
   */
  #misfiled(
    hold: Hold<Peer>,
    message: Incoming<Peer>,
    about = `; the question's is ${hold.task.queue}`,
  ): void {
    const { header, sender, content, frames } = message;
    const { queue } = hold.task;
    this.#host.fault("spec_mismatch", header.creator, `${header.spec} for ${queue} from ${sender.address}`);
    const reason = failure(`The worker answered under spec ${header.spec}${about}.`);
    this.#settle(hold, message, header.type === "error" ? { error: errorIn(content, frames[1]) } : reason);
  }

  /**
   * [monique 4.8] Publishes the answer in its original bytes if they are known, otherwise writes it
   * anew.
   */
  tell(task: TaskHead, outcome: Outcome): void {
    const { now, post } = this.#host;
    const isFromBefore = task.submittedAt < this.#openedAt && now().instant < this.#quietUntil;
    const isHeard = !isFromBefore && this.#publish(task, this.#framesFor(task, outcome));
    // [monique 4.9] The asking client was not connected.
    if (!isHeard) post({ type: "outcome-undelivered", task: task.id, again: true });
    else post({ type: "outcomes-told", tasks: [task.id] });
  }

  /**
   * [monique 4.9] True if it reached the asking client, as far as that is known. Other subscribers
   * hear it once.
   */
  #publish(task: TaskHead, frames: Frames): boolean {
    const client = clientOf(task);
    const spec = task.queue;
    if (client === "") return this.#host.publishFrames(frames, { spec }) > 0;
    const own = this.#host.publishFrames(frames, { spec, client, isOwn: true });
    if (this.#published.has(task.id)) return own > 0;
    const others = this.#host.publishFrames(frames, { spec, client, isOwn: false });
    if (own === 0 && others > 0) this.#published.set(task.id, true);
    return own > 0;
  }

  /** Finds the live task of a question's id in these queues; undefined if there is none. */
  seek(
    message: Incoming<Peer>,
    pid: string,
    queues: readonly string[],
    take: (found: TaskId | "finished" | undefined) => void,
  ): void {
    const held = this.#host.controller.taskOf(pid);
    if (held !== undefined) {
      take(held);
      return;
    }
    const bridged = bridgedTaskIn(pid);
    if (bridged !== undefined) {
      this.#host.readTask(bridged, (task) =>
        take(task !== undefined && isBridgedAs(task, pid) ? bridged : undefined),
      );
      return;
    }
    let open = queues.length;
    let found: TaskId | "finished" | undefined;
    if (open === 0) take(undefined);
    for (const queue of queues) {
      const request = this.#host.ask(message, (answer) => {
        if (answer.type === "granted") found = answer.task;
        else if (answer.type === "refused" && answer.code === "wrong_state") found ??= "finished";
        open -= 1;
        if (open === 0) take(found);
      });
      this.#host.post({ type: "task-sought", request, queue, key: keyOf(pid) });
    }
  }

  #knows(pid: string): boolean {
    return this.#host.asked.has(pid) || this.#host.controller.taskOf(pid) !== undefined;
  }

  /** The queues that may hold the question of an answer that no worker here owes. */
  #queuesOf({ spec, pid }: MoniqueHeader): readonly string[] {
    const { specs } = this.#options;
    if (this.#host.asked.has(pid)) return [];
    if (specs.isQueue(spec)) return [spec];
    // [monique 3.4] An error does not name the spec of its question.
    return spec === ownSpecs.error ? specs.queues() : [];
  }

  /**
   * [monique 4.7] The sender was not given the task here: an outside worker, or one on an earlier
   * connection.
   */
  #takeUnheld(message: Incoming<Peer>, queues: readonly string[]): void {
    const { sender, header } = message;
    this.seek(message, header.pid, queues, (found) => {
      if (found === "finished") this.#host.fault("second_answer", header.creator, `from ${sender.address}`);
      else if (found !== undefined) this.#end(found, message, this.#verdictOn(message));
      else {
        this.#host.fault("unasked_answer", sender.address);
        this.#host.publish(message);
      }
    });
  }

  /** Handles a worker's answer to the question it was given. */
  #settle(hold: Hold<Peer>, message: Incoming<Peer>, verdict: Verdict): void {
    const { worker, task, attempt } = hold;
    this.#host.controller.answered(hold, message.header.creator);
    const ref = { worker: worker.id, task: task.id, attempt };
    if (hold.isRevoked) {
      // The worker's own attempt no longer counts, but the worker is free. The first answer ends
      // the task if it is still live.
      this.#host.post(eventOf(ref, verdict));
      if (!hold.isCancelled) this.#end(task.id, message, verdict);
      return;
    }
    const request = this.#keep(task.id, message, verdict, (answer) => {
      // [monique 7.3] The other door delivers to its own client. Here the answer is for observers.
      const isOfOthers = task.door !== this.#options.door && isFiled(message.header, task);
      if (answer.type === "granted" && isOfOthers) this.#host.publish(message, task.queue);
      else if (answer.type === "refused") this.#tooLate(message);
    });
    this.#host.post({ ...eventOf(ref, verdict), request });
  }

  /** Ends a task without a lease. */
  #end(task: TaskId, message: Incoming<Peer>, verdict: Verdict): void {
    const request = this.#keep(task, message, verdict, (answer) => {
      if (answer.type === "refused") this.#tooLate(message);
    });
    this.#host.post({ type: "task-answered", request, task, by: message.header.creator, ...verdict });
  }

  /**
   * [monique 4.10] Two workers answered: another program serves this spec too, or an attempt was
   * given up too early.
   */
  #tooLate({ header, sender }: Incoming<Peer>): void {
    this.#host.fault("second_answer", header.creator, `${header.spec} from ${sender.address}`);
  }

  /**
   * Keeps the answer until it is known whether it ends the task. An answer that is kept already
   * stays, because the first one ends the task.
   */
  #keep(
    task: TaskId,
    message: Incoming<Peer>,
    verdict: Verdict,
    take: (answer: RequestAnswer) => void,
  ): RequestId {
    const isItself = "result" in verdict === (message.header.type === "result");
    if (isItself && !this.#kept.has(task)) this.#kept.set(task, message);
    return this.#host.ask(message, (answer) => {
      if (this.#kept.get(task) === message) this.#kept.delete(task);
      take(answer);
    });
  }

  #framesFor(task: TaskHead, outcome: Outcome): Frames {
    const kept = this.#kept.get(task.id);
    const isKept =
      kept?.header.type === (outcome.state === "done" ? "result" : "error") && isFiled(kept.header, task);
    if (kept !== undefined && isKept && (outcome.state === "done" || outcome.state === "failed")) {
      this.#options.specs.countPassed(kept.header);
      return kept.frames;
    }
    return answerFor(task, outcome, this.#host.createdAt(), this.#options.form);
  }

  #verdictOn({ header, content, frames }: Incoming<Peer>): Verdict {
    if (isExpired(content?.expiresAt ?? 0, this.#host.now()))
      return failure("The answer arrived after it had expired.");
    if (header.type === "error") return { error: errorIn(content, frames[1]) };
    return { result: bodyIn(content, frames[1]) };
  }
}

/**
 * [monique 3.4] True under the spec of the question; an error may also use the errors' own spec.
 */
function isFiled({ spec, type }: MoniqueHeader, { queue }: TaskHead): boolean {
  return spec === queue || (type === "error" && spec === ownSpecs.error);
}

function failure(message: string): Verdict {
  return { error: { code: String(errorCodes.component), message } };
}

type AttemptRef = Pick<Extract<YardEvent, { type: "attempt-done" }>, "worker" | "task" | "attempt">;

function eventOf(ref: AttemptRef, verdict: Verdict) {
  if ("result" in verdict) return { type: "attempt-done", ...ref, ...verdict } as const;
  return { type: "attempt-failed", ...ref, ...verdict } as const;
}
