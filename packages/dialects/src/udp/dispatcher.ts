// The dispatcher's end of the dialect: datagrams become messages of clients and calculators, and
// effects of the core become datagrams. The door adds the socket.

import {
  type Effect,
  type Instant,
  type Moment,
  type RequestAnswer,
  type RequestId,
  type WorkerId,
  wallOf,
  workerIdOf,
  type YardEvent,
} from "@yardmaster/core";
import { type PeerSilence, Peers } from "../peers.js";
import type { RetransmissionSettings } from "../retransmission.js";
import { readCalculator } from "./calculator-memo.js";
import { readPacket, readRequest } from "./codec.js";
import {
  type CalculatorHost,
  type CalculatorSettings,
  defaultCalculatorSettings,
  UdpDoorCalculator,
} from "./door-calculator.js";
import { type DoorClientsHost, UdpDoorClients } from "./door-clients.js";
import { type UdpAddress, UdpExchange } from "./exchange.js";
import { LateAnswers, type LateAnswersHost } from "./late-answers.js";
import type { Packet } from "./messages.js";

export interface DispatcherOptions {
  readonly door: string;
  readonly queue: string;
  /** Maximum number of calculators. */
  readonly peersMax: number;
  /** [udp 2.8] Maximum wait for a calculator. */
  readonly placementMs: number;
  readonly retransmission: RetransmissionSettings;
  readonly calculators: Pick<CalculatorSettings, "pollMs" | "silenceMs" | "executionMs">;
}

export interface DispatcherHost extends LateAnswersHost {
  now(): Moment;
  post(event: YardEvent): void;
  /** Returns a number for an event that needs an answer, which `take` receives. */
  request(take: (answer: RequestAnswer) => void): RequestId;
  /** False if the datagram was dropped because the send queue is full. */
  send(bytes: Buffer, to: UdpAddress): boolean;
  /** A datagram of this size came from this address. */
  heard(from: UdpAddress, bytes: number): void;
  /** The peer has acknowledged a datagram, so its address is not forged. */
  acknowledged(from: UdpAddress): void;
  isProven(address: UdpAddress): boolean;
  /** [udp 1.8] False if the address may be forged and has been sent as much as is allowed. */
  maySend(to: UdpAddress, bytes: number): boolean;
  /** Whether peers have this right for the door's queue. */
  may(right: "submit" | "work"): boolean;
  /** Name of the peers' principal, if they have one. */
  by(): string | undefined;
  /** True if the tasks of this client record that its address is proven. */
  isKeptAsProven?(client: UdpAddress): boolean;
  /** True if the peers' principal has used up its rate. Otherwise counts one submission. */
  isTooFast?(): boolean;
  /** Whether a calculator from before the restart may still be here. */
  isAllowed(address: UdpAddress): boolean;
  /** Counts and shows a datagram. */
  note(direction: "in" | "out", peer: string, type: string, bytes: Buffer): void;
  /** Shows a datagram that cannot be read. */
  noteUnreadable(peer: string, fault: string, bytes: Buffer): void;
  fault(kind: string, peer: string, detail?: string): void;
  /** True if at any time since the last call there was more input than we could read. */
  takeIsBehind(): boolean;
}

/**
 * [udp 1.7] While acks may be unread, resending pauses for this time, repeatedly, but in total at
 * most `behindMsMax`.
 */
const behindMs = 10;
const behindMsMax = 500;

export class UdpDispatcher {
  readonly #options: DispatcherOptions;
  readonly #host: DispatcherHost;
  readonly #settings: CalculatorSettings;
  readonly #exchange: UdpExchange;
  readonly #clients: UdpDoorClients;
  readonly #calculators: Peers<UdpDoorCalculator>;
  readonly #lateAnswers: LateAnswers;
  readonly #ends: CalculatorHost & DoorClientsHost;
  /** The peer last heard at each port, so the table is no larger than the number of ports. */
  readonly #addresses = new Map<number, UdpAddress>();
  /** Addresses that were asked for their status. The answer proves that they are not forged. */
  readonly #probed = new Set<string>();
  /** Nothing is sent again before this time. */
  #resendsFrom = 0 as Instant;

  constructor(options: DispatcherOptions, host: DispatcherHost) {
    this.#options = options;
    this.#host = host;
    const { door, queue, placementMs, retransmission, peersMax } = options;
    this.#settings = {
      ...defaultCalculatorSettings,
      ...options.calculators,
      answerMs: Math.max(
        defaultCalculatorSettings.answerMs,
        (retransmission.sends + 1) * retransmission.everyMs,
      ),
    };
    this.#calculators = new Peers(peersMax);
    this.#lateAnswers = new LateAnswers({ door, queue }, host);
    this.#exchange = new UdpExchange(retransmission, (bytes, to, method) => {
      if (!host.maySend(to, bytes.length)) return host.fault("amplification", to.name);
      host.note("out", to.name, method, bytes);
      if (!host.send(bytes, to)) host.fault("send_queue_full", to.name);
    });
    this.#ends = {
      exchange: this.#exchange,
      post: (event) => host.post(event),
      request: (take) => host.request((answer) => take(answer, host.now())),
      by: () => host.by(),
      isKeptAsProven: (client) => host.isKeptAsProven?.(client) === true,
      isTooFast: () => host.isTooFast?.() === true,
      refused: (client, message) => host.fault("refused", client.name, message),
      lost: (calculator, held) => this.#lateAnswers.remember(calculator, held),
      watch: (calculator) => this.#watch(calculator),
      left: (calculator) => this.#forget(calculator),
    };
    this.#clients = new UdpDoorClients({ door, queue, placementMs }, this.#ends);
  }

  /** [udp 3.11] Restores the calculators of before the restart. */
  opened(memos: ReadonlyMap<string, Uint8Array>, now: Moment): void {
    this.#lateAnswers.opened(now);
    for (const [memo, bytes] of memos) {
      const remembered = readCalculator(memo, bytes);
      const isAllowed = remembered !== undefined && this.#host.isAllowed(remembered.address);
      const calculator = isAllowed ? this.#calculatorAt(remembered.address) : undefined;
      if (remembered !== undefined && calculator !== undefined) {
        // It has acknowledged tasks before the restart.
        this.#host.acknowledged(remembered.address);
        calculator.adopt(remembered.form, now);
      } else this.#host.post({ type: "memo-dropped", name: memo });
    }
  }

  receive(bytes: Buffer, host: string, port: number, now: Moment): void {
    const from = this.#addressAt(host, port);
    this.#host.heard(from, bytes.length);
    const echoed = this.#exchange.receiveEcho(from, bytes, now);
    if (echoed !== undefined) {
      this.#host.acknowledged(from);
      this.#host.note("in", from.name, echoed, bytes);
      return;
    }
    const reading = readPacket(bytes);
    if (!reading.ok) {
      this.#host.fault(reading.fault, from.name);
      this.#host.noteUnreadable(from.name, reading.fault, bytes);
      return;
    }
    const packet = reading.message;
    this.#host.note("in", from.name, packet.method, bytes);
    if (packet.packetType !== 2) this.#request(from, packet, now);
    // [udp 1.4] No sender waits for this ack, or not from that address.
    else if (this.#exchange.receiveAck(from, packet, now)) this.#host.acknowledged(from);
    else this.#host.fault("unexpected_ack", from.name);
  }

  deliver(effect: Effect): void {
    const now = this.#host.now();
    if (effect.type === "assign") this.#calculatorOf(effect.worker)?.session.assign(effect, now);
    else if (effect.type === "tell") this.#clients.tell(effect, now);
    else if (effect.type === "dismiss") this.#dismiss(effect);
  }

  handleTimeout(now: Moment): void {
    if (!this.#isExcused(now)) this.#exchange.handleTimeout(now);
    const known = this.#calculators;
    for (let peer = known.takeSilent(now); peer !== undefined; peer = known.takeSilent(now)) {
      peer.session.handleTimeout(now);
    }
  }

  nextDeadline(): Instant | undefined {
    const due = this.#exchange.nextDeadline();
    const resend = due === undefined || due > this.#resendsFrom ? due : this.#resendsFrom;
    const silence = this.#calculators.nextDeadline();
    if (resend === undefined || silence === undefined) return resend ?? silence;
    return resend < silence ? resend : silence;
  }

  isCalculator(peer: string): boolean {
    return this.#calculators.get(peer) !== undefined;
  }

  silenceOf(worker: WorkerId, now: Moment): PeerSilence | undefined {
    const { limitMs, silentAt } = this.#calculatorOf(worker)?.session.silence ?? {};
    const at = wallOf(silentAt, now);
    return at === undefined || limitMs === undefined ? undefined : { limitMs, silentAt: at };
  }

  /**
   * [udp 1.7] True if missing acks may already have arrived, because there is more input than we
   * can read.
   */
  #isExcused(now: Moment): boolean {
    const due = this.#exchange.nextDeadline();
    if (due === undefined || due > now.instant) return false;
    if (now.instant < this.#resendsFrom) return true;
    if (!this.#host.takeIsBehind() || now.instant - due >= behindMsMax) return false;
    this.#resendsFrom = (now.instant + behindMs) as Instant;
    return true;
  }

  /** The address with its name. Made once per peer, because every datagram looks it up by name. */
  #addressAt(host: string, port: number): UdpAddress {
    const known = this.#addresses.get(port);
    if (known?.host === host) return known;
    const address = { host, port, name: `${host}:${port}` };
    this.#addresses.set(port, address);
    return address;
  }

  #request(from: UdpAddress, packet: Packet, now: Moment): void {
    const reading = readRequest(packet);
    if (!reading.ok) {
      this.#host.fault(reading.fault, from.name);
      return;
    }
    const request = reading.message;
    // [udp 1.9] Like every refused request, it is not acknowledged.
    if (!this.#host.may(request.type === "add_task" ? "submit" : "work")) {
      this.#host.fault("denied", from.name, `it may not ${request.type === "add_task" ? "submit" : "work"}`);
      return;
    }
    if (request.type === "add_task") {
      this.#clients.addTask(from, request.taskId, packet);
      return;
    }
    const calculator = this.#calculatorAt(from);
    if (request.type === "heartbeat") {
      if (calculator !== undefined) this.#probe(from, now);
      calculator?.heartbeat(request.status, request.form, now);
      this.#exchange.acknowledge(from, packet);
    } else if (calculator !== undefined && !calculator.completed(request.names, packet, now)) {
      this.#lateAnswers.completed(calculator, request.names, packet, now);
    }
  }

  /**
   * [udp 1.8] Asks a calculator that may be forged for its status. The answer proves its address,
   * so that its first task is not held back.
   */
  #probe(from: UdpAddress, now: Moment): void {
    if (this.#host.isProven(from) || this.#probed.has(from.name)) return;
    const over = () => void this.#probed.delete(from.name);
    const asked = this.#exchange.ask(from, "status", "{}", { acknowledged: over, unanswered: over }, now);
    if (asked !== undefined) this.#probed.add(from.name);
  }

  /** [udp 3.1] The calculator at this address, created if new; undefined if there are too many. */
  #calculatorAt(address: UdpAddress): UdpDoorCalculator | undefined {
    const known = this.#calculators.get(address.name);
    if (known !== undefined) return known.session;
    const { door, queue } = this.#options;
    const id = workerIdOf(door, address.name);
    const options = { id, address, door, queue, settings: this.#settings };
    const calculator = new UdpDoorCalculator(options, this.#ends);
    if (this.#calculators.add(address.name, calculator) !== undefined) return calculator;
    this.#host.fault("too_many_calculators", address.name);
    return undefined;
  }

  #calculatorOf(worker: WorkerId) {
    return this.#calculators.get(worker.slice(this.#options.door.length + 1));
  }

  #dismiss({ worker, message }: Extract<Effect, { type: "dismiss" }>): void {
    const calculator = this.#calculatorOf(worker)?.session;
    if (calculator === undefined) return;
    calculator.dismiss();
    this.#host.fault("too_many_calculators", calculator.address.name, message);
  }

  #watch(calculator: UdpDoorCalculator): void {
    const peer = this.#calculators.get(calculator.address.name);
    if (peer === undefined) return;
    const deadline = calculator.nextDeadline();
    const now = this.#host.now();
    if (deadline === undefined) this.#calculators.excuse(peer);
    else this.#calculators.heard(peer, now, deadline - now.instant);
  }

  #forget(calculator: UdpDoorCalculator): void {
    const peer = this.#calculators.get(calculator.address.name);
    if (peer !== undefined) this.#calculators.remove(peer);
  }
}
