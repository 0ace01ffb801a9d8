// One end's traffic: what it asks is sent until it is acknowledged or given up, and what it is asked it acknowledges.
// The same for the dispatcher, a calculator and a client.

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

interface Request {
  readonly to: UdpAddress;
  readonly method: Method;
  readonly bytes: Buffer;
  readonly waiter: AckWaiter;
}

/** Something that an ack is waited for. */
export type Asked = Sent<Request>;

/** Acks that may come once more, because what they answer was sent more than once. */
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

  /** How many wait for an ack. */
  get open(): number {
    return this.#retransmissions.size;
  }

  /** What the ack is waited for by; undefined, and nothing is sent, when it is longer than the peer's room. */
  ask(
    to: UdpAddress,
    method: Method,
    params: ParamsText,
    waiter: AckWaiter,
    now: Moment,
    room = datagramBytesOutMax,
  ): Asked | undefined {
    // [udp 1.4] The clock, and one more where two are asked in the same millisecond.
    const transmissionId = Math.max(this.#lastTransmission + 1, Math.floor(now.wall));
    const bytes = writeRequest(method, params, 1, transmissionId);
    if (bytes.length > room) return undefined;
    this.#lastTransmission = transmissionId;
    const asked = this.#retransmissions.sent(transmissionId, { to, method, bytes, waiter }, now);
    this.#send(bytes, to, method);
    return asked;
  }

  /** Nobody waits for this ack any more. */
  drop(asked: Asked): void {
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

  /** [udp 1.4] False for one that nobody waits for, or that comes from elsewhere. */
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
   * [udp 1.5] Most acks are what was asked, to the byte, but for the one that makes them acks: those need not be read. The
   * method of such a one, if that address was asked; undefined for whatever else it may be.
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

  /** Its ack has come. */
  #close(asked: Asked): void {
    this.#retransmissions.close(asked);
    if (asked.sends > 1) this.#remember(asked);
  }

  /** Its ack may still come, or come once more. */
  #remember({ id, message }: Asked): void {
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
