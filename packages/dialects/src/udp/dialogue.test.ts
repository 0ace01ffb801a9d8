// Both ends' sessions joined through the real core, over a network that loses, repeats and
// reorders. Every accepted task ends with one outcome, and its client hears of it once.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  Deadline,
  Deadlines,
  Dispatcher,
  defaultCoreOptions,
  type Effect,
  type Instant,
  type Moment,
  Step,
  type WorkerId,
  type YardEvent,
} from "@yardmaster/core";
import { defaultUdpCalculatorSettings, UdpCalculatorSession } from "./calculator-session.js";
import { defaultUdpClientSettings, UdpClientSession } from "./client-session.js";
import { readPacket, readRequest } from "./codec.js";
import { defaultCalculatorSettings, UdpDoorCalculator } from "./door-calculator.js";
import { type TakeAnswer, UdpDoorClients } from "./door-clients.js";
import { defaultRetransmission, type UdpAddress, UdpExchange } from "./exchange.js";
import type { Packet } from "./messages.js";
import { addressOf, momentAt } from "./testing/door-end.js";

/** A small generator, so that a seed always gives the same run. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

class Network {
  now = 1_000;
  readonly random: () => number;
  readonly #lossShare: number;
  readonly #flying = new Deadlines<() => void>();

  constructor(seed: number, lossShare: number) {
    this.random = randomOf(seed);
    this.#lossShare = lossShare;
  }

  get moment(): Moment {
    return momentAt(this.now);
  }

  /** Delivers after up to 20 ms, sometimes twice. */
  carry(deliver: () => void): void {
    const copies = this.random() < 0.1 ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      if (this.random() < this.#lossShare) continue;
      this.at(this.random() * 20, deliver);
    }
  }

  at(ms: number, work: () => void): void {
    this.#flying.arm(new Deadline(work), (this.now + ms) as Instant);
  }

  next(): number {
    return this.#flying.next() ?? Number.POSITIVE_INFINITY;
  }

  deliverDue(): void {
    this.#flying.takeDue(this.now as Instant)?.subject();
  }
}

class Dispatching {
  readonly address = addressOf(5555);
  readonly #network: Network;
  readonly #core: Dispatcher;
  readonly #step = new Step();
  readonly #takes = new Map<number, TakeAnswer>();
  readonly #clients: UdpDoorClients;
  readonly exchange: UdpExchange;
  readonly calculators = new Map<string, UdpDoorCalculator>();
  #number = 0;

  constructor(network: Network, send: (bytes: Buffer, to: UdpAddress) => void) {
    this.#network = network;
    this.#core = new Dispatcher({ ...defaultCoreOptions, random: network.random }, 1, network.moment);
    this.#core.begin({ lastTask: 0, lastSettled: 0 } as never, network.moment, this.#step);
    this.exchange = new UdpExchange(defaultRetransmission, send);
    this.#clients = new UdpDoorClients({ door: "udp", queue: "q", placementMs: 1e9 }, this.#host);
    this.#post({ type: "door-opened", incarnation: 1 });
  }

  get #host() {
    const { exchange } = this;
    return {
      exchange,
      post: (event: YardEvent) => this.#post(event),
      request: (take: TakeAnswer) => {
        this.#takes.set(this.#takes.size + 1, take);
        return this.#takes.size;
      },
      refused: () => assert.fail("refused"),
      lost: () => {},
      watch: () => {},
      left: (calculator: UdpDoorCalculator) => this.calculators.delete(calculator.address.name),
    };
  }

  #post(event: YardEvent): void {
    this.#number += 1;
    this.#core.handle({ door: "udp", number: this.#number, event }, this.#network.moment, this.#step);
    this.#commit();
  }

  /** Commits within 5 ms, and delivers in order. */
  #commit(): void {
    const effects = this.#step.takeEffects();
    if (effects.length === 0) return;
    this.#network.at(5, () => {
      for (const effect of effects) this.#deliver(effect);
    });
  }

  #deliver(effect: Effect): void {
    const { moment } = this.#network;
    if (effect.type === "reply") this.#takes.get(effect.request)?.(effect.answer, moment);
    else if (effect.type === "tell") this.#clients.tell(effect, moment);
    else if (effect.type === "assign" && this.#core.isHeld(effect.task.id, effect.attempt)) {
      this.calculators.get(effect.worker.slice("udp/".length))?.assign(effect, moment);
    }
  }

  receive(packet: Packet, from: UdpAddress): void {
    const { moment } = this.#network;
    if (packet.packetType === 2) {
      this.exchange.receiveAck(from, packet, moment);
      return;
    }
    const reading = readRequest(packet);
    assert.ok(reading.ok);
    const request = reading.message;
    if (request.type === "add_task") this.#clients.addTask(from, request.taskId, packet);
    else if (request.type === "heartbeat") {
      this.#calculatorAt(from).heartbeat(request.status, request.form, moment);
    } else if (!this.#calculatorAt(from).completed(request.names, packet, moment)) {
      // The calculator lost the task to another one. After this ack it stops repeating its answer.
      this.exchange.acknowledge(from, packet);
    }
  }

  #calculatorAt(address: UdpAddress): UdpDoorCalculator {
    const id = `udp/${address.name}` as WorkerId;
    const options = { id, address, door: "udp", queue: "q", settings: defaultCalculatorSettings };
    const calculator = this.calculators.get(address.name) ?? new UdpDoorCalculator(options, this.#host);
    this.calculators.set(address.name, calculator);
    return calculator;
  }

  next(): number {
    const deadlines = [...this.calculators.values()].map((calculator) => calculator.nextDeadline());
    return earliest(this.#core.nextDeadline(), this.exchange.nextDeadline(), ...deadlines);
  }

  handleTimeout(): void {
    const { moment } = this.#network;
    this.#core.handleTimeout(moment, this.#step);
    this.#core.checkInvariants();
    this.#commit();
    this.exchange.handleTimeout(moment);
    for (const calculator of [...this.calculators.values()]) calculator.handleTimeout(moment);
  }
}

function earliest(...deadlines: (number | undefined)[]): number {
  return Math.min(...deadlines.map((deadline) => deadline ?? Number.POSITIVE_INFINITY));
}

function run(seed: number, lossShare: number): void {
  const network = new Network(seed, lossShare);
  const ends = new Map<string, (packet: Packet, from: UdpAddress) => void>();
  const sending = (from: UdpAddress) => (bytes: Buffer, to: UdpAddress) =>
    network.carry(() => {
      const reading = readPacket(bytes);
      assert.ok(reading.ok);
      ends.get(to.name)?.(reading.message, from);
    });
  const dispatching: Dispatching = new Dispatching(network, sending(addressOf(5555)));
  ends.set(dispatching.address.name, (packet, from) => dispatching.receive(packet, from));
  const sessions: {
    readonly exchange: UdpExchange;
    readonly session: UdpClientSession | UdpCalculatorSession;
  }[] = [];
  const join = (
    address: UdpAddress,
    make: (exchange: UdpExchange) => UdpClientSession | UdpCalculatorSession,
  ) => {
    const exchange = new UdpExchange(defaultRetransmission, sending(address));
    const session = make(exchange);
    sessions.push({ exchange, session });
    ends.set(address.name, (packet, from) => {
      if (packet.packetType === 2) exchange.receiveAck(from, packet, network.moment);
      else session.receive(packet, network.moment);
    });
    return session;
  };
  for (let index = 0; index < 3; index += 1) {
    const form = index === 0 ? "document" : "program";
    const settings = { ...defaultUdpCalculatorSettings, form } as const;
    const session = join(addressOf(7000 + index), (exchange) => {
      const work = () =>
        network.at(network.random() * 300, () => session.finish({ result: 1 }, network.moment));
      return new UdpCalculatorSession(dispatching.address, settings, { exchange, work });
    }) as UdpCalculatorSession;
    session.start(network.moment);
  }
  const client = join(
    addressOf(99),
    (exchange) =>
      new UdpClientSession(dispatching.address, { ...defaultUdpClientSettings, askMsMax: 1e9 }, exchange),
  ) as UdpClientSession;
  const told: string[] = [];
  for (let index = 0; index < 20; index += 1) {
    const waiter = {
      accepted: () => {},
      unanswered: () => assert.fail("given up"),
      ended: (status: string) => told.push(status),
    };
    assert.notEqual(client.submit({ index }, waiter, network.moment), undefined);
  }
  while (client.waiting > 0) {
    const wakes = sessions.flatMap(({ exchange, session }) => [
      exchange.nextDeadline(),
      session.nextDeadline(),
    ]);
    network.now = Math.max(network.now, earliest(network.next(), dispatching.next(), ...wakes));
    assert.ok(network.now < 3_600_000, `seed ${seed}: ${client.waiting} tasks still wait after an hour`);
    network.deliverDue();
    dispatching.handleTimeout();
    for (const { exchange, session } of sessions) {
      exchange.handleTimeout(network.moment);
      session.handleTimeout(network.moment);
    }
  }
  assert.deepEqual(told, Array(20).fill("success"), `seed ${seed}`);
}

for (const lossShare of [0, 0.1, 0.3]) {
  test(`every task ends once where ${lossShare * 100} % is lost`, () => {
    for (let seed = 1; seed <= 20; seed += 1) run(seed, lossShare);
  });
}
