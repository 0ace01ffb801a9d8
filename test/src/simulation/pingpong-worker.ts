// A simulated pingpong worker around the real session. It runs one job at a time, and dies, pauses,
// loses its connection, restarts on the same connection and comes back, sometimes under its own
// name, as the seed decides.

import type { Instant, Moment, WallTime } from "@yardmaster/core";
import { pingpong } from "@yardmaster/dialects";
import type { PingpongChecker } from "./pingpong-checker.js";
import type { Plug } from "./plug.js";
import { StreamPeer } from "./stream-peer.js";

export interface PingpongWorkerPlan {
  readonly name: string;
  readonly identity: string;
  readonly form: pingpong.PingpongForm;
  /** Its library reconnects without telling it, and keeps messages in the meantime. */
  readonly isUnaware: boolean;
  readonly workMsMax: number;
}

const empty = Buffer.alloc(0);

export class PingpongWorker extends StreamPeer<PingpongChecker, PingpongWorkerPlan> {
  #plug: Plug | undefined;
  #session: pingpong.PingpongWorkerSession = this.#makeSession();
  /** Messages that an unaware worker sent without a connection. */
  #unsent: Buffer[][] = [];
  #cancelTimer = () => {};

  constructor(...given: ConstructorParameters<typeof StreamPeer<PingpongChecker, PingpongWorkerPlan>>) {
    super(...given);
    this.start();
  }

  protected begin(): void {
    this.#unsent = [];
    this.#session = this.#makeSession();
    this.#plug = this.#makePlug();
  }

  /** Gives up its job and sends READY on the same connection. */
  startAnew(): void {
    // [pingpong 3.4] In program form that would be a ping, and the job would never be answered.
    if (this.plan.form === "program") return;
    if (this.process.isDead || !this.#session.isBusy || this.#plug?.line === undefined) return;
    this.world.say(this.plan.name, () => "STARTS ANEW");
    this.#session = this.#makeSession();
    this.#turn(() => this.#session.connected(this.#now()));
  }

  #makeSession(): pingpong.PingpongWorkerSession {
    const session = new pingpong.PingpongWorkerSession(pingpong.defaultPingpongWorkerSettings, {
      send: (message) => this.#sendFrames(pingpong.writeFromWorker(message)),
      work: (parts) => this.#work(session, parts),
      reconnect: () => this.#reconnect(),
    });
    return session;
  }

  #makePlug(): Plug {
    const plug: Plug = this.connect({
      endpoint: "workers",
      socketType: "DEALER",
      identity: this.plan.identity,
      came: () => this.#came(),
      receive: (line, frames) => this.#receive(line, frames),
      gone: () => {
        if (!this.plan.isUnaware) this.#turn(() => this.#session.disconnected());
      },
    });
    this.#isFirst = true;
    return plug;
  }

  /** True until its first connection. */
  #isFirst = true;

  #came(): void {
    const isKnown = !this.#isFirst && this.plan.isUnaware;
    this.#isFirst = false;
    for (const frames of this.#unsent.splice(0)) this.#sendFrames(frames);
    if (!isKnown) this.#turn(() => this.#session.connected(this.#now()));
  }

  #receive(line: number, frames: Buffer[]): void {
    const reading = pingpong.readFromBroker(frames, this.plan.form);
    if (!reading.ok) throw new Error(`${this.plan.name} was sent what it cannot read: ${reading.fault}`);
    const { message } = reading;
    if (message.type === "job")
      this.checker.jobArrived({
        worker: this.plan.name,
        line,
        parts: message.parts,
        client: message.client,
      });
    this.#turn(() => this.#session.receive(message, this.#now()));
  }

  #work(session: pingpong.PingpongWorkerSession, parts: readonly Buffer[]): void {
    const result = resultOf(this.plan.name, parts);
    this.world.plan(this.process, this.random.between(1, this.plan.workMsMax), () => {
      if (session === this.#session) this.#turn(() => session.finish(result, this.#now()));
    });
  }

  #sendFrames(frames: Buffer[]): void {
    const line = this.#plug?.line;
    if (line === undefined) {
      if (this.plan.isUnaware) this.#unsent.push(frames);
      return;
    }
    this.checker.workerSaid(line, frames);
    this.#plug?.send(frames);
  }

  #reconnect(): void {
    this.#plug?.pull();
    this.#unsent = [];
    this.#plug = this.#makePlug();
  }

  #turn(work: () => void): void {
    work();
    this.#cancelTimer();
    const deadline = this.#session.nextDeadline();
    if (deadline === undefined) return;
    this.#cancelTimer = this.world.plan(this.process, Math.max(0, deadline - this.world.time), () =>
      this.#turn(() => this.#session.handleTimeout(this.#now())),
    );
  }

  #now(): Moment {
    return { instant: this.world.time as Instant, wall: 0 as WallTime };
  }
}

/** Contains the job and the worker, so that an answer to another job is noticed. */
export function resultOf(worker: string, [first = empty, ...others]: readonly Buffer[]): Buffer[] {
  return [Buffer.from(`- ${first.toString("latin1")} ${worker}`, "latin1"), ...others];
}
