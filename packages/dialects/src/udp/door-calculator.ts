// One calculator as the dispatcher sees it: its own reports, the one task it has, and whether it is
// alive.

import type { Effect, Instant, LossReason, Moment, RequestId, WorkerId, YardEvent } from "@yardmaster/core";
import { answerIn, type NamedTask, nameTask, paramsFor } from "./bridge.js";
import { type HeldTask, isNamed, Job } from "./calculator-job.js";
import { CalculatorLiveness, type LivenessSettings } from "./calculator-liveness.js";
import { calculatorMemo, writeCalculator } from "./calculator-memo.js";
import { formOf, readStatus, roomOf } from "./codec.js";
import { join, type TakeAnswer } from "./door-clients.js";
import type { UdpAddress, UdpExchange } from "./exchange.js";
import type { CalculatorStatus, Packet, Params, TaskNames, UdpForm } from "./messages.js";

type Assign = Extract<Effect, { type: "assign" }>;

export interface CalculatorHost {
  readonly exchange: UdpExchange;
  post(event: YardEvent): void;
  request(take: TakeAnswer): RequestId;
  /** It no longer has this task, but its answer may still come. */
  lost(calculator: UdpDoorCalculator, held: HeldTask): void;
  /** Its next deadline has moved. */
  watch(calculator: UdpDoorCalculator): void;
  /** It is gone and can be forgotten. */
  left(calculator: UdpDoorCalculator): void;
}

export interface CalculatorSettings extends LivenessSettings {
  /** [udp 3.6] How long after its ack a "ready" may still have been sent before it. */
  readonly readyIgnoredMs: number;
  /** [udp 3.6] How long after a "ready" the answer may still come: it is retransmitted. */
  readonly answerMs: number;
  /** [udp 3.10] Maximum execution time of a task that sets no limit itself; 0 means unlimited. */
  readonly executionMs: number;
}

export const defaultCalculatorSettings: CalculatorSettings = {
  pollMs: 10_000,
  silenceMs: 60_000,
  readyIgnoredMs: 1_000,
  answerMs: 300,
  executionMs: 3_600_000,
};

/** For a calculator that said it was busy while a task was on its way to it. */
const busyHoldMs = 1_000;

export interface CalculatorOptions {
  readonly id: WorkerId;
  readonly address: UdpAddress;
  readonly door: string;
  readonly queue: string;
  readonly settings: CalculatorSettings;
}

export class UdpDoorCalculator {
  readonly #options: CalculatorOptions;
  readonly #host: CalculatorHost;
  readonly #liveness: CalculatorLiveness;
  /** Its last reported status, or the one we observed. */
  #status: CalculatorStatus = "busy";
  #form: UdpForm = "document";
  #saidBusy = false;
  /** The number of slots announced to the core; undefined while the core does not know it. */
  #slots: 0 | 1 | undefined;
  #info: Readonly<Record<string, unknown>> | undefined;
  #job: Job | undefined;
  /** An assignment that waits until the last answer is committed and acknowledged. */
  #next: Assign | undefined;
  #lastDone: NamedTask | undefined;
  #isGone = false;
  /** [udp 1.1] Size of the longest datagram it sent. */
  #bytesShown = 0;
  /** [udp 3.11] The form in its memo; undefined while it has none. */
  #writtenForm: UdpForm | undefined;

  constructor(options: CalculatorOptions, host: CalculatorHost) {
    this.#options = options;
    this.#host = host;
    this.#liveness = new CalculatorLiveness(options.settings, {
      poll: (waiter, now) => host.exchange.ask(this.address, "status", "{}", waiter, now),
      answered: (result, now) => {
        const status = readStatus(result?.status);
        if (status === undefined) host.watch(this);
        else this.heartbeat(status, formOf(result?.status), now);
      },
      moved: () => host.watch(this),
      gone: () => this.leave("silence"),
    });
  }

  get id(): WorkerId {
    return this.#options.id;
  }

  get address(): UdpAddress {
    return this.#options.address;
  }

  /**
   * [udp 3.11] It existed before our restart: it is polled at once, and given nothing until it
   * answers.
   */
  adopt(form: UdpForm, now: Moment): void {
    this.#form = form;
    this.#writtenForm = form;
    this.#liveness.isPollable = form === "program";
    this.#liveness.pollNow(now);
    this.#host.watch(this);
  }

  heartbeat(status: CalculatorStatus, form: UdpForm, now: Moment): void {
    this.#liveness.heard(now);
    this.#form = form;
    this.#saidBusy = status === "busy";
    // [udp 3.7] Calculators of the program answer polls.
    if (form === "program") this.#liveness.isPollable = true;
    if (this.#slots !== undefined) this.#write();
    if (this.#job === undefined) this.#become(status);
    else this.#heardWithJob(this.#job, status, now);
    this.#show();
    this.#host.watch(this);
  }

  /** False when it names no task that it has or had. The caller may then look further. */
  completed(names: TaskNames, packet: Packet, now: Moment): boolean {
    this.#bytesShown = Math.max(this.#bytesShown, packet.datagram.length);
    if (this.#liveness.heard(now)) this.#host.watch(this);
    const job = this.#job;
    if (job !== undefined && isNamed(job.held, names)) {
      if (job.answers !== undefined) join(job.answers, packet);
      else this.#answered(job, packet);
      return true;
    }
    // [udp 3.4] A repeat, because our ack was lost.
    if (this.#lastDone === undefined || !isNamed(this.#lastDone, names)) return false;
    this.#host.exchange.acknowledge(this.address, packet);
    return true;
  }

  /**
   * [udp 3.9] It answers a task that it does not hold: one that it lost, or one from before our
   * restart. The core decides whether the answer counts. `whenRefused` decides whether a refused
   * one is acknowledged.
   */
  completedUnheld(held: HeldTask, packet: Packet, whenRefused: () => boolean): void {
    // It must not be given another task before this is settled.
    if (this.#slots === undefined) this.#offer(0);
    this.#postAnswer(held, packet.params, (answer) => {
      const isAcknowledged = answer.type === "granted" || whenRefused();
      if (isAcknowledged) {
        this.#lastDone = held;
        this.#host.exchange.acknowledge(this.address, packet);
      }
      this.seemsReady(isAcknowledged);
    });
  }

  /**
   * [udp 3.1] A completed_task makes it known and ready, whatever the task. If it is not
   * acknowledged, a calculator that said it was busy may go on repeating it before it takes
   * anything new.
   */
  seemsReady(isAcknowledged: boolean): void {
    if (this.#isGone || (this.#saidBusy && !isAcknowledged)) return;
    if (this.#job === undefined) this.#become("ready");
    this.#show();
  }

  assign(effect: Assign, now: Moment): void {
    // The assignment was made before the core learned that the calculator is gone. That loss brings
    // the task back as well.
    if (this.#slots === undefined) return;
    if (this.#job?.answers !== undefined && this.#next === undefined) {
      // [udp 3.4] A calculator takes nothing new before its answer is acknowledged.
      this.#next = effect;
      return;
    }
    const worker = this.id;
    const { task: head, attempt } = effect;
    const task = head.id;
    if (this.#job !== undefined || this.#status !== "ready") {
      const [reason, holdMs] = ["busy", busyHoldMs] as const;
      this.#host.post({ type: "attempt-returned", reason, holdMs, worker, task, attempt });
      return;
    }
    const named = nameTask(head, this.#options.door);
    const room = roomOf(this.#bytesShown);
    const params = paramsFor(head, named, room);
    const limitMs = head.policy.attemptTimeoutMs > 0 ? 0 : this.#options.settings.executionMs;
    const job = new Job({ taskId: named.taskId, uuid: named.uuid, task, attempt }, limitMs, this);
    const { exchange } = this.#host;
    const asked =
      params === undefined ? undefined : exchange.ask(this.address, "perform_task", params, job, now, room);
    if (asked === undefined) {
      this.#host.post({ type: "attempt-returned", reason: "does_not_fit", worker, task, attempt });
      return;
    }
    job.asked = asked;
    this.#job = job;
    this.#show();
  }

  /** The core has no room for it. It counts as unknown and asks again with its next heartbeat. */
  dismiss(): void {
    this.#slots = undefined;
  }

  get silence(): CalculatorLiveness["silence"] {
    return this.#liveness.silence;
  }

  nextDeadline(): Instant | undefined {
    const due = this.#liveness.nextDeadline;
    const lost = this.#job?.nextDeadline();
    if (lost === undefined || due === undefined) return lost ?? due;
    return lost < due ? lost : due;
  }

  handleTimeout(now: Moment): void {
    this.#loseIfDue(now);
    this.#liveness.handleTimeout(now);
    if (!this.#isGone) this.#host.watch(this);
  }

  leave(reason: LossReason): void {
    const isKnown = this.#slots !== undefined;
    this.#isGone = true;
    this.#drop();
    this.#slots = undefined;
    this.#liveness.stop();
    if (this.#writtenForm !== undefined) {
      this.#host.post({ type: "memo-dropped", name: calculatorMemo(this.address) });
    }
    if (isKnown) this.#host.post({ type: "worker-left", worker: this.id, reason });
    this.#host.left(this);
  }

  /** Called by the job: the calculator took the task. */
  performing(job: Job, now: Moment): void {
    if (job !== this.#job) return;
    const hadNone = this.#liveness.heard(now);
    job.acknowledgedAt = now.instant;
    const { limitAt } = job;
    // Most limits are later than the next poll, and are noticed when that is due.
    if (hadNone || (limitAt !== undefined && limitAt < (this.#liveness.nextDeadline ?? limitAt + 1))) {
      this.#host.watch(this);
    }
  }

  /**
   * [udp 3.3] Called by the job: the calculator did not confirm the task, which is not placed yet.
   */
  notPerforming(job: Job): void {
    if (job !== this.#job) return;
    const { task, attempt } = job.held;
    this.#drop();
    // First, so that it is not given the same task again.
    this.#become("unavailable");
    this.#host.post({ type: "attempt-returned", reason: "undelivered", worker: this.id, task, attempt });
    this.#show();
  }

  #heardWithJob(job: Job, status: CalculatorStatus, now: Moment): void {
    const { readyIgnoredMs, answerMs } = this.#options.settings;
    if (status !== "ready") job.doubtUntil = undefined;
    // [udp 3.6] It may have crossed our perform_task. Later it means that the task is lost, or done
    // with its answer on the way.
    else if (job.acknowledgedAt !== undefined && job.answers === undefined) {
      const isCrossing = now.instant < job.acknowledgedAt + readyIgnoredMs;
      if (!isCrossing) job.doubtUntil ??= (now.instant + answerMs) as Instant;
    }
    this.#host.post({ type: "worker-beat", worker: this.id });
  }

  /** [udp 3.6] [udp 3.10] It forgot its task, or has worked on it for too long. */
  #loseIfDue(now: Moment): void {
    const job = this.#job;
    const due = job?.nextDeadline();
    if (job === undefined || due === undefined || due > now.instant) return;
    const { task, attempt } = job.held;
    const isForgotten = job.doubtUntil === due;
    this.#drop();
    // A calculator that ran out of time says itself when it is ready again.
    if (!isForgotten) this.#become("busy");
    const reason = isForgotten ? "forgotten" : "time_limit";
    this.#host.post({ type: "attempt-lost", reason, worker: this.id, task, attempt });
    this.#show();
  }

  #answered(job: Job, packet: Packet): void {
    // An answer also means that it took the task.
    this.#dropAsked(job);
    const answers = [packet];
    job.answers = answers;
    this.#postAnswer(job.held, packet.params, (_answer, now) => {
      // [udp 3.4] Committed, or refused because the lease was revoked: its part is done.
      for (const each of answers) this.#host.exchange.acknowledge(this.address, each);
      if (this.#job === job) this.#finished(job, now);
    });
  }

  #finished(job: Job, now: Moment): void {
    this.#lastDone = job.held;
    this.#job = undefined;
    this.#become("ready");
    const next = this.#next;
    this.#next = undefined;
    if (next !== undefined) this.assign(next, now);
    else this.#show();
  }

  #postAnswer({ task, attempt }: Pick<HeldTask, "task" | "attempt">, params: Params, take: TakeAnswer): void {
    const worker = this.id;
    const request = this.#host.request(take);
    const isOfBefore = attempt === undefined;
    const { error, result } = answerIn(params);
    if (error !== undefined) {
      this.#host.post({ type: "attempt-failed", worker, task, attempt, isOfBefore, error, request });
    } else this.#host.post({ type: "attempt-done", worker, task, attempt, isOfBefore, result, request });
  }

  /** It no longer has its task, and nothing more is sent about it. */
  #drop(): void {
    const job = this.#job;
    this.#job = undefined;
    this.#next = undefined;
    if (job === undefined) return;
    this.#dropAsked(job);
    this.#host.lost(this, job.held);
  }

  /** Stops repeating its perform_task. */
  #dropAsked({ asked }: Job): void {
    if (asked !== undefined) this.#host.exchange.drop(asked);
  }

  #become(status: CalculatorStatus): void {
    this.#status = status;
    // [udp 3.8] A calculator that is busy with foreign work is listed and offered nothing.
    this.#offer(status === "ready" ? 1 : 0);
  }

  #offer(slots: 0 | 1): void {
    if (this.#slots === slots) return;
    this.#slots = slots;
    this.#info = undefined;
    this.#write();
    const { id, address, queue } = this.#options;
    this.#host.post({
      type: "worker-joined",
      worker: id,
      profile: {
        dialect: "udp",
        address: address.name,
        queues: [queue],
        slots,
        runsAtOnce: 1,
        pulls: false,
        givesBack: false,
      },
    });
  }

  /** [udp 3.11] */
  #write(): void {
    if (this.#writtenForm === this.#form) return;
    this.#writtenForm = this.#form;
    this.#host.post({
      type: "memo-written",
      name: calculatorMemo(this.address),
      bytes: writeCalculator(this.#form),
    });
  }

  /** [udp 5] Its state in the document's words, for people. */
  #show(): void {
    if (this.#slots === undefined) return;
    const info = infos[this.#form][this.#job === undefined ? this.#status : "busy"];
    if (info === this.#info) return;
    this.#info = info;
    this.#host.post({ type: "worker-beat", worker: this.id, info });
  }
}

const infos = {
  document: infosOf("document"),
  program: infosOf("program"),
} as const;

function infosOf(form: UdpForm): Readonly<Record<CalculatorStatus, Readonly<Record<string, unknown>>>> {
  return {
    ready: { status: "ready", form },
    busy: { status: "busy", form },
    unavailable: { status: "unavailable", form },
  };
}
