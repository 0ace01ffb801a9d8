// One end's traffic: what it asks is sent until it is acknowledged or given up, and what it is asked it acknowledges.
// The same for the dispatcher, a calculator and a client.

import type { Instant, Moment } from "@yardmaster/core";
import { Recent } from "../recent.js";
import { type RetransmissionSettings, Retransmissions } from "../retransmission.js";
import { datagramBytesOutMax, writeAck, writePacket } from "./codec.js";
import type { Packet, Params } from "./messages.js";

/** [udp 1.7] As the real peers have it. */
export const defaultRetransmission: RetransmissionSettings = { sends: 4, everyMs: 50 };

export interface UdpAddress {
  readonly host: string;
  readonly port: number;
  /** host:port, by which it is known. */
  readonly name: string;
}

/** Who waits for an ack. One of the two is called, once. */
export interface AckWaiter {
  acknowledged(result: Params | undefined, now: Moment): void;
  unanswered(now: Moment): void;
}

export type SendDatagram = (bytes: Buffer, to: UdpAddress, method: string) => void;

interface Asked {
  readonly key: string;
  readonly to: UdpAddress;
  readonly method: string;
  readonly bytes: Buffer;
  readonly waiter: AckWaiter;
}

/** Acks that may come once more, because what they answer was sent more than once. */
const answeredMax = 10_000;

export class UdpExchange {
  readonly #send: SendDatagram;
  readonly #retransmissions: Retransmissions<Asked>;
  readonly #answered = new Recent<string, true>(answeredMax);
  #lastTransmission = 0;
  #now: Moment | undefined;

  constructor(settings: RetransmissionSettings, send: SendDatagram) {
    this.#send = send;
    this.#retransmissions = new Retransmissions<Asked>(settings, {
      sendAgain: ({ bytes, to, method }) => this.#send(bytes, to, method),
      giveUp: ({ key, waiter }) => {
        this.#answered.set(key, true);
        waiter.unanswered(this.#now as Moment);
      },
    });
  }

  /** How many wait for an ack. */
  get open(): number {
    return this.#retransmissions.size;
  }

  /** What its ack will be known by; undefined, and nothing is sent, when it is longer than the peer's room. */
  ask(
    to: UdpAddress,
    method: string,
    params: Params,
    waiter: AckWaiter,
    now: Moment,
    room = datagramBytesOutMax,
  ): string | undefined {
    // [udp 1.4] The clock, and one more where two are asked in the same millisecond.
    const transmissionId = Math.max(this.#lastTransmission + 1, Math.floor(now.wall));
    const bytes = writePacket(method, params, 1, transmissionId);
    if (bytes.length > room) return undefined;
    this.#lastTransmission = transmissionId;
    const key = `${to.name} ${transmissionId}`;
    this.#retransmissions.sent(key, { key, to, method, bytes, waiter }, now);
    this.#send(bytes, to, method);
    return key;
  }

  /** Nobody waits for this ack any more. */
  drop(key: string): void {
    if (this.#retransmissions.acknowledge(key) !== undefined) this.#answered.set(key, true);
  }

  /** False when it is too long for one datagram. */
  tell(to: UdpAddress, method: string, params: Params): boolean {
    const bytes = writePacket(method, params, 0);
    if (bytes.length > datagramBytesOutMax) return false;
    this.#send(bytes, to, method);
    return true;
  }

  acknowledge(to: UdpAddress, packet: Packet, result?: Params): void {
    if (packet.packetType === 1) this.#send(writeAck(packet, result), to, packet.method);
  }

  /** [udp 1.4] False for one that nobody waits for, or that comes from elsewhere. */
  receiveAck(from: UdpAddress, packet: Packet, now: Moment): boolean {
    const key = `${from.name} ${packet.transmissionId}`;
    const acknowledged = this.#retransmissions.acknowledge(key);
    if (acknowledged === undefined) return this.#answered.has(key);
    if (acknowledged.sends > 1) this.#answered.set(key, true);
    acknowledged.message.waiter.acknowledged(packet.result, now);
    return true;
  }

  nextDeadline(): Instant | undefined {
    return this.#retransmissions.nextDeadline();
  }

  handleTimeout(now: Moment): void {
    this.#now = now;
    this.#retransmissions.handleTimeout(now);
  }
}
