// A simulated monique worker: a PULL to the controller and a PUSH to the scheduler, which come and go apart from each
// other. What it has begun it finishes and answers, whatever became of the connection that brought it.

import type { Instant, Moment, WallTime } from "@yardmaster/core";
import { monique } from "@yardmaster/dialects";
import type { MoniqueChecker } from "./monique-checker.js";
import { Plug } from "./plug.js";
import type { Random } from "./random.js";
import type { Streams } from "./streams.js";
import { Process, type World } from "./world.js";

export interface MoniqueWorkerPlan {
  readonly name: string;
  /** Several may have the same. */
  readonly creator: string;
  readonly workMsMax: number;
  readonly failShare: number;
}

interface Job {
  readonly header: monique.MoniqueHeader;
  readonly form: monique.MoniqueForm;
  readonly data: string;
  readonly line: number;
}

export class MoniqueSimulatedWorker {
  process: Process;
  readonly plan: MoniqueWorkerPlan;
  readonly #world: World;
  readonly #streams: Streams;
  readonly #random: Random;
  readonly #checker: MoniqueChecker;
  #push: Plug | undefined;
  #queue: Job[] = [];
  #isBusy = false;
  /** What there was no connection for: ZeroMQ keeps it. */
  #unsent: Buffer[][] = [];

  constructor(
    world: World,
    streams: Streams,
    random: Random,
    checker: MoniqueChecker,
    plan: MoniqueWorkerPlan,
  ) {
    this.#world = world;
    this.#streams = streams;
    this.#random = random;
    this.#checker = checker;
    this.plan = plan;
    this.process = new Process(plan.name);
    this.start();
  }

  /** Comes to life, with nothing in its memory. */
  start(): void {
    this.process = new Process(this.plan.name);
    this.#queue = [];
    this.#isBusy = false;
    this.#unsent = [];
    const usual = { process: this.process, identity: "", gone: () => {} };
    new Plug(this.#world, this.#streams, this.#random, {
      ...{ ...usual, endpoint: "controller", socketType: "PULL", came: () => {} },
      receive: (line, frames) => this.#take(line, frames),
    });
    this.#push = new Plug(this.#world, this.#streams, this.#random, {
      ...{ ...usual, endpoint: "in", socketType: "PUSH", receive: () => {} },
      came: () => {
        for (const frames of this.#unsent.splice(0)) this.#send(frames);
      },
    });
  }

  #take(line: number, frames: Buffer[]): void {
    const reading = monique.readMessage(frames);
    if (!reading.ok || reading.content === undefined)
      throw new Error(`${this.plan.name} cannot read ${frames}`);
    const { header, content } = reading;
    const data = monique.dataIn(content, frames[1] as Buffer).toString("latin1");
    this.#checker.given(this.plan.name, line, header, data);
    this.#queue.push({ header, form: content.form, data, line });
    if (!this.#isBusy) this.#workNext();
  }

  #workNext(): void {
    const job = this.#queue.shift();
    this.#isBusy = job !== undefined;
    if (job === undefined) return;
    const { process } = this;
    this.#world.plan(process, this.#random.between(1, this.plan.workMsMax), () => {
      this.#answer(job);
      this.#workNext();
    });
  }

  /** The result is made of the question and of who did it, so that one that answers another question shows. */
  #answer({ header, form, data, line }: Job): void {
    const { creator, name, failShare } = this.plan;
    const session = new monique.MoniqueComponentSession({ creator, form, makeId: () => `a.${header.id}` });
    const message = this.#random.chance(failShare)
      ? session.fail(header, 502, data, this.#now())
      : session.answer(header, Buffer.from(`- ${data} ${name}`), "JSON", this.#now());
    this.#checker.workedOn(line, data);
    this.#send(monique.writeMessage(message, form));
  }

  #send(frames: Buffer[]): void {
    if (this.#push?.send(frames) !== true) this.#unsent.push(frames);
  }

  #now(): Moment {
    const wall = 1_800_000_000_000 + this.#world.time + this.#world.wallOffset;
    return { instant: this.#world.time as Instant, wall: wall as WallTime };
  }
}
