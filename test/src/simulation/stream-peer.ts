// What simulated peers over connections share: they are made, killed, started again, and connect.
// A start makes a new process; `begin` resets what the peer remembers and plans its work.

import { Plug, type PlugOptions } from "./plug.js";
import type { Random } from "./random.js";
import type { Mortal, Streams } from "./streams.js";
import { Process, type World } from "./world.js";

type PlugPlan = Pick<PlugOptions, "endpoint" | "socketType"> & Partial<PlugOptions>;

export abstract class StreamPeer<Checker, Plan extends { readonly name: string }> implements Mortal {
  process: Process;
  readonly plan: Plan;
  protected readonly world: World;
  protected readonly random: Random;
  protected readonly checker: Checker;
  protected readonly streams: Streams;

  /** The subclass calls `start` when its fields exist. */
  constructor(world: World, streams: Streams, random: Random, checker: Checker, plan: Plan) {
    this.world = world;
    this.streams = streams;
    this.random = random;
    this.checker = checker;
    this.plan = plan;
    this.process = new Process(plan.name);
  }

  start(): void {
    this.process = new Process(this.plan.name);
    this.begin();
  }

  /** Begins without memory of an earlier process. */
  protected abstract begin(): void;

  protected connect(options: PlugPlan): Plug {
    return new Plug(this.world, this.streams, this.random, { ...this.#defaults(), ...options });
  }

  #defaults() {
    return { process: this.process, identity: "", came: () => {}, receive: () => {}, gone: () => {} };
  }
}
