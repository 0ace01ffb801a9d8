// The traffic of one end: its requests are sent until they are acknowledged or given up, and
// incoming ones are acknowledged. Shared by the dispatcher, calculators and clients.

import type { Instant, Moment } from "@yardmaster/core";
import { Recent } from "../recent.js";
import { type RetransmissionSettings, Retransmissions, type Sent } from "../retransmission.js";
import {
  datagramBytesOutMax,
  findTransmissionId,
  isEcho,
  readTransmissionId,
  writeAck,
  writeRequest,
} from "./codec.js";
import type { Method, Packet, Params, ParamsText, TransmissionId } from "./messages.js";

/** [udp 1.7] The values of real peers. */
export const defaultRetransmission: RetransmissionSettings = { sends: 4, everyMs: 50 };

export interface UdpAddress {
  readonly host: string;
  readonly port: number;
  /** host:port, which identifies it. */
  readonly name: string;
}

/** The waiter for an ack. One of the two methods is called, once. */
export interface AckWaiter {
  acknowledged(result: Params | undefined, now: Moment): void;
  unanswered(now: Moment): void;
}

export type SendDatagram = (bytes: Buffer, to: UdpAddress, method: string) => void;

interface Request {
  readonly to: UdpAddress;
  readonly method: Method;
  readonly bytes: Buffer;
  readonly waiter: AckWaiter;
}

/** A request that waits for its ack. */
export type SentRequest = Sent<Request>;

/** Acks that may be repeated, because their request was sent more than once. */
const answeredMax = 10_000;

export class UdpExchange {
  readonly #send: SendDatagram;
  readonly #retransmissions: Retransmissions<Request>;
  readonly #answered = new Recent<string, true>(answeredMax);
  #lastTransmission = 0;
  #now: Moment | undefined;

  constructor(settings: RetransmissionSettings, send: SendDatagram) {
    this.#send = send;
    this.#retransmissions = new Retransmissions<Request>(settings, {
      sendAgain: ({ bytes, to, method }) => this.#send(bytes, to, method),
      giveUp: (asked) => {
        this.#remember(asked);
        asked.message.waiter.unanswered(this.#now as Moment);
      },
    });
  }

  /** Number of requests that wait for an ack. */
  get open(): number {
    return this.#retransmissions.size;
  }

  /**
   * Sends a request and returns it. Returns undefined and sends nothing if it is longer than the
   * peer can read.
   */
  ask(
    to: UdpAddress,
    method: Method,
    params: ParamsText,
    waiter: AckWaiter,
    now: Moment,
    room = datagramBytesOutMax,
  ): SentRequest | undefined {
    // [udp 1.4] The clock, plus one if two requests fall into one millisecond.
    const transmissionId = Math.max(this.#lastTransmission + 1, Math.floor(now.wall));
    const bytes = writeRequest(method, params, 1, transmissionId);
    if (bytes.length > room) return undefined;
    this.#lastTransmission = transmissionId;
    const asked = this.#retransmissions.sent(transmissionId, { to, method, bytes, waiter }, now);
    this.#send(bytes, to, method);
    return asked;
  }

  /** Stops waiting for this ack. */
  drop(asked: SentRequest): void {
    if (this.#retransmissions.close(asked)) this.#remember(asked);
  }

  /** False when it is too long for one datagram. */
  tell(to: UdpAddress, method: Method, params: ParamsText): boolean {
    const bytes = writeRequest(method, params, 0);
    if (bytes.length > datagramBytesOutMax) return false;
    this.#send(bytes, to, method);
    return true;
  }

  acknowledge(to: UdpAddress, packet: Packet, result?: Params): void {
    if (packet.packetType === 1) this.#send(writeAck(packet, result), to, packet.method);
  }

  /** [udp 1.4] False if no request waits for it, or it comes from another address. */
  receiveAck(from: UdpAddress, packet: Packet, now: Moment): boolean {
    const asked = this.#retransmissions.find(Number(packet.transmissionId));
    if (asked?.message.to.name !== from.name) {
      return this.#answered.has(ackKey(from, packet.transmissionId));
    }
    this.#close(asked);
    asked.message.waiter.acknowledged(packet.result, now);
    return true;
  }

  /**
   * [udp 1.5] Most acks equal their request except for the byte that makes them acks, and need not
   * be parsed. Returns the method of such an ack if that address was asked; undefined for anything
   * else.
   */
  receiveEcho(from: UdpAddress, datagram: Buffer, now: Moment): Method | undefined {
    const idAt = findTransmissionId(datagram);
    if (idAt === undefined) return undefined;
    const asked = this.#retransmissions.find(readTransmissionId(datagram, idAt));
    if (asked === undefined) return undefined;
    const { to, method, bytes, waiter } = asked.message;
    if (to.name !== from.name || !isEcho(datagram, bytes, idAt)) return undefined;
    this.#close(asked);
    waiter.acknowledged(undefined, now);
    return method;
  }

  /** Its ack has arrived. */
  #close(asked: SentRequest): void {
    this.#retransmissions.close(asked);
    if (asked.sends > 1) this.#remember(asked);
  }

  /** Its ack may still arrive, or be repeated. */
  #remember({ id, message }: SentRequest): void {
    this.#answered.set(ackKey(message.to, id), true);
  }

  nextDeadline(): Instant | undefined {
    return this.#retransmissions.nextDeadline();
  }

  handleTimeout(now: Moment): void {
    this.#now = now;
    this.#retransmissions.handleTimeout(now);
  }
}

function ackKey({ name }: UdpAddress, transmissionId: TransmissionId | undefined): string {
  return `${name} ${transmissionId}`;
}
