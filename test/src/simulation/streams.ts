// The simulated network of connections, for dialects over ZeroMQ: who listens, who is connected, and what goes wrong with
// connections. They break, and both ends hear of it; or a host vanishes, and an end hears of it only after a heartbeat's
// silence.

import type { MakeRouter } from "@yardmaster/server";
import type { GoneReason } from "@yardmaster/zmtp";
import { Pipe, type Reader } from "./pipe.js";
import type { Random } from "./random.js";
import { type RouterSurroundings, SimulatedRouter } from "./router.js";
import type { Process, World } from "./world.js";

export interface StreamFaults {
  /** Share of messages that take long. */
  readonly late: number;
  /** Connections that break, a second, over all. */
  readonly breaks: number;
  /** Messages that one end may be behind with before it is sent no more. */
  readonly pendingMax: number;
}

/** What a dialect calls a port that is listened on. */
export type Endpoint = string;

/** One connection. */
export interface Line {
  readonly id: number;
  readonly endpoint: Endpoint;
  /** What the peer calls itself; empty for one that leaves that to the router. */
  readonly identity: string;
  readonly socketType: "REQ" | "DEALER" | "PUSH" | "PULL" | "SUB";
  readonly peer: Process;
  readonly router: SimulatedRouter;
  readonly toRouter: Pipe<GoneReason>;
  readonly toPeer: Pipe<GoneReason>;
  /** Neither end has hung up, and nothing has come between them. */
  isWhole: boolean;
}

const usualMs = 3;
const lateMs = 1_500;
/** zmtp's heartbeat gives a silent peer up after this long, a little more or less. */
const silenceMs = [6_000, 6_500] as const;

/** A peer that can be started anew. */
export interface Mortal {
  readonly process: Process;
  start(): void;
}

const environment: Process = { name: "environment", isDead: false, pausedUntil: 0 };

export class Streams {
  readonly #world: World;
  readonly #random: Random;
  readonly #routers = new Map<Endpoint, SimulatedRouter>();
  readonly #lines = new Map<number, Line>();
  #lastLine = 0;
  faults: StreamFaults;
  readonly #deposed: Process[] = [];

  constructor(world: World, random: Random, faults: StreamFaults) {
    this.#world = world;
    this.#random = random;
    this.faults = faults;
  }

  /** Routers for a door of this process. From `bind` on peers that connect find this one. */
  routersOf(process: Process): MakeRouter {
    const nameOf = (endpoint: string) => (endpoint.includes(":1") ? "clients" : "workers");
    return (options) => new SimulatedRouter(options, process, this.around(process, nameOf));
  }

  /** What a socket of this process finds around it; `nameOf` says what its endpoint is called. */
  around(process: Process, nameOf: (endpoint: string) => Endpoint): RouterSurroundings {
    return {
      // Close together, so that a name is given again in another life.
      firstName: this.#random.integer(0, 9),
      bound: (endpoint, router) => this.#routers.set(nameOf(endpoint), router),
      pendingMax: () => this.faults.pendingMax,
      say: (what) => this.#world.say(process.name, what),
    };
  }

  /** Its address is given to another; who is connected to it stays so until it finds out. */
  yardDeposed(process: Process): void {
    this.#deposed.push(process);
    this.#routers.clear();
  }

  /** From here on nothing is late or breaks, and a dispatcher that was deposed and has not found out is dead. */
  heal(): void {
    this.faults = { ...this.faults, late: 0, breaks: 0 };
    for (const process of this.#deposed.splice(0)) {
      if (process.isDead) continue;
      process.isDead = true;
      this.yardDied(process);
    }
  }

  isWhole(line: number): boolean {
    return this.#lines.get(line)?.isWhole === true;
  }

  /** A new connection, or undefined when nobody listens. */
  connect(
    { endpoint, identity, socketType }: Pick<Line, "endpoint" | "identity" | "socketType">,
    reader: Reader<GoneReason>,
  ): Line | undefined {
    const router = this.#routers.get(endpoint);
    if (router === undefined || router.process.isDead) return undefined;
    this.#lastLine += 1;
    const delayMs = () =>
      this.#random.between(0.05, this.#random.chance(this.faults.late) ? lateMs : usualMs);
    const toRouter = new Pipe<GoneReason>(
      this.#world,
      { process: router.process, take: (item) => router.take(line, item) },
      delayMs,
    );
    const toPeer = new Pipe<GoneReason>(this.#world, reader, delayMs);
    const id = this.#lastLine;
    const line: Line = {
      ...{ id, endpoint, identity, socketType, peer: reader.process, router, toRouter, toPeer },
      isWhole: true,
    };
    this.#lines.set(id, line);
    toRouter.put({ type: "came" });
    toPeer.put({ type: "came" });
    return line;
  }

  /** Something comes between the two ends of some connection. */
  breakOne(): void {
    const whole = [...this.#lines.values()].filter(({ isWhole }) => isWhole);
    if (whole.length > 0) this.break(this.#random.pick(whole));
  }

  /** What is under way is lost; each end hears of it soon, or when it has heard nothing for too long. */
  break(line: Line): void {
    line.isWhole = false;
    const [toRouter, toPeer] = [this.#random.chance(0.6), this.#random.chance(0.6)];
    this.#world.say(line.peer.name, () => `BREAKS line ${line.id}, heard ${toRouter} ${toPeer}`);
    line.toRouter.cut(toRouter ? "reset" : "silent", this.#newsMs(toRouter), this.#random.chance(0.5));
    line.toPeer.cut(toPeer ? "reset" : "silent", this.#newsMs(toPeer), this.#random.chance(0.5));
  }

  /** The peer does not answer heartbeats for so long: the router takes it for dead. */
  fallsSilent(peer: Process, ms: number): void {
    if (ms < silenceMs[0]) return;
    for (const line of this.#lines.values()) {
      if (line.peer !== peer || !line.isWhole) continue;
      line.isWhole = false;
      line.toRouter.cut("silent", this.#newsMs(false), false);
      line.toPeer.cut("reset", this.#newsMs(false), this.#random.chance(0.5));
    }
  }

  /** Kills a peer, which comes back some time later, unless it has been started before. */
  kill(peer: Mortal): void {
    const { process } = peer;
    if (process.isDead) return;
    process.isDead = true;
    this.#world.say(process.name, () => "DIES");
    this.peerDied(process);
    this.#world.plan(environment, this.#random.between(10, 8_000), () => {
      if (peer.process === process) peer.start();
    });
  }

  /** The peer's process is no more. Its machine says so, behind what it sent; or it went with its machine. */
  peerDied(peer: Process): void {
    for (const line of this.#lines.values()) {
      if (line.peer !== peer || !line.isWhole) continue;
      line.isWhole = false;
      if (this.#random.chance(0.6)) line.toRouter.end("closed");
      else line.toRouter.cut("silent", this.#newsMs(false), this.#random.chance(0.5));
    }
  }

  /** The same with a dispatcher. */
  yardDied(process: Process): void {
    for (const [endpoint, router] of this.#routers) {
      if (router.process === process) this.#routers.delete(endpoint);
    }
    for (const line of this.#lines.values()) {
      if (line.router.process !== process || !line.isWhole) continue;
      line.isWhole = false;
      if (this.#random.chance(0.8)) line.toPeer.end("closed");
      else line.toPeer.cut("silent", this.#newsMs(false), this.#random.chance(0.5));
    }
  }

  /** The peer hangs up. */
  hangUp(line: Line): void {
    line.isWhole = false;
    line.toRouter.end("closed");
    line.toPeer.drop();
  }

  #newsMs(isSoon: boolean): number {
    return isSoon ? this.#random.between(0.05, usualMs) : this.#random.between(...silenceMs);
  }
}
