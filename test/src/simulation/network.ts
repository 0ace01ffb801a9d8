// The simulated network: datagrams that are delayed, lost, repeated and reordered as the seed
// decides, and notices that a peer's connection has closed, which a dead peer sends only sometimes.

import type { Random } from "./random.js";
import { Process, type World } from "./world.js";

export interface NetworkFaults {
  readonly loss: number;
  readonly repeat: number;
  /** Share of datagrams with a long delay. */
  readonly late: number;
}

export interface Node<Message> {
  readonly process: Process;
  receive(from: string, message: Message): void;
}

const usualMs = 3;
const lateMs = 1_500;

export class Network<Message> {
  readonly #world: World;
  readonly #random: Random;
  readonly #nodes = new Map<string, Node<Message>>();
  readonly #show: (message: Message) => string;
  faults: NetworkFaults;

  constructor(
    world: World,
    random: Random,
    faults: NetworkFaults,
    show: (message: Message) => string = JSON.stringify,
  ) {
    this.#world = world;
    this.#random = random;
    this.faults = faults;
    this.#show = show;
  }

  /** From now on this address belongs to this node. An earlier one receives nothing any more. */
  attach(address: string, node: Node<Message>): void {
    this.#nodes.set(address, node);
  }

  send(from: string, to: string, message: Message): void {
    const { loss, repeat } = this.faults;
    if (this.#random.chance(loss)) {
      this.#world.say(from, () => `> ${to} LOST ${this.#show(message)}`);
      return;
    }
    this.#carry(from, to, message);
    if (this.#random.chance(repeat)) this.#carry(from, to, message);
  }

  #carry(from: string, to: string, message: Message): void {
    const isLate = this.#random.chance(this.faults.late);
    const ms = this.#random.between(0.05, isLate ? lateMs : usualMs);
    this.#world.plan(carrier, ms, () => {
      const node = this.#nodes.get(to);
      if (node === undefined || node.process.isDead) return;
      // Delivered in the receiver's own time: a paused one gets it when it wakes.
      this.#world.plan(node.process, 0, () => {
        this.#world.say(to, () => `< ${from} ${this.#show(message)}`);
        node.receive(from, message);
      });
    });
  }
}

/** Wires do not die. */
const carrier = new Process("wire");
