// A simulated pingpong client: a DEALER with many requests at once, around the real session, or a
// REQ with one at a time. It gives up requests whose connection is gone.

import { bodyOfParts, pingpong } from "@yardmaster/dialects";
import type { PingpongChecker } from "./pingpong-checker.js";
import type { Plug } from "./plug.js";
import { StreamPeer } from "./stream-peer.js";

export interface PingpongClientPlan {
  readonly name: string;
  readonly identity: string;
  readonly socketType: "REQ" | "DEALER";
  readonly jobs: number;
  readonly overMs: number;
}

/** Words that mean something elsewhere, but nothing in the second part of a job. */
const secondParts = ["", "PONG", "READY", "x".repeat(20)];

/**
 * [pingpong 4.5] True if answers may go to a later connection: the client has a name, and its
 * answers identify themselves.
 */
function isFollowed({ identity, socketType }: PingpongClientPlan): boolean {
  return identity !== "" && socketType === "DEALER";
}

export class PingpongClient extends StreamPeer<PingpongChecker, PingpongClientPlan> {
  #session = new pingpong.PingpongClientSession<number>();
  #plug: Plug | undefined;
  /** The highest number it ever used, so that a job's number is unique across its restarts. */
  #last = 0;
  /** The request for which a REQ waits. */
  #outstanding: number | undefined;
  /** Requests that wait for a connection. */
  #unasked: number[] = [];

  constructor(...given: ConstructorParameters<typeof StreamPeer<PingpongChecker, PingpongClientPlan>>) {
    super(...given);
    this.start();
  }

  protected begin(): void {
    const { identity, socketType, jobs, overMs } = this.plan;
    this.#session = new pingpong.PingpongClientSession(`${this.random.integer(1, 1e9).toString(36)}.`);
    this.#outstanding = undefined;
    this.#unasked = [];
    this.#plug = this.connect({
      ...{ endpoint: "clients", socketType, identity },
      came: () => this.#askNext(),
      receive: (line, frames) => this.#receive(line, frames),
      gone: () => {
        this.#session.takeAll();
        this.#outstanding = undefined;
      },
    });
    for (let count = jobs; count > 0; count -= 1) {
      this.world.plan(this.process, this.random.between(0, overMs), () => {
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
    const random = this.random;
    const { name, socketType } = this.plan;
    const parts = [Buffer.from(`${name}/${number}/${"x".repeat(random.integer(0, 12))}`)];
    if (random.chance(0.2)) parts.push(Buffer.from(random.pick(secondParts)));
    this.checker.asked({ client: name, number, line, parts, isFollowed: isFollowed(this.plan) });
    const payload = bodyOfParts(parts);
    if (socketType === "REQ") {
      this.#outstanding = number;
      this.#plug?.send(pingpong.writeFromClient({ correlation: [], payload }));
      return;
    }
    const { correlation } = this.#session.ask(parts, number);
    const more = random.chance(0.2) ? [Buffer.from("more")] : [];
    this.#plug?.send(pingpong.writeFromClient({ correlation: [...correlation, ...more], payload }));
  }

  #receive(line: number, frames: Buffer[]): void {
    const reading = pingpong.readFromBrokerToClient(frames);
    if (!reading.ok) throw new Error(`${this.plan.name} was sent what it cannot read: ${reading.fault}`);
    const isReq = this.plan.socketType === "REQ";
    const asked = isReq ? this.#outstanding : this.#session.take(reading.message);
    this.#outstanding = undefined;
    this.checker.answered(this.plan.name, line, asked, reading.message);
    if (isReq) this.#askNext();
  }
}
