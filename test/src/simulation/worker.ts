// A simulated worker: takes what it is given, works on some of it at once, answers until it is heard, gives back what it
// is asked for, and dies, pauses and comes back as the seed has it.

import type { AttemptNumber } from "@yardmaster/core";
import type { Checker } from "./checker.js";
import type { Network } from "./network.js";
import type { Random } from "./random.js";
import type { Held, Signal, WorkerSignal, YardSignal } from "./signals.js";
import { Process, type World } from "./world.js";

const beatMs = 1_000;
const wantMs = 700;
const resendMs = 200;

export interface WorkerPlan {
  readonly name: string;
  readonly slots: number;
  readonly runsAtOnce: number;
  readonly pulls: boolean;
  readonly givesBack: boolean;
  readonly failShare: number;
  readonly busyShare: number;
  readonly workMsMax: number;
}

interface Job extends Held {
  readonly payload: string;
  hasBegun: boolean;
  answer: Extract<WorkerSignal, { type: "done" | "failed" | "return" }> | undefined;
  answeredAt: number;
}

export class SimulatedWorker {
  process: Process;
  readonly plan: WorkerPlan;
  readonly #world: World;
  readonly #network: Network;
  readonly #random: Random;
  readonly #checker: Checker;
  #life = 0;
  #jobs = new Map<AttemptNumber, Job>();
  /** What it has answered or given back in this life: a repeated datagram must not start it again. */
  #over = new Set<AttemptNumber>();

  constructor(world: World, network: Network, random: Random, checker: Checker, plan: WorkerPlan) {
    this.process = new Process(plan.name);
    this.plan = plan;
    this.#world = world;
    this.#network = network;
    this.#random = random;
    this.#checker = checker;
    this.start();
  }

  /** Comes to life, with nothing in its memory. */
  start(): void {
    this.process = new Process(this.plan.name);
    this.#life += 1;
    this.#jobs = new Map();
    this.#over = new Set();
    this.#network.attach(this.plan.name, this);
    this.#hello();
    this.#beat();
    if (this.plan.pulls) this.#want();
  }

  /** Claims to have done what somebody else was given. */
  forge({ task, attempt }: Held, payload: string): void {
    this.#send({ type: "done", task, attempt, result: `${attempt} ${payload} ${this.plan.name}` });
  }

  receive(_from: string, signal: Signal): void {
    const yard = signal as YardSignal;
    switch (yard.type) {
      case "work":
        return this.#take(yard);
      case "settled":
        return this.#settled(yard);
      case "stop":
        return this.#stop(yard);
      case "recall":
        for (const held of yard.attempts) this.#giveBack(held);
        return;
      case "who":
        return this.#hello();
      default:
    }
  }

  #send(signal: WorkerSignal): void {
    this.#network.send(this.plan.name, "yard", signal);
  }

  get #held(): Held[] {
    return [...this.#jobs.values()].map(({ task, attempt }) => ({ task, attempt }));
  }

  #hello(): void {
    const { slots, runsAtOnce, pulls, givesBack } = this.plan;
    this.#send({
      type: "hello",
      life: this.#life,
      queues: ["sim"],
      slots,
      runsAtOnce,
      pulls,
      givesBack,
      held: this.#held,
    });
  }

  #beat(): void {
    const queued = [...this.#jobs.values()].filter(({ hasBegun }) => !hasBegun).length;
    this.#send({ type: "beat", life: this.#life, queued, held: this.#held });
    this.#world.plan(this.process, beatMs, () => this.#beat());
  }

  #want(): void {
    if (this.#jobs.size < this.plan.slots)
      this.#send({ type: "want", queue: "sim", max: this.#random.integer(1, 2) });
    this.#world.plan(this.process, wantMs, () => this.#want());
  }

  #take(work: Extract<YardSignal, { type: "work" }>): void {
    const { task, attempt, payload } = work;
    this.#checker.workArrived(this.plan.name, work, payload, this.#world.time);
    if (this.#jobs.has(attempt) || this.#over.has(attempt)) return this.#send({ type: "got", task, attempt });
    const job: Job = { task, attempt, payload, hasBegun: false, answer: undefined, answeredAt: 0 };
    this.#jobs.set(attempt, job);
    if (!this.plan.pulls && this.#random.chance(this.plan.busyShare)) {
      return this.#answer(job, { type: "return", task, attempt, reason: "busy" });
    }
    this.#send({ type: "got", task, attempt });
    this.#beginNext();
  }

  #beginNext(): void {
    const jobs = [...this.#jobs.values()];
    let running = jobs.filter(({ hasBegun, answer }) => hasBegun && answer === undefined).length;
    for (const job of jobs) {
      if (job.hasBegun || job.answer !== undefined || running >= this.plan.runsAtOnce) continue;
      job.hasBegun = true;
      running += 1;
      this.#world.plan(this.process, this.#random.between(1, this.plan.workMsMax), () => this.#finish(job));
    }
  }

  #finish(job: Job): void {
    if (this.#jobs.get(job.attempt) !== job || job.answer !== undefined) return;
    const { task, attempt, payload } = job;
    if (this.#random.chance(this.plan.failShare)) this.#answer(job, { type: "failed", task, attempt });
    else
      this.#answer(job, { type: "done", task, attempt, result: `${attempt} ${payload} ${this.plan.name}` });
  }

  #answer(job: Job, answer: NonNullable<Job["answer"]>): void {
    job.answer = answer;
    job.answeredAt = this.#world.time;
    this.#answerUntilHeard(job);
    this.#beginNext();
  }

  #answerUntilHeard(job: Job): void {
    if (this.#jobs.get(job.attempt) !== job || job.answer === undefined) return;
    this.#send(job.answer);
    this.#world.plan(this.process, resendMs, () => this.#answerUntilHeard(job));
  }

  #settled(settled: Extract<YardSignal, { type: "settled" }>): void {
    const job = this.#jobs.get(settled.attempt);
    if (job?.answer === undefined) return;
    if (job.answer.type === "done")
      this.#checker.answered(this.plan.name, job, settled.counted, job.answeredAt);
    this.#jobs.delete(job.attempt);
    this.#over.add(job.attempt);
  }

  #stop(held: Held): void {
    const job = this.#jobs.get(held.attempt);
    // One that has answered waits for what is said of that.
    if (job === undefined || job.answer !== undefined) return;
    this.#answer(job, { type: "failed", task: held.task, attempt: held.attempt });
  }

  #giveBack(held: Held): void {
    const job = this.#jobs.get(held.attempt);
    if (job === undefined || job.hasBegun || job.answer !== undefined) return;
    this.#answer(job, { type: "return", task: held.task, attempt: held.attempt, reason: "balance" });
  }
}
