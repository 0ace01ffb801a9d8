// For tests: a client's or calculator's end without a network. It records what is sent, and answers
// on request.

import type { Instant, Moment } from "@yardmaster/core";
import { readPacket } from "../codec.js";
import { defaultRetransmission, UdpExchange } from "../exchange.js";
import type { Packet } from "../messages.js";
import { addressOf, momentAt } from "./door-end.js";

interface Session {
  receive(packet: Packet, now: Moment): void;
  nextDeadline(): Instant | undefined;
  handleTimeout(now: Moment): void;
}

export class PeerEnd {
  now = 1_000;
  readonly dispatcher = addressOf(5555);
  readonly sent: Record<string, unknown>[] = [];
  readonly exchange = new UdpExchange(defaultRetransmission, (bytes) =>
    this.sent.push(JSON.parse(bytes.toString()) as Record<string, unknown>),
  );

  get moment(): Moment {
    return momentAt(this.now);
  }

  /** What was sent since the last call, one line each. */
  takeSent(): string[] {
    return this.sent
      .splice(0)
      .map(({ method, packet_type, params }) => `${method} ${packet_type} ${JSON.stringify(params)}`);
  }

  /** Acknowledges the last packet as the dispatcher would. */
  acknowledgeLast(): void {
    const packet = { ...this.sent.at(-1), packet_type: 2 };
    const reading = readPacket(Buffer.from(JSON.stringify(packet)));
    if (reading.ok) this.exchange.receiveAck(this.dispatcher, reading.message, this.moment);
  }

  /** Lets time pass for the exchange and the session. */
  pass(ms: number, session: Session): void {
    const end = this.now + ms;
    for (;;) {
      const deadlines = [this.exchange.nextDeadline(), session.nextDeadline()];
      const next = Math.min(...deadlines.map((deadline) => deadline ?? Number.POSITIVE_INFINITY));
      if (next > end) break;
      this.now = Math.max(this.now, next);
      this.exchange.handleTimeout(this.moment);
      session.handleTimeout(this.moment);
    }
    this.now = end;
  }
}
