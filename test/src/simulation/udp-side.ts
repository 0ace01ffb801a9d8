// Udp's part of a run: its clients and calculators, the datagrams between them and the real door,
// and their faults.

import { udp } from "@yardmaster/dialects";
import { type MakeDatagramSocket, type Port, Tap, UdpDoor } from "@yardmaster/server";
import { drawDatagramFaults, noFaults } from "./faults.js";
import { Network } from "./network.js";
import type { Side, SideOptions } from "./side.js";
import { SimulatedCalculator, type UdpCalculatorPlan } from "./udp-calculator.js";
import { UdpChecker } from "./udp-checker.js";
import { SimulatedUdpClient } from "./udp-client.js";
import { yardAddress } from "./udp-endpoint.js";
import { Process } from "./world.js";

/** More than the number of attempts of a task. */
const mutes = 6;
const mutesFrom = 100;
/** A peer whose messages must have no effect. */
const stranger = "10.0.9.9:9";

export class UdpSide implements Side {
  readonly door = "udp";
  readonly checker: UdpChecker;
  readonly #options: SideOptions;
  readonly #network: Network<Buffer>;
  readonly #clients: SimulatedUdpClient[] = [];
  readonly #calculators: SimulatedCalculator[] = [];
  readonly #placementSeconds: number;
  readonly #hasMutes: boolean;
  #lookAgainAt = 0;

  constructor(options: SideOptions, { hasMutes }: { readonly hasMutes: boolean }) {
    this.#options = options;
    this.#hasMutes = hasMutes;
    const { random, world, store, isQuiet } = options;
    const drawn = drawDatagramFaults(random);
    const faults = options.datagrams ?? (isQuiet ? noFaults.network : drawn);
    this.#network = new Network(world, random, faults, (bytes) => bytes.toString());
    this.#placementSeconds = random.pick([3, 60, 60]);
    this.checker = new UdpChecker(store);
    this.checker.loses = !hasMutes;
    world.say("scenario", () => `udp on ${options.queue}: ${JSON.stringify(faults)}`);
  }

  get acceptedCount(): number {
    return this.checker.acceptedCount;
  }

  makeDoor(port: Port, process: Process): UdpDoor {
    return new UdpDoor({
      port,
      config: {
        client_address: yardAddress,
        timeout_task_placement: this.#placementSeconds,
        timeout_task_execution: 3_600,
        activity_poll_sec: 2,
        inactivity_timeout: 12,
        sends: 4,
        resendSeconds: 0.05,
        // Effectively off. The limit allows only a few sends to a client that has acknowledged
        // nothing, so an outcome may stay undelivered when those are lost. The checker would
        // report that intended behaviour as a fault, and no simulated address is forged.
        amplification: 1_000_000,
        queue: this.#options.queue,
      },
      peersMax: 1_000,
      log: () => {},
      tap: new Tap(),
      makeSocket: this.#socketsOf(process),
    });
  }

  #socketsOf(process: Process): MakeDatagramSocket {
    const unrecorded = this.checker.started();
    return (onDatagram) => ({
      bind: (address) => {
        const receive = (from: string, bytes: Buffer) => {
          const { host, port } = udp.addressIn(from) ?? yardAddress;
          this.#hears(bytes, unrecorded);
          onDatagram(bytes, host, port);
        };
        this.#network.attach(yardAddress.name, { process, receive });
        return Promise.resolve(address);
      },
      send: (bytes, { host, port }) => {
        this.#network.send(yardAddress.name, `${host}:${port}`, bytes);
        this.#sees(bytes, host, unrecorded);
        return true;
      },
      close: () => Promise.resolve(),
    });
  }

  populate(): void {
    const { random, world, troubleMs } = this.#options;
    for (let index = random.integer(1, 3); index > 0; index -= 1) {
      const plan = {
        name: `asker-${index}`,
        host: `10.0.1.${index}`,
        tasks: random.integer(1, 15),
        overMs: random.pick([1_000, troubleMs * 0.8]),
      };
      this.#clients.push(new SimulatedUdpClient(world, this.#network, random, this.checker, plan));
    }
    for (let index = random.integer(1, 4); index > 0; index -= 1) this.#addCalculator(index);
    for (let index = this.#hasMutes ? mutes : 0; index > 0; index -= 1) {
      this.#addCalculator(mutesFrom + index, { isMute: true });
    }
  }

  planTrouble(): void {
    const { random, faults, often, pause } = this.#options;
    // Without other faults, a task can only be lost by being sent to a mute calculator.
    if (this.#hasMutes) return;
    often(faults.workerDeaths, () => this.#kill(random.pick(this.#calculators)));
    often(faults.workerPauses, () => pause(random.pick(this.#calculators).process, 8_000));
    often(faults.clientDeaths, () => this.#kill(random.pick(this.#clients)));
    often(faults.forgeries, () => this.#forge(random.pick(this.#calculators)));
  }

  heal(): void {
    this.#network.faults = noFaults.network;
    for (const calculator of this.#calculators) if (calculator.process.isDead) calculator.start();
    // A calculator that never fails.
    this.#addCalculator(0, { failShare: 0, workMsMax: 50 });
  }

  /** Reads the whole disk, so it is not called at every step. */
  isComplete(): boolean {
    const { world } = this.#options;
    if (world.time < this.#lookAgainAt) return false;
    this.#lookAgainAt = world.time + 20;
    return this.checker.isComplete();
  }

  finish(): void {
    this.checker.finish();
  }

  wasGiven(worker: string, payload: string): boolean {
    return this.checker.wasGiven(worker, payload);
  }

  #addCalculator(index: number, given: Partial<UdpCalculatorPlan> = {}): void {
    const { random, world } = this.#options;
    const form = random.pick(["document", "program"] as const);
    const plan: UdpCalculatorPlan = {
      name: `calculator-${index}`,
      host: `10.0.2.${index}`,
      form,
      heartbeatMs: random.pick([1_000, 5_000]),
      answersPolls: form === "program" || random.chance(0.5),
      failShare: random.chance(0.2) ? 0.2 : 0,
      workMsMax: random.pick([5, 200, 3_000]),
      isMute: false,
      ...given,
    };
    this.#calculators.push(new SimulatedCalculator(world, this.#network, random, this.checker, plan));
  }

  #kill(peer: SimulatedUdpClient | SimulatedCalculator): void {
    const { random, world } = this.#options;
    const { process } = peer;
    if (process.isDead) return;
    process.isDead = true;
    world.say(process.name, () => "DIES");
    world.plan(environment, random.between(10, 8_000), () => {
      if (peer.process === process) peer.start();
    });
  }

  #forge(calculator: SimulatedCalculator): void {
    const task = this.checker.taskOfAnother(calculator.plan.name);
    if (task !== undefined && !calculator.process.isDead) calculator.forge(task);
  }

  /** Sees everything that the dispatcher receives. */
  #hears(bytes: Buffer, unrecorded: ReadonlySet<string>): void {
    const reading = udp.readPacket(bytes);
    if (reading.ok && reading.message.method === "completed_task")
      this.checker.answerArrived(reading.message.params.result, unrecorded);
  }

  /** Sees everything that the dispatcher sends. */
  #sees(bytes: Buffer, to: string, unrecorded: Set<string>): void {
    const reading = udp.readPacket(bytes);
    if (!reading.ok || reading.message.packetType !== 1) return;
    const { method, params, transmissionId } = reading.message;
    if (method === "perform_task") {
      const calculator = this.#calculators.find(({ plan }) => plan.host === to);
      this.checker.given(calculator?.plan.name ?? to, String(params.mark));
      unrecorded.delete(String(params.mark));
    } else if (method === "notify_task") this.#spoof(transmissionId);
  }

  /** [udp 1.4] A stranger acknowledges an outcome that is being sent to a client. */
  #spoof(transmissionId: udp.TransmissionId | undefined): void {
    const { random, isQuiet } = this.#options;
    if (isQuiet || !random.chance(0.1)) return;
    const ack = udp.writePacket("notify_task", {}, 2, transmissionId);
    this.#network.send(stranger, yardAddress.name, ack);
  }
}

const environment = new Process("environment");
