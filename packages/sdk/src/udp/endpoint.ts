// The socket of a udp client or calculator, with its exchange and its session's timer.

import { createSocket, type Socket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { type Instant, type Moment, type RetransmissionSettings, udp } from "@yardmaster/dialects";
import { now, SessionTimer } from "../time.js";

export interface EndpointSession {
  receive(packet: udp.Packet, at: Moment): void;
  nextDeadline(): Instant | undefined;
  handleTimeout(at: Moment): void;
}

/** The dispatcher's address from host:port, with or without udp:// in front. */
export async function dispatcherAt(url: string): Promise<udp.UdpAddress> {
  const parsed = udp.addressIn(url.replace(/^udp:\/\//, ""));
  if (parsed === undefined) throw new TypeError(`${url} is not udp://host:port`);
  const { address } = await lookup(parsed.host.replace(/^\[(.*)\]$/, "$1"));
  return { host: address, port: parsed.port, name: `${address}:${parsed.port}` };
}

export class UdpEndpoint {
  readonly exchange: udp.UdpExchange;
  readonly #dispatcher: udp.UdpAddress;
  readonly #socket: Socket;
  readonly #timer = new SessionTimer(() => this.#handleTimeout());
  #session: EndpointSession | undefined;
  #isClosed = false;
  /** Called after a packet was received or timed work was done. */
  afterTurn: () => void = () => {};
  /** Called for each packet from the dispatcher. */
  onHeard: () => void = () => {};

  constructor(dispatcher: udp.UdpAddress, retransmission: RetransmissionSettings) {
    this.#dispatcher = dispatcher;
    this.#socket = createSocket(dispatcher.host.includes(":") ? "udp6" : "udp4");
    this.#socket.on("error", () => {});
    this.#socket.on("message", (bytes, { address, port }) => this.#receive(bytes, `${address}:${port}`));
    this.exchange = new udp.UdpExchange(retransmission, (bytes, to) => {
      if (!this.#isClosed) this.#socket.send(bytes, to.port, to.host);
    });
  }

  async open(session: EndpointSession): Promise<void> {
    this.#session = session;
    const listening = once(this.#socket, "listening");
    this.#socket.bind(0);
    await listening;
  }

  /** Lets the session act, then sets the timer for its next deadline or the exchange's. */
  turn(work: () => void): void {
    work();
    this.afterTurn();
    if (this.#isClosed) return;
    const [one, other] = [this.exchange.nextDeadline(), this.#session?.nextDeadline()];
    this.#timer.wakeAt(one === undefined || other === undefined ? (one ?? other) : one < other ? one : other);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer.stop();
    await new Promise<void>((resolve) => this.#socket.close(resolve));
  }

  #receive(bytes: Buffer, from: string): void {
    const reading = udp.readPacket(bytes);
    // [udp 1.4] Packets from other senders are ignored.
    if (!reading.ok || from !== this.#dispatcher.name) return;
    const packet = reading.message;
    this.onHeard();
    this.turn(() => {
      if (packet.packetType === 2) this.exchange.receiveAck(this.#dispatcher, packet, now());
      else this.#session?.receive(packet, now());
    });
  }

  #handleTimeout(): void {
    this.turn(() => {
      const at = now();
      this.exchange.handleTimeout(at);
      this.#session?.handleTimeout(at);
    });
  }
}
