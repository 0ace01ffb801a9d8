// A simulated udp client around the real session. It dies and comes back, on the same port or
// another, without memory of its requests.

import { udp } from "@yardmaster/dialects";
import type { Network } from "./network.js";
import type { Random } from "./random.js";
import type { UdpChecker } from "./udp-checker.js";
import { SimulatedEndpoint, yardAddress } from "./udp-endpoint.js";
import { Process, type World } from "./world.js";

export interface UdpClientPlan {
  readonly name: string;
  readonly host: string;
  readonly tasks: number;
  readonly overMs: number;
}

export class SimulatedUdpClient {
  process: Process;
  readonly #world: World;
  readonly #network: Network<Buffer>;
  readonly #random: Random;
  readonly #checker: UdpChecker;
  readonly #plan: UdpClientPlan;
  #port = 1_000;
  /** Makes marks unique across restarts. */
  #last = 0;

  constructor(
    world: World,
    network: Network<Buffer>,
    random: Random,
    checker: UdpChecker,
    plan: UdpClientPlan,
  ) {
    this.#world = world;
    this.#network = network;
    this.#random = random;
    this.#checker = checker;
    this.#plan = plan;
    this.process = new Process(plan.name);
    this.start();
  }

  start(): void {
    const { name, host, tasks, overMs } = this.#plan;
    this.process = new Process(name);
    if (this.#random.chance(0.5)) this.#port += 1;
    const address = `${host}:${this.#port}`;
    const endpoint: SimulatedEndpoint = new SimulatedEndpoint({
      ...{ world: this.#world, network: this.#network, process: this.process, address },
      sees: (packet) => this.#sees(address, packet),
    });
    const session = new udp.UdpClientSession(yardAddress, udp.defaultUdpClientSettings, endpoint.exchange);
    endpoint.open(session);
    for (let count = tasks; count > 0; count -= 1) {
      this.#world.plan(this.process, this.#random.between(0, overMs), () =>
        endpoint.turn(() => this.#submit(address, endpoint, session)),
      );
    }
  }

  #submit(client: string, endpoint: SimulatedEndpoint, session: udp.UdpClientSession): void {
    this.#last += 1;
    const mark = `${this.#plan.name}/${this.#last}/`;
    const { process } = this;
    const params = { mark, pad: "x".repeat(this.#random.integer(0, 20)) };
    // The checker sees every packet on arrival, before the session does.
    const waiter = { accepted: () => {}, ended: () => {}, unanswered: () => this.#checker.gaveUp(mark) };
    const taskId = session.submit(params, waiter, endpoint.now());
    if (taskId === undefined) throw new Error(`${mark} does not fit in a datagram`);
    this.#checker.asked({ client, taskId, mark, process });
  }

  #sees(client: string, packet: udp.Packet): boolean {
    if (packet.method === "add_task") this.#checker.accepted(client, packet.params.task_id);
    else this.#checker.told(client, packet);
    return true;
  }
}
