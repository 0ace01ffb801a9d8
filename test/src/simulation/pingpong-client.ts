// A simulated pingpong client: a DEALER that asks many things at once around the real session of that end, or a REQ that
// asks one thing at a time. What it asked on a connection that is gone it has given up.

import { pingpong } from "@yardmaster/dialects";
import type { PingpongChecker } from "./pingpong-checker.js";
import { Plug } from "./plug.js";
import type { Random } from "./random.js";
import type { Streams } from "./streams.js";
import { Process, type World } from "./world.js";

export interface PingpongClientPlan {
  readonly name: string;
  readonly identity: string;
  readonly socketType: "REQ" | "DEALER";
  readonly jobs: number;
  readonly overMs: number;
}

/** Words that mean something elsewhere, and nothing in the second part of a job. */
const secondParts = ["", "PONG", "READY", "x".repeat(20)];

/** [pingpong 4.5] Answers come after it to a later connection: it has a name, and its answers say what they are. */
function isFollowed({ identity, socketType }: PingpongClientPlan): boolean {
  return identity !== "" && socketType === "DEALER";
}

export class PingpongClient {
  process: Process;
  readonly plan: PingpongClientPlan;
  readonly #world: World;
  readonly #streams: Streams;
  readonly #random: Random;
  readonly #checker: PingpongChecker;
  #session = new pingpong.PingpongClientSession<number>();
  #plug: Plug | undefined;
  /** The greatest number it ever used: a job has a number of its own in all its lives. */
  #last = 0;
  /** What a REQ waits for. */
  #outstanding: number | undefined;
  /** What there was no connection for yet. */
  #unasked: number[] = [];

  constructor(
    world: World,
    streams: Streams,
    random: Random,
    checker: PingpongChecker,
    plan: PingpongClientPlan,
  ) {
    this.#world = world;
    this.#streams = streams;
    this.#random = random;
    this.#checker = checker;
    this.plan = plan;
    this.process = new Process(plan.name);
    this.start();
  }

  /** Comes to life, with all of its plan before it; it knows nothing of what it asked before. */
  start(): void {
    const { name, identity, socketType, jobs, overMs } = this.plan;
    this.process = new Process(name);
    this.#session = new pingpong.PingpongClientSession(`${this.#random.integer(1, 1e9).toString(36)}.`);
    this.#outstanding = undefined;
    this.#unasked = [];
    this.#plug = new Plug(this.#world, this.#streams, this.#random, {
      ...{ process: this.process, endpoint: "clients", socketType, identity },
      came: () => this.#askNext(),
      receive: (line, frames) => this.#receive(line, frames),
      gone: () => {
        this.#session.takeAll();
        this.#outstanding = undefined;
      },
    });
    for (let count = jobs; count > 0; count -= 1) {
      this.#world.plan(this.process, this.#random.between(0, overMs), () => {
        this.#last += 1;
        this.#unasked.push(this.#last);
        this.#askNext();
      });
    }
  }

  #askNext(): void {
    const line = this.#plug?.line;
    while (line !== undefined && this.#outstanding === undefined) {
      const number = this.#unasked.shift();
      if (number === undefined) return;
      this.#ask(line, number);
    }
  }

  #ask(line: number, number: number): void {
    const random = this.#random;
    const { name, socketType } = this.plan;
    const parts = [Buffer.from(`${name}/${number}/${"x".repeat(random.integer(0, 12))}`)];
    if (random.chance(0.2)) parts.push(Buffer.from(random.pick(secondParts)));
    this.#checker.asked({ client: name, number, line, parts, isFollowed: isFollowed(this.plan) });
    if (socketType === "REQ") {
      this.#outstanding = number;
      this.#plug?.send(pingpong.writeFromClient({ correlation: [], parts }));
      return;
    }
    const { correlation } = this.#session.ask(parts, number);
    const more = random.chance(0.2) ? [Buffer.from("more")] : [];
    this.#plug?.send(pingpong.writeFromClient({ correlation: [...correlation, ...more], parts }));
  }

  #receive(line: number, frames: Buffer[]): void {
    const reading = pingpong.readFromBrokerToClient(frames);
    if (!reading.ok) throw new Error(`${this.plan.name} was sent what it cannot read: ${reading.fault}`);
    const isReq = this.plan.socketType === "REQ";
    const asked = isReq ? this.#outstanding : this.#session.take(reading.message);
    this.#outstanding = undefined;
    this.#checker.answered(this.plan.name, line, asked, reading.message);
    if (isReq) this.#askNext();
  }
}
