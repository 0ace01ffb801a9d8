// A simulated socket of a udp client or calculator, with the real exchange and session.

import type { Instant, Moment, WallTime } from "@yardmaster/core";
import { udp } from "@yardmaster/dialects";
import type { Network } from "./network.js";
import type { Process, World } from "./world.js";

export interface EndpointSession {
  receive(packet: udp.Packet, now: Moment): void;
  nextDeadline(): Instant | undefined;
  handleTimeout(now: Moment): void;
}

/** The dispatcher's address, the same after every restart. */
export const yardAddress: udp.UdpAddress = { host: "10.0.0.1", port: 5555, name: "10.0.0.1:5555" };

/** A peer's own clock does not jump. */
const wallAtStart = 1_800_000_000_000;

export interface EndpointOptions {
  readonly world: World;
  readonly network: Network<Buffer>;
  readonly process: Process;
  readonly address: string;
  /** Sees every packet before the session does. Returns false to hide it from the session. */
  readonly sees: (packet: udp.Packet) => boolean;
}

export class SimulatedEndpoint {
  readonly exchange: udp.UdpExchange;
  readonly #options: EndpointOptions;
  #session: EndpointSession | undefined;
  #cancelTimer = () => {};

  constructor(options: EndpointOptions) {
    this.#options = options;
    const { network, address, process } = options;
    this.exchange = new udp.UdpExchange(udp.defaultRetransmission, (bytes) =>
      network.send(address, yardAddress.name, bytes),
    );
    network.attach(address, { process, receive: (from, bytes) => this.#receive(from, bytes) });
  }

  open(session: EndpointSession): void {
    this.#session = session;
  }

  now(): Moment {
    const { time } = this.#options.world;
    return { instant: time as Instant, wall: (wallAtStart + time) as WallTime };
  }

  turn(work: () => void): void {
    work();
    this.#cancelTimer();
    const deadlines = [this.exchange.nextDeadline(), this.#session?.nextDeadline()];
    const next = Math.min(...deadlines.map((deadline) => deadline ?? Number.POSITIVE_INFINITY));
    if (next === Number.POSITIVE_INFINITY) return;
    const { world, process } = this.#options;
    this.#cancelTimer = world.plan(process, Math.max(0, next - world.time), () =>
      this.turn(() => {
        this.exchange.handleTimeout(this.now());
        this.#session?.handleTimeout(this.now());
      }),
    );
  }

  #receive(from: string, bytes: Buffer): void {
    const reading = udp.readPacket(bytes);
    if (!reading.ok)
      throw new Error(`${this.#options.address} was sent what it cannot read: ${reading.fault}`);
    const packet = reading.message;
    if (from !== yardAddress.name || !this.#options.sees(packet)) return;
    this.turn(() => {
      if (packet.packetType === 2) this.exchange.receiveAck(yardAddress, packet, this.now());
      else this.#session?.receive(packet, this.now());
    });
  }
}
