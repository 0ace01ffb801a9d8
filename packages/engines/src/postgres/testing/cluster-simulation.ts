// The simulator of the Postgres engine: two dispatchers with the real engine over two simulated
// servers, in simulated time, with faults from a seed. In the end everything heals. Then a
// dispatcher must own the database soon, and the other one must read everything when it takes over.

import { SeededRandom } from "../../embedded/testing/random.js";
import { ClusterChecker } from "./cluster-checker.js";
import { SimulatedDispatcher, silenceMs } from "./simulated-dispatcher.js";
import { fair } from "./simulated-network.js";
import { SimulatedServers } from "./simulated-servers.js";
import { World } from "./simulated-world.js";

export interface ClusterReport {
  readonly violation: string | undefined;
  readonly acknowledged: number;
  readonly takeOvers: number;
  readonly faults: number;
  /** How long it took after the last fault until a batch was acknowledged. */
  readonly healedMs: number;
}

const faultyMs = 8000;
/**
 * Opening has a limit of 15 s for each call, so a dispatcher that began while the servers were gone
 * takes this time.
 */
const healMsMax = 60_000;
const probeEveryMs = 15;

export class ClusterSimulation {
  readonly #world: World;
  readonly #servers: SimulatedServers;
  readonly #checker: ClusterChecker;
  readonly #dispatchers: readonly SimulatedDispatcher[];
  #faults = 0;

  constructor(seed: number, trace?: (line: string) => void) {
    this.#world = new World(new SeededRandom(seed), trace);
    this.#servers = new SimulatedServers(this.#world);
    this.#checker = new ClusterChecker(this.#servers, silenceMs, (instance) => this.#reasonOf(instance));
    this.#dispatchers = ["n1", "n2"].map(
      (name) => new SimulatedDispatcher(name, this.#servers, this.#checker),
    );
  }

  async run(): Promise<ClusterReport> {
    const { random } = this.#world;
    this.#probe();
    await this.#until(() => this.#checker.acknowledged > 2, healMsMax);
    this.#planFaults();
    await this.#until(() => false, faultyMs);
    const healedMs = await this.#heal();
    if (random.chance(0.15)) await this.#putBack();
    else await this.#handOver();
    const { violation, acknowledged, takeOvers } = this.#checker;
    return { violation, acknowledged, takeOvers, faults: this.#faults, healedMs };
  }

  #reasonOf(instance: string) {
    return this.#dispatchers?.find((one) => one.is(instance))?.engine?.member?.takeOver;
  }

  #probe(): void {
    for (const dispatcher of this.#dispatchers) dispatcher.probe();
    this.#world.plan(undefined, this.#world.between(1, 2 * probeEveryMs), () => this.#probe());
  }

  /** False if it is not over within this time. */
  async #until(isOver: () => boolean, ms: number): Promise<boolean> {
    const end = this.#world.time + ms;
    await this.#world.run(end, () => this.#checker.violation !== undefined || isOver());
    return isOver();
  }

  /** Each seed has its own mix of faults and its own pace. */
  #planFaults(): void {
    const { random } = this.#world;
    const all = this.#faultKinds();
    const mix = all.filter(() => random.chance(0.4));
    const paceMs = 100 + random.below(1200);
    if (random.chance(0.4)) {
      const each = () => random.next() * 0.03;
      const weather = { cutBefore: each(), cutAfter: each(), late: each() };
      for (const dispatcher of this.#dispatchers) dispatcher.weather = weather;
    }
    const end = this.#world.time + faultyMs;
    const next = () => {
      if (this.#world.time >= end) return;
      const [name, fault] = random.pick(mix.length > 0 ? mix : all) as (typeof all)[number];
      this.#world.say(`fault: ${name}`);
      this.#faults += 1;
      fault();
      this.#world.plan(undefined, this.#world.between(0, 2 * paceMs), next);
    };
    next();
  }

  #faultKinds(): readonly (readonly [string, () => void])[] {
    const world = this.#world;
    const servers = this.#servers;
    const one = () => world.random.pick(this.#dispatchers) as SimulatedDispatcher;
    const owner = () => this.#dispatchers.find(({ isOwner }) => isOwner) ?? one();
    const both = (work: (each: SimulatedDispatcher) => void) => {
      for (const each of this.#dispatchers) work(each);
    };
    const later = (ms: number, work: () => void) => world.plan(undefined, ms, work);
    const shortMs = () => world.between(10, world.random.chance(0.5) ? 400 : 3000);
    const how = () => (world.random.chance(0.5) ? "cancelled" : "terminated");
    const withoutStandby = (work: () => void) => {
      servers.stopStandby();
      later(world.between(5, 600), () => servers.interruptWaits(how()));
      later(world.between(5, 1500), () => servers.interruptWaits(how()));
      later(world.between(5, 2000), work);
    };
    const promote = () => {
      servers.promote(world.random.chance(0.7));
      later(shortMs() / 2, () => servers.startStandby());
    };
    return [
      ["reset connections", () => one().resetConnections()],
      ["reset the owner's connections", () => owner().resetConnections()],
      ["stop one", () => one().stop(shortMs())],
      ["stop the owner", () => owner().stop(shortMs())],
      ["stop both", () => both((each) => each.stop(shortMs()))],
      ["kill the owner", () => owner().kill()],
      [
        "kill the owner, and stop the next one before it loads",
        () => {
          both((each) => {
            each.stopMsBeforeLoad = each.isOwner ? 0 : world.between(500, 4000);
          });
          owner().kill();
        },
      ],
      [
        "step down alone, and stop the next one before it loads from the tables",
        () => {
          for (const each of this.#dispatchers) {
            if (each.isOwner) each.stepDown();
            else {
              // It claims at its first look, before it has a mirror.
              each.stopMsBeforeLoad = world.between(500, 4000);
              each.kill();
            }
          }
        },
      ],
      ["kill both", () => both((each) => each.kill())],
      ["cut the owner off", () => owner().cutOff(shortMs())],
      ["cut one off", () => one().cutOff(shortMs())],
      ["step down", () => owner().stepDown()],
      ["the standby is away", () => withoutStandby(() => servers.startStandby())],
      ["the standby is away, then promoted", () => withoutStandby(promote)],
      ["the standby is promoted", promote],
      ["the primary starts again", () => servers.restart()],
    ];
  }

  /** Returns how long it took until there was an owner. */
  async #heal(): Promise<number> {
    this.#world.say("no more faults");
    for (const dispatcher of this.#dispatchers) {
      dispatcher.weather = fair;
      dispatcher.stop(0);
      dispatcher.cutOff(0);
      dispatcher.start();
    }
    // Waits until faults under way have ended.
    await this.#until(() => false, 2500);
    this.#servers.startStandby();
    const healedAt = this.#world.time;
    await this.#moreBatches(3);
    return this.#world.time - healedAt;
  }

  async #moreBatches(count: number): Promise<void> {
    const before = this.#checker.acknowledged;
    const isDone = await this.#until(() => this.#checker.acknowledged >= before + count, healMsMax);
    if (!isDone) this.#checker.fail("nothing went wrong for a minute, and nothing was committed");
  }

  /** The other dispatcher reads everything. */
  async #handOver(): Promise<void> {
    const before = this.#checker.takeOvers;
    for (const dispatcher of this.#dispatchers) if (dispatcher.isOwner) dispatcher.stepDown();
    const isDone = await this.#until(() => this.#checker.takeOvers > before, healMsMax);
    if (!isDone) this.#checker.fail("the owner stepped down, and no other took over");
    await this.#moreBatches(1);
  }

  /** No dispatcher that saw what was lost goes on as if nothing had happened. */
  async #putBack(): Promise<void> {
    const checker = this.#checker;
    const tables = this.#servers.snapshot();
    await this.#moreBatches(4);
    await this.#until(() => false, 300);
    if (checker.violation !== undefined) return;
    this.#world.say("the database is put back");
    for (const dispatcher of this.#dispatchers) dispatcher.isRestarted = false;
    checker.isPutBack = true;
    this.#servers.putBack(tables);
    const owner = this.#dispatchers.find(({ isOwner }) => isOwner);
    const isKilled = this.#world.random.chance(0.5);
    if (isKilled) owner?.kill();
    await this.#until(() => checker.isLossUnnoticeable, 5000);
    if (!isKilled && owner !== undefined && checker.regressions === 0)
      checker.fail("the database was put back, and its owner did not notice");
  }
}
