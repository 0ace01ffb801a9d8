// A simulated calculator around the real session. It dies and comes back, on the same port or
// another. Some claim that another calculator's task is done.

import { udp } from "@yardmaster/dialects";
import type { Network } from "./network.js";
import type { Random } from "./random.js";
import type { UdpChecker } from "./udp-checker.js";
import { SimulatedEndpoint, yardAddress } from "./udp-endpoint.js";
import { Process, type World } from "./world.js";

export interface UdpCalculatorPlan {
  readonly name: string;
  readonly host: string;
  readonly form: udp.UdpForm;
  readonly heartbeatMs: number;
  /** The document's calculators do not support polls. */
  readonly answersPolls: boolean;
  readonly failShare: number;
  readonly workMsMax: number;
  /** It says that it is ready, but accepts nothing. */
  readonly isMute: boolean;
}

export class SimulatedCalculator {
  process: Process;
  readonly #world: World;
  readonly #network: Network<Buffer>;
  readonly #random: Random;
  readonly #checker: UdpChecker;
  readonly plan: UdpCalculatorPlan;
  #port = 2_000;
  #forged = 0;

  constructor(
    world: World,
    network: Network<Buffer>,
    random: Random,
    checker: UdpChecker,
    plan: UdpCalculatorPlan,
  ) {
    this.#world = world;
    this.#network = network;
    this.#random = random;
    this.#checker = checker;
    this.plan = plan;
    this.process = new Process(plan.name);
    this.start();
  }

  get address(): string {
    return `${this.plan.host}:${this.#port}`;
  }

  start(): void {
    const { name, form, heartbeatMs, answersPolls, isMute } = this.plan;
    const process = new Process(name);
    this.process = process;
    if (this.#random.chance(0.5)) this.#port += 1;
    const endpoint: SimulatedEndpoint = new SimulatedEndpoint({
      ...{ world: this.#world, network: this.#network, process, address: this.address },
      sees: ({ method, packetType }) =>
        packetType === 2 || (method === "status" ? answersPolls : method !== "perform_task" || !isMute),
    });
    const settings = { ...udp.defaultUdpCalculatorSettings, form, heartbeatMs };
    const session: udp.UdpCalculatorSession = new udp.UdpCalculatorSession(yardAddress, settings, {
      exchange: endpoint.exchange,
      work: (params) => {
        this.#checker.workArrived(name, params);
        const ms = this.#random.between(1, this.plan.workMsMax);
        this.#world.plan(process, ms, () =>
          endpoint.turn(() => session.finish(this.#answer(params), endpoint.now())),
        );
      },
    });
    endpoint.open(session);
    endpoint.turn(() => session.start(endpoint.now()));
  }

  #answer(params: udp.Params): udp.CalculatorAnswer {
    if (this.#random.chance(this.plan.failShare)) return { error: "not that one" };
    return { result: `- ${params.mark} ${this.plan.name}` };
  }

  /** Claims to have done another calculator's task. */
  forge(params: udp.Params): void {
    this.#forged += 1;
    const { task_id, task_uuid, mark } = params;
    const answer = { task_id, task_uuid, result: `- ${mark} ${this.plan.name}` };
    const bytes = udp.writePacket("completed_task", answer, 1, `forged ${this.#forged}`);
    this.#network.send(this.address, yardAddress.name, bytes);
  }
}
