// A dispatcher of the simulation: the real engine, which is opened, loaded and given one batch
// after another. When it ends, a service manager starts it again.

import type { Change } from "@yardmaster/core";
import { StoreFault } from "../../embedded/store-faults.js";
import type { LoadItem } from "../../engine.js";
import { pause } from "../clock.js";
import { PostgresEngine } from "../postgres-engine.js";
import { Unavailable } from "../session.js";
import { type ClusterChecker, doorName } from "./cluster-checker.js";
import { fair, Network, type Weather } from "./simulated-network.js";
import { type SimulatedServers, serversUrl } from "./simulated-servers.js";
import { Process } from "./simulated-world.js";

export const beatMs = 100;
export const silenceMs = 600;

/** How the engine says that the database has gone back. */
const lossWords = /has lost what was acknowledged/;

/** From its start to its end. */
interface Life {
  readonly process: Process;
  readonly network: Network;
  readonly engine: PostgresEngine;
  instance: string;
  /** The last batch of which it could know that it had been acknowledged. */
  safe: number;
  isSteppingDown: boolean;
}

export class SimulatedDispatcher {
  readonly name: string;
  isRestarted = true;
  /** It is stopped for this time when it next has claimed the database, before it loads. */
  stopMsBeforeLoad = 0;
  readonly #servers: SimulatedServers;
  readonly #checker: ClusterChecker;
  #lives = 0;
  #life: Life | undefined;
  #weather = fair;

  constructor(name: string, servers: SimulatedServers, checker: ClusterChecker) {
    this.name = name;
    this.#servers = servers;
    this.#checker = checker;
    this.start();
  }

  get isOwner(): boolean {
    return this.#life?.engine.member?.isOwner === true;
  }

  is(instance: string): boolean {
    return this.#life?.instance === instance;
  }

  get engine(): PostgresEngine | undefined {
    return this.#life?.engine;
  }

  set weather(weather: Weather) {
    this.#weather = weather;
    if (this.#life !== undefined) this.#life.network.weather = weather;
  }

  /** A request from outside, which a process that is paused does not answer. */
  probe(): void {
    const life = this.#life;
    if (life === undefined || life.process.pausedUntil > this.#servers.world.time || !this.isOwner) return;
    this.#checker.answersAsOwner(this.name, life.instance, life.engine.member?.epoch ?? 0);
  }

  start(): void {
    if (this.#life !== undefined) return;
    this.#lives += 1;
    const process = new Process();
    const network = new Network(this.#servers, process);
    const engine = new PostgresEngine({
      url: serversUrl,
      isLocal: true,
      platform: network.platform,
      cluster: { node: this.name, beatMs, silenceMs },
      onDeposed: ({ message }) => this.#end(life, message),
    });
    const life: Life = { process, network, engine, instance: "", safe: 0, isSteppingDown: false };
    network.weather = this.#weather;
    network.onConnect = (instance) => {
      life.instance = instance;
    };
    network.onRows = ([row]) => {
      life.safe = Math.max(life.safe, row?.safe ?? 0);
    };
    this.#life = life;
    this.#live(life).catch((error: Error) => {
      const isExpected = error instanceof StoreFault || error instanceof Unavailable;
      if (!isExpected) this.#checker.fail(`${this.name}: ${error.stack}`);
      this.#end(life, error.message);
    });
  }

  kill(): void {
    if (this.#life !== undefined) this.#end(this.#life, "killed");
  }

  stop(ms: number): void {
    if (this.#life !== undefined) this.#life.process.pausedUntil = this.#servers.world.time + ms;
  }

  cutOff(ms: number): void {
    if (this.#life !== undefined) this.#life.network.cutOffUntil = this.#servers.world.time + ms;
  }

  resetConnections(): void {
    this.#life?.network.resetAll();
  }

  /** Commits what is under way, and then leaves the database to the other. */
  stepDown(): void {
    if (this.#life !== undefined) this.#life.isSteppingDown = true;
  }

  async #live(life: Life): Promise<void> {
    const { world } = this.#servers;
    const { engine } = life;
    const clock = world.clockOf(life.process);
    const { epoch } = await engine.open();
    this.stop(this.stopMsBeforeLoad);
    this.stopMsBeforeLoad = 0;
    const labels = await this.#load(life, epoch);
    for (let number = 1; !life.isSteppingDown; number++) {
      const position = labels + number;
      const label = `${this.name}.${this.#lives}.${number}`;
      if (!(await this.#commit(life, { epoch, number, position, label }))) return;
      await pause(clock, world.random.chance(0.2) ? 0 : world.between(0, 80));
    }
    await engine.close();
    this.#end(life, "stepped down");
  }

  /** Returns how many batches there are. */
  async #load({ engine, safe }: Life, epoch: number): Promise<number> {
    const labels: string[] = [];
    let mark = 0;
    await engine.load((item: LoadItem) => {
      if (item.type === "memo") labels[Number(item.memo.name) - 1] = Buffer.from(item.memo.bytes).toString();
      if (item.type === "door") mark = item.door.mark;
    });
    this.#servers.world.say(
      `${this.name} owns epoch ${epoch} with ${labels.length} batches (${engine.member?.takeOver})`,
    );
    this.#checker.loaded(this.name, epoch, Array.from(labels), mark, safe);
    return labels.length;
  }

  /** Tries until there is a definite answer, as the runtime does. False if the dispatcher ends. */
  async #commit(
    life: Life,
    { epoch, number, position, label }: { epoch: number; number: number; position: number; label: string },
  ): Promise<boolean> {
    const memo = { door: "labels", name: String(position), bytes: Buffer.from(label) };
    const changes: Change[] = [
      { kind: "memo", memo },
      { kind: "door", door: { name: doorName, incarnation: 1, mark: position } },
    ];
    const isLate = !this.#checker.isPutBack;
    for (let retryMs = 20; ; retryMs = Math.min(retryMs * 2, life.engine.retry.everyMs)) {
      const outcome = await life.engine.commit({ epoch, number, changes });
      if (life.process.isDead) return false;
      if (outcome.type === "done") {
        this.#checker.done(this.name, epoch, position, label, isLate);
        return true;
      }
      this.#servers.world.say(`${this.name} commits ${label}: ${outcome.type}`);
      if (outcome.type === "unknown" || outcome.type === "unavailable")
        await pause(this.#servers.world.clockOf(life.process), retryMs);
      else {
        const isLoss = outcome.type === "regressed";
        this.#end(life, isLoss ? `it has lost what was acknowledged: ${outcome.message}` : outcome.type);
        return false;
      }
    }
  }

  /** The process ends at once. */
  #end(life: Life, why: string): void {
    if (life.process.isDead) return;
    this.#servers.world.say(`${this.name} ends: ${why}`);
    if (lossWords.test(why)) {
      this.#checker.regressed(this.name, why);
      this.isRestarted = false;
    }
    life.process.isDead = true;
    life.network.closeAll();
    this.#life = undefined;
    const { world } = this.#servers;
    world.plan(undefined, world.between(50, 1500), () => this.isRestarted && this.start());
  }
}
