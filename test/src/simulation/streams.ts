// The simulated network of connections, for dialects over ZeroMQ and for http: listeners,
// connections, and their faults. A connection breaks and both ends notice, or a host vanishes and
// an end notices only after missing heartbeats.

import type { MakeRouter } from "@yardmaster/server";
import type { GoneReason } from "@yardmaster/zmtp";
import { type Item, Pipe, type Reader } from "./pipe.js";
import type { Random } from "./random.js";
import { type RouterSurroundings, SimulatedRouter } from "./router.js";
import type { Connections } from "./side.js";
import { Process, type World } from "./world.js";

export interface StreamFaults {
  /** Share of messages with a long delay. */
  readonly late: number;
  /** Number of connections that break per second, over all. */
  readonly breaks: number;
  /** Number of unread messages after which an end is sent no more. */
  readonly pendingMax: number;
}

/** A dialect's name for a port. */
export type Endpoint = string;

/** The end of a dispatcher: a socket that accepts connections. */
export interface Listener {
  readonly process: Process;
  take(line: Line, item: Item<GoneReason>): void;
}

/** One connection. */
export interface Line {
  readonly id: number;
  readonly endpoint: Endpoint;
  /** The peer's own name; empty if the router assigns one. */
  readonly identity: string;
  /** STREAM is plain TCP. */
  readonly socketType: "REQ" | "DEALER" | "PUSH" | "PULL" | "SUB" | "STREAM";
  readonly peer: Process;
  readonly router: Listener;
  readonly toRouter: Pipe<GoneReason>;
  readonly toPeer: Pipe<GoneReason>;
  /** True while neither end has disconnected and nothing has broken the connection. */
  isWhole: boolean;
  /** Called when the peer has read something, if the router waits for that. */
  onRead?: () => void;
}

const usualMs = 3;
const lateMs = 1_500;
/** zmtp's heartbeat gives up a silent peer after about this long. */
const silenceMs = [6_000, 6_500] as const;

/** A peer that can be restarted. */
export interface Mortal {
  readonly process: Process;
  start(): void;
}

const environment = new Process("environment");

export class Streams implements Connections {
  readonly #world: World;
  readonly #random: Random;
  readonly #routers = new Map<Endpoint, Listener>();
  readonly #lines = new Map<number, Line>();
  #lastLine = 0;
  #isHealed = false;
  faults: StreamFaults;
  /** Two dispatchers ran at the same time. */
  hadTwoYards = false;

  constructor(world: World, random: Random, faults: StreamFaults) {
    this.#world = world;
    this.#random = random;
    this.faults = faults;
  }

  /** From now on, new connections to this endpoint go to this listener. */
  listen(endpoint: Endpoint, listener: Listener): void {
    this.#routers.set(endpoint, listener);
  }

  /** Routers for a door of this process. After `bind`, new connections go to this one. */
  routersOf(process: Process): MakeRouter {
    const nameOf = (endpoint: string) => (endpoint.includes(":1") ? "clients" : "workers");
    return (options) => new SimulatedRouter(options, process, this.around(process, nameOf));
  }

  /** The surroundings of a socket of this process; `nameOf` maps its endpoint to a name. */
  around(process: Process, nameOf: (endpoint: string) => Endpoint): RouterSurroundings {
    return {
      // Close together, so that a name occurs again in another process.
      firstName: this.#random.integer(0, 9),
      bound: (endpoint, router) => this.listen(nameOf(endpoint), router),
      pendingMax: () => this.faults.pendingMax,
      say: (what) => this.#world.say(process.name, what),
    };
  }

  /** The address now belongs to another dispatcher. Connected peers stay with the deposed one. */
  yardDeposed(): void {
    this.hadTwoYards = true;
    this.#routers.clear();
  }

  /**
   * From here on nothing is delayed or breaks. A dispatcher can still stop, by a disk error that
   * was drawn before, but its machine no longer vanishes with it.
   */
  heal(): void {
    this.#isHealed = true;
    this.faults = { ...this.faults, late: 0, breaks: 0 };
  }

  isWhole(line: number): boolean {
    return this.#lines.get(line)?.isWhole === true;
  }

  /** A new connection; undefined if there is no listener. */
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

  /** Breaks some connection. */
  breakOne(): void {
    const whole = [...this.#lines.values()].filter(({ isWhole }) => isWhole);
    if (whole.length > 0) this.break(this.#random.pick(whole));
  }

  /** Messages in transit are lost. Each end notices soon, or after too long a silence. */
  break(line: Line): void {
    line.isWhole = false;
    const [toRouter, toPeer] = [this.#random.chance(0.6), this.#random.chance(0.6)];
    this.#world.say(line.peer.name, () => `BREAKS line ${line.id}, heard ${toRouter} ${toPeer}`);
    line.toRouter.cut(toRouter ? "reset" : "silent", this.#newsMs(toRouter), this.#random.chance(0.5));
    line.toPeer.cut(toPeer ? "reset" : "silent", this.#newsMs(toPeer), this.#random.chance(0.5));
  }

  /** The peer answers no heartbeats for `ms`, so the router considers it dead. */
  fallsSilent(peer: Process, ms: number): void {
    if (ms < silenceMs[0]) return;
    for (const line of this.#lines.values()) {
      if (line.peer !== peer || !line.isWhole) continue;
      line.isWhole = false;
      line.toRouter.cut("silent", this.#newsMs(false), false);
      line.toPeer.cut("reset", this.#newsMs(false), this.#random.chance(0.5));
    }
  }

  /** Kills a peer, which comes back later unless it is restarted before. */
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

  /**
   * The peer's process has ended. Its machine reports that after what it sent, or vanished together
   * with it.
   */
  peerDied(peer: Process): void {
    for (const line of this.#lines.values()) {
      if (line.peer !== peer || !line.isWhole) continue;
      line.isWhole = false;
      if (this.#random.chance(0.6)) line.toRouter.end("closed");
      else line.toRouter.cut("silent", this.#newsMs(false), this.#random.chance(0.5));
    }
  }

  /** The same for a dispatcher. */
  yardDied(process: Process): void {
    for (const [endpoint, router] of this.#routers) {
      if (router.process === process) this.#routers.delete(endpoint);
    }
    for (const line of this.#lines.values()) {
      if (line.router.process !== process || !line.isWhole) continue;
      line.isWhole = false;
      if (this.#isHealed || this.#random.chance(0.8)) line.toPeer.end("closed");
      else line.toPeer.cut("silent", this.#newsMs(false), this.#random.chance(0.5));
    }
  }

  /** The peer disconnects. */
  hangUp(line: Line): void {
    line.isWhole = false;
    line.toRouter.end("closed");
    line.toPeer.drop();
  }

  #newsMs(isSoon: boolean): number {
    return isSoon ? this.#random.between(0.05, usualMs) : this.#random.between(...silenceMs);
  }
}
