// The network between one dispatcher and the servers. Calls may be cut before or after their
// effect, or answered late. What is sent while the dispatcher is cut off arrives when it heals.

import type { Connect, Link, LinkOptions } from "../pg-link.js";
import type { Platform, Statement } from "../session.js";
import type { Backend } from "./simulated-backend.js";
import type { SimulatedServers } from "./simulated-servers.js";
import type { Row } from "./simulated-tables.js";
import type { Process, World } from "./simulated-world.js";

/** How often one call goes wrong: probabilities. */
export interface Weather {
  readonly cutBefore: number;
  readonly cutAfter: number;
  readonly late: number;
}

export const fair: Weather = { cutBefore: 0, cutAfter: 0, late: 0 };

function brokenConnection(): Error {
  return Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET", syscall: "read" });
}

/** The connections of one process. */
export class Network {
  weather = fair;
  cutOffUntil = 0;
  /** Called with the rows of each answer. */
  onRows: (rows: readonly Row[]) => void = () => {};
  onConnect: (instance: string) => void = () => {};
  readonly world: World;
  readonly servers: SimulatedServers;
  readonly process: Process;
  readonly #links = new Set<SimulatedLink>();

  constructor(servers: SimulatedServers, process: Process) {
    this.world = servers.world;
    this.servers = servers;
    this.process = process;
  }

  get platform(): Platform {
    return { clock: this.world.clockOf(this.process), connect: this.#connect };
  }

  #connect: Connect = (options) => {
    this.onConnect(options.instance);
    return new Promise((resolve, reject) =>
      this.toServer(() => {
        const link = this.servers.isPrimary(options.url) ? new SimulatedLink(this, options) : undefined;
        if (link !== undefined) this.#links.add(link);
        this.toClient(() => (link === undefined ? reject(brokenConnection()) : resolve(link)));
      }),
    );
  };

  remove(link: SimulatedLink): void {
    this.#links.delete(link);
  }

  resetAll(): void {
    for (const link of [...this.#links]) link.reset();
  }

  /** The process has ended, and its system closes its connections. */
  closeAll(): void {
    for (const link of [...this.#links]) link.destroy();
  }

  toServer(work: () => void, lateMs = 0): void {
    this.world.plan(undefined, this.#travelMs() + lateMs, work);
  }

  toClient(work: () => void, lateMs = 0): void {
    this.world.plan(this.process, this.#travelMs() + lateMs, work);
  }

  #travelMs(): number {
    return Math.max(0, this.cutOffUntil - this.world.time) + this.world.between(0.1, 0.5);
  }
}

class SimulatedLink implements Link {
  readonly #network: Network;
  readonly #options: LinkOptions;
  readonly #backend: Backend;
  #fail: ((error: Error) => void) | undefined;
  #isOver = false;

  constructor(network: Network, options: LinkOptions) {
    this.#network = network;
    this.#options = options;
    this.#backend = network.servers.connect(options.instance, () => this.reset());
  }

  query(statement: Statement | string): ReturnType<Link["query"]> {
    const { world, weather } = this.#network;
    const { random } = world;
    const asked = typeof statement === "string" ? { text: statement } : statement;
    const isCutBefore = random.chance(weather.cutBefore);
    const isCutAfter = random.chance(weather.cutAfter);
    const delayMs = () => (random.chance(weather.late) ? world.between(0, 2500) : 0);
    const lateMs = delayMs();
    // What a claim compares must hold when it arrives, and by then the owner may have gone on.
    const isSlowClaim = asked.text.startsWith("update owner set epoch") && random.chance(0.3);
    return new Promise((resolve, reject) => {
      this.#fail = reject;
      this.#network.toServer(
        () => {
          // A call that the client gave up while it was under way may arrive, or not.
          if (this.#backend.isEnded || (this.#isOver && random.chance(0.5))) return;
          if (isCutBefore) return this.reset();
          this.#backend.query(asked).then(
            ({ rows, count, isDoubtful }) => {
              if (isCutAfter) return this.reset();
              this.#answer(() => {
                if (isDoubtful) this.#options.onWarning();
                this.#network.onRows(rows);
                resolve({ rows, rowCount: count });
              }, lateMs);
            },
            (error: Error) => this.#answer(() => reject(error), lateMs),
          );
        },
        isSlowClaim ? world.between(0, 200) : delayMs(),
      );
    });
  }

  #answer(work: () => void, lateMs: number): void {
    this.#network.toClient(() => {
      if (this.#isOver) return;
      this.#fail = undefined;
      work();
    }, lateMs);
  }

  /** The connection breaks, and both ends notice. */
  reset(): void {
    this.#network.remove(this);
    this.#network.toServer(() => this.#backend.hangUp());
    this.#network.toClient(() => {
      if (this.#isOver) return;
      this.#isOver = true;
      if (this.#fail === undefined) this.#options.onEnd();
      else this.#fail(brokenConnection());
    });
  }

  destroy(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#network.remove(this);
    this.#network.toServer(() => this.#backend.hangUp());
    const fail = this.#fail;
    this.#network.world.plan(this.#network.process, 0, () => fail?.(brokenConnection()));
  }

  async end(): Promise<void> {
    this.destroy();
  }
}
