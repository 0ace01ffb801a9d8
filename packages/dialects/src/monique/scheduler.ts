// The scheduler: handles what arrives on both channels and what leaves. Free data and questions
// that are no tasks are published in their original bytes. A question that is a task is published
// when it is committed, and of its answers the one that ends it.

import type { Effect, Moment, RequestAnswer, RequestId, TaskHead, TaskId, YardEvent } from "@yardmaster/core";
import { Recent } from "../recent.js";
import { AnswerDesk } from "./answer-desk.js";
import { hasIdOfItsForm, type ReadMessage, readMessage } from "./codec.js";
import { MoniqueController } from "./controller.js";
import { type Audience, type Incoming, isExpired, type Sender } from "./incoming.js";
import { errorCodes, type MoniqueForm, ownSpecs } from "./messages.js";
import { infoOf, MonitoredComponents, readReport } from "./monitoring.js";
import {
  bridgedQuestion,
  errorMessage,
  type Frames,
  formOf,
  killedMessage,
  killer,
  killMessage,
  questionFor,
  readJson,
  submissionFor,
} from "./questions.js";
import type { SpecRegister } from "./specs.js";

export interface SchedulerHost<Peer> {
  now(): Moment;
  post(event: YardEvent): void;
  /** Returns a number for an event that needs an answer, which `take` receives. */
  request(take: (answer: RequestAnswer) => void): RequestId;
  /** Publishes on the communication channel. Returns the number of receivers. */
  publish(frames: Frames, audience?: Audience): number;
  /** Publishes on the technical channel. */
  publishTech(frames: Frames): void;
  /** Sends to a worker of a controller; false when it cannot be sent. */
  push(peer: Peer, frames: Frames): boolean;
  /** Whether the sender has a right for a spec. Absent: it has all. */
  may?(sender: Peer, right: "submit" | "work" | "operate", spec: string): boolean;
  /** Name of the sender's principal, if it has one. */
  by?(sender: Peer): string | undefined;
  /**
   * The sender has submitted a task. Returns for how many milliseconds it is not read, to keep to
   * the rate of its principal. Absent: there are no rates.
   */
  submitted?(sender: Peer): number;
  /** Stops reading from this sender for this time, or for a moment. */
  holdBack(sender: Peer, ms?: number): void;
  /** Reads a committed task. */
  readTask(id: TaskId, take: (task: TaskHead | undefined) => void): void;
  fault(kind: string, sender: string, detail?: string): void;
}

export interface SchedulerOptions {
  readonly door: string;
  readonly form: MoniqueForm;
  readonly prefetch: number;
  readonly specs: SpecRegister;
}

/**
 * Maximum number and size of messages that wait for the core's answer. Beyond either, senders are
 * held back.
 */
const waitingMax = 10_000;
const waitingBytesMax = 64 * 1024 * 1024;
/**
 * [monique 2.6] Maximum number of remembered questions that are no tasks, for errors that answer
 * them under another spec.
 */
const askedMax = 65_536;
/** [monique 6.5] Maximum number of remembered kills. */
const killedMax = 10_000;
/** In place of a spec's name: a right for every spec. No spec has a colon in its name. */
export const everySpec = ":every";
/** Likewise: a right for at least one spec. */
export const someSpec = ":some";
/** A kill names one task. */
const killBytesMax = 64 * 1024;

export class MoniqueScheduler<Peer> {
  readonly controller: MoniqueController<Peer>;
  readonly components: MonitoredComponents;
  readonly #options: SchedulerOptions;
  readonly #host: SchedulerHost<Peer>;
  readonly #answers: AnswerDesk<Peer>;
  readonly #asked = new Recent<string, string>(askedMax);
  /**
   * Killed on the technical channel: its worker was told, and later questions with this id are
   * already answered.
   */
  readonly #killed = new Recent<string, true>(killedMax);
  #waiting = 0;
  #waitingBytes = 0;
  #lastCreatedAt = 0;

  constructor(options: SchedulerOptions, host: SchedulerHost<Peer>) {
    this.#options = options;
    this.#host = host;
    const post = (event: YardEvent) => host.post(event);
    this.components = new MonitoredComponents(options.door, post);
    this.controller = new MoniqueController<Peer>(options, {
      post,
      send: (peer, frames) => host.push(peer, frames),
      questionFor: (task) => this.#questionFor(task),
    });
    this.#answers = new AnswerDesk<Peer>(options, {
      ...host,
      controller: this.controller,
      asked: this.#asked,
      ask: (message, take) => this.#ask(message, take),
      createdAt: () => this.#createdAt(),
      publish: (message, spec) => this.#publish(message, spec),
      publishFrames: (frames, audience) => host.publish(frames, audience),
    });
  }

  /** Subscribers from before the restart have not reconnected yet. */
  opened(): void {
    this.#answers.opened();
  }

  /** Handles a message on the communication channel. */
  receive(frames: readonly Buffer[], sender: Sender<Peer>): void {
    const message = this.#read(frames, sender);
    if (message === undefined) return;
    const { header } = message;
    if (!this.#options.specs.passes(header.spec) && !this.#answers.mayPass(header)) {
      this.#options.specs.countRefused(header.spec);
      this.#host.fault("unregistered_spec", header.spec, `from ${sender.address}`);
      this.#answers.refused(message);
      return;
    }
    if (this.#isDenied(message)) return;
    if (header.type === "result" || header.type === "error") this.#answers.take(message);
    else if (isMonitoring(message)) this.#monitor(message, true);
    else if (header.type === "config") this.#question(message);
    else this.#publish(message);
  }

  /** Handles a message on the technical channel. */
  receiveTech(frames: readonly Buffer[], sender: Sender<Peer>): void {
    const message = this.#read(frames, sender);
    if (message === undefined) return;
    const { header } = message;
    if (!this.#options.specs.passes(header.spec)) {
      this.#options.specs.countRefused(header.spec);
      this.#host.fault("unregistered_spec", header.spec, `from ${sender.address}`);
      return;
    }
    this.#options.specs.countPassed(header);
    const isKill = header.type === "config" && header.spec === ownSpecs.kill;
    if (isKill && this.#host.may?.(sender.peer, "operate", everySpec) === false) {
      return this.#host.fault("denied", sender.address, "it may not kill");
    }
    if (isMonitoring(message)) this.#monitor(message, false);
    else if (this.#isExpired(message)) this.#host.fault("expired", sender.address);
    else {
      this.#host.publishTech(message.frames);
      if (isKill) this.#kill(message);
    }
  }

  deliver(effect: Effect): void {
    if (effect.type === "assign") this.controller.assign(effect);
    else if (effect.type === "tell") this.#answers.tell(effect.task, effect.outcome);
    else if (effect.type === "revoke") this.#revoke(effect);
  }

  /** [monique 4.13] Questions and free data need the right to submit, answers the right to work. */
  #isDenied(message: Incoming<Peer>): boolean {
    const { header, sender } = message;
    if (this.#host.may === undefined || isMonitoring(message)) return false;
    const right = header.type === "result" || header.type === "error" ? "work" : "submit";
    const spec = header.type === "error" && header.spec === ownSpecs.error ? someSpec : header.spec;
    if (this.#host.may(sender.peer, right, spec)) return false;
    this.#host.fault("denied", sender.address, `it may not ${right}`);
    if (header.type === "config") this.#refuse(message, `This client may not submit to ${header.spec}.`);
    return true;
  }

  #read(frames: readonly Buffer[], sender: Sender<Peer>): Incoming<Peer> | undefined {
    const reading = readMessage(frames);
    if (!reading.ok) {
      this.#host.fault(reading.fault, sender.address);
      this.#answers.unreadable(frames, sender, reading.fault);
      return undefined;
    }
    const { header, content, contentFault } = reading;
    // [monique 2.4] It is routed by its tag alone.
    if (content === undefined) this.#host.fault(contentFault ?? "bad_content", sender.address);
    else if (!content.agrees) this.#host.fault("tag_mismatch", sender.address);
    else if (!hasIdOfItsForm(header, content)) this.#host.fault("id_mismatch", sender.address);
    const { isTagWrapped } = reading;
    // Field by field: a spread copy costs as much as reading the message.
    return {
      ok: true,
      header,
      content,
      contentFault,
      isTagWrapped,
      frames: frames as unknown as Frames,
      sender,
    };
  }

  #question(message: Incoming<Peer>): void {
    const { header, content, sender } = message;
    // [monique 6.5] The kill arrived earlier over another connection. That was the answer.
    if (this.#killed.has(header.id)) {
      this.#host.fault("killed_question", sender.address);
      return;
    }
    if (this.#options.specs.isQueue(header.spec)) {
      // [monique 2.3] Its worker would answer to another id, which could not be matched.
      if (content !== undefined && !content.hasItsId) this.#host.fault("id_not_in_tag", sender.address);
      else this.#submit(message);
    } else if (this.#isExpired(message)) this.#refuse(message, "The question arrived after it had expired.");
    else {
      this.#asked.set(header.id, header.spec);
      this.#publish(message);
    }
  }

  /** [monique 4.2] */
  #submit(message: Incoming<Peer>): void {
    const { frames, sender } = message;
    const by = this.#host.by?.(sender.peer);
    const asked = submissionFor(message, frames, sender.client);
    const submission = by === undefined ? asked : { ...asked, by };
    const request = this.#ask(message, (answer) => {
      if (answer.type === "accepted" && !answer.existing) this.#publish(message);
      else if (answer.type === "accepted") this.#host.fault("repeated_question", sender.address);
      else if (answer.type !== "refused") return;
      // [monique 4.3] An answer would be taken for the answer to the first question.
      else if (answer.code === "key_conflict") this.#host.fault("id_taken", sender.address, answer.message);
      else {
        this.#refuse(message, answer.message);
        if (answer.code === "queue_full") this.#host.holdBack(sender.peer);
      }
    });
    this.#host.post({ type: "task-submitted", request, submission });
    const pauseMs = this.#host.submitted?.(sender.peer) ?? 0;
    if (pauseMs > 0) this.#host.holdBack(sender.peer, pauseMs);
  }

  /** [monique 4.8] Refuses with an error, never by silence. */
  #refuse(message: Incoming<Peer>, why: string): void {
    const { header } = message;
    this.#asked.set(header.id, header.spec);
    const error = { spec: header.spec, pid: header.id, code: errorCodes.component, message: why };
    this.#host.publish(errorMessage(error, this.#createdAt(), formOf(message)));
  }

  /** Publishes both original frames unless they have expired [monique 5.2]. */
  #publish(message: Incoming<Peer>, spec?: string): void {
    if (this.#isExpired(message)) {
      this.#host.fault("expired", message.sender.address);
      return;
    }
    this.#options.specs.countPassed(message.header);
    this.#host.publish(message.frames, spec === undefined ? undefined : { spec });
  }

  #isExpired({ content }: Incoming<Peer>): boolean {
    return content !== undefined && content.expiresAt !== 0 && isExpired(content.expiresAt, this.#host.now());
  }

  #ask({ frames, sender }: Incoming<Peer>, take: (answer: RequestAnswer) => void): RequestId {
    const bytes = frames[0].length + frames[1].length;
    this.#waiting += 1;
    this.#waitingBytes += bytes;
    if (this.#waiting > waitingMax || this.#waitingBytes > waitingBytesMax) this.#host.holdBack(sender.peer);
    return this.#host.request((answer) => {
      this.#waiting -= 1;
      this.#waitingBytes -= bytes;
      take(answer);
    });
  }

  /**
   * [monique 4.5] [monique 7.1] Observers see what workers are given, including tasks of other
   * doors.
   */
  #questionFor(task: TaskHead): { id: string; frames: Frames } {
    const { door, form } = this.#options;
    let id = task.replyTo?.address ?? "";
    let isBridged = false;
    const frames = questionFor(
      task,
      door,
      () => {
        const createdAt = form === "d3" ? Math.floor(task.submittedAt) : this.#createdAt();
        const question = bridgedQuestion(task, form, createdAt);
        id = question.id;
        isBridged = true;
        return question;
      },
      form,
    );
    if (isBridged) this.#host.publish(frames);
    return { id, frames };
  }

  /**
   * [monique 6.4] Tells the worker to stop. A task that ran out of time may go to another worker,
   * so that is not a kill.
   */
  #revoke(effect: Extract<Effect, { type: "revoke" }>): void {
    const pid = this.controller.revoke(effect);
    if (pid === undefined || this.#killed.has(pid)) return;
    if (effect.reason !== "cancelled" && effect.reason !== "answered") return;
    this.#host.publishTech(killMessage(pid, this.#createdAt(), this.#options.form));
  }

  /** [monique 6.4] */
  #kill(message: Incoming<Peer>): void {
    const { content, frames, sender } = message;
    const data = content === undefined ? undefined : frames[1].subarray(content.dataStart, content.dataEnd);
    const { task_id: pid } =
      (data !== undefined && data.length <= killBytesMax ? readJson(data) : undefined) ?? {};
    if (typeof pid !== "string" || pid === "" || pid.length > killBytesMax) {
      this.#host.fault("bad_kill", sender.address);
      return;
    }
    this.#killed.set(pid, true);
    const queues = this.#asked.has(pid) ? [] : this.#options.specs.queues();
    this.#answers.seek(message, pid, queues, (found) => {
      // A question that was refused, perhaps only now, has been answered too.
      const spec = this.#asked.get(pid) ?? "";
      const isRefused = found === undefined && this.#options.specs.isQueue(spec);
      if (found === "finished" || isRefused) return;
      if (found !== undefined) this.#host.post({ type: "cancel-asked", task: found, by: killer });
      else this.#publishKilled(pid, formOf(message));
    });
  }

  /**
   * It is not a task. Like the program, publishes the kill without checking that the question
   * exists.
   */
  #publishKilled(pid: string, form: MoniqueForm): void {
    const error = { spec: ownSpecs.error, pid, code: errorCodes.killed, message: killedMessage };
    this.#host.publish(errorMessage(error, this.#createdAt(), form));
  }

  /** [monique 6.1] [monique 6.2] */
  #monitor(message: Incoming<Peer>, isOnCom: boolean): void {
    const { header, content, frames, sender } = message;
    if (isOnCom) this.#publish(message);
    this.#host.publishTech(frames);
    const report = readReport(content, frames[1]);
    if (report === undefined) {
      this.#host.fault("bad_monitoring", sender.address);
      return;
    }
    const info = infoOf(report);
    const isWorker =
      this.controller.monitored(header.creator, report.isAlive, info) ||
      (report.name !== header.creator && this.controller.monitored(report.name, report.isAlive, info));
    if (isWorker) this.components.forget(report.name);
    else if (!this.components.heard(report, header.creator, this.#host.now())) {
      this.#host.fault("too_many_components", sender.address);
    }
  }

  /**
   * The current time, but never the same twice, because ids of the older forms are made from it.
   */
  #createdAt(): number {
    this.#lastCreatedAt = Math.max(this.#lastCreatedAt + 1, Math.floor(this.#host.now().wall));
    return this.#lastCreatedAt;
  }
}

/** [monique 6.1] Includes the old library's form. */
function isMonitoring({ header: { type, spec } }: ReadMessage): boolean {
  return (
    (type === "data" && spec === ownSpecs.monitoring) || (type === "config" && spec === ownSpecs.monitor)
  );
}
