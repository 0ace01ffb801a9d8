// A simulated monique worker: a PULL to the controller and a PUSH to the scheduler, which connect
// and break independently. It finishes and answers what it has begun, whatever happens to the
// connection that brought it.

import type { Instant, Moment, WallTime } from "@yardmaster/core";
import { monique } from "@yardmaster/dialects";
import type { MoniqueChecker } from "./monique-checker.js";
import type { Plug } from "./plug.js";
import { StreamPeer } from "./stream-peer.js";

export interface MoniqueWorkerPlan {
  readonly name: string;
  /** Several workers may have the same one. */
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

export class MoniqueSimulatedWorker extends StreamPeer<MoniqueChecker, MoniqueWorkerPlan> {
  #push: Plug | undefined;
  #queue: Job[] = [];
  #isBusy = false;
  /** Messages without a connection; ZeroMQ keeps them. */
  #unsent: Buffer[][] = [];

  constructor(...given: ConstructorParameters<typeof StreamPeer<MoniqueChecker, MoniqueWorkerPlan>>) {
    super(...given);
    this.start();
  }

  protected begin(): void {
    this.#queue = [];
    this.#isBusy = false;
    this.#unsent = [];
    this.connect({
      ...{ endpoint: "controller", socketType: "PULL" },
      receive: (line, frames) => this.#take(line, frames),
    });
    this.#push = this.connect({
      ...{ endpoint: "in", socketType: "PUSH" },
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
    this.checker.given(this.plan.name, line, header, data);
    this.#queue.push({ header, form: content.form, data, line });
    if (!this.#isBusy) this.#workNext();
  }

  #workNext(): void {
    const job = this.#queue.shift();
    this.#isBusy = job !== undefined;
    if (job === undefined) return;
    const { process } = this;
    this.world.plan(process, this.random.between(1, this.plan.workMsMax), () => {
      this.#answer(job);
      this.#workNext();
    });
  }

  /**
   * The result contains the question and the worker, so that an answer to another question is
   * noticed.
   */
  #answer({ header, form, data, line }: Job): void {
    const { creator, name, failShare } = this.plan;
    const session = new monique.MoniqueComponentSession({ creator, form, makeId: () => `a.${header.id}` });
    const message = this.random.chance(failShare)
      ? session.fail(header, 502, data, this.#now())
      : session.answer(header, Buffer.from(`- ${data} ${name}`), "JSON", this.#now());
    this.checker.workedOn(line, data);
    this.#send(monique.writeMessage(message, form));
  }

  #send(frames: Buffer[]): void {
    if (this.#push?.send(frames) !== true) this.#unsent.push(frames);
  }

  #now(): Moment {
    const wall = 1_800_000_000_000 + this.world.time + this.world.wallOffset;
    return { instant: this.world.time as Instant, wall: wall as WallTime };
  }
}
