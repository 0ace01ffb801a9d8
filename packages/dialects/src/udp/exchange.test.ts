import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { readPacket, writeAck } from "./codec.js";
import { type AckWaiter, defaultRetransmission, UdpExchange } from "./exchange.js";
import { addressOf, momentAt } from "./testing/door-end.js";

const peer = addressOf(7);

class Asking implements AckWaiter {
  readonly sent: Buffer[] = [];
  readonly heard: string[] = [];
  readonly exchange = new UdpExchange(defaultRetransmission, (bytes) => this.sent.push(bytes));

  constructor(wall = 1_000) {
    this.exchange.ask(peer, "notify_task", '{"status":"success","task_id":5}', this, momentAt(wall));
  }

  acknowledged(): void {
    this.heard.push("acknowledged");
  }

  unanswered(): void {
    this.heard.push("unanswered");
  }

  /** The ack of the packet that was sent. */
  ack(): Buffer {
    const reading = readPacket(this.sent[0] as Buffer);
    assert.ok(reading.ok);
    return writeAck(reading.message);
  }

  echo(datagram: Buffer, from = peer): string | undefined {
    return this.exchange.receiveEcho(from, datagram, momentAt(1_001));
  }
}

describe("[udp 1.5] an ack that echoes its packet", () => {
  test("counts once, whatever the clock says", () => {
    for (const wall of [1, 1_000, 1.8e12]) {
      const asking = new Asking(wall);
      assert.equal(asking.echo(asking.ack()), "notify_task");
      assert.equal(asking.echo(asking.ack()), undefined);
      assert.deepEqual([asking.heard, asking.exchange.open], [["acknowledged"], 0]);
    }
  });

  test("[udp 1.4] counts only from the address that was asked", () => {
    const asking = new Asking();
    assert.equal(asking.echo(asking.ack(), addressOf(8)), undefined);
    assert.equal(asking.echo(asking.sent[0] as Buffer), undefined, "what was asked is no ack of it");
    assert.deepEqual([asking.heard, asking.exchange.open], [[], 1]);
  });

  test("may come twice if the packet was sent twice; the second one has no effect", () => {
    const asking = new Asking();
    asking.exchange.handleTimeout(momentAt(1_050));
    assert.equal(asking.sent.length, 2);
    const again = readPacket(asking.ack());
    assert.ok(again.ok && asking.echo(asking.ack()) !== undefined);
    assert.equal(asking.exchange.receiveAck(peer, again.message, momentAt(1_060)), true);
    assert.deepEqual(asking.heard, ["acknowledged"]);
  });

  test("must echo the packet to the byte; other bytes are not taken or changed", () => {
    const ack = new Asking().ack();
    fc.assert(
      fc.property(fc.nat(ack.length - 1), fc.nat(255), fc.nat(3), (index, byte, cut) => {
        const asking = new Asking();
        const changed = Buffer.from(asking.ack().subarray(0, ack.length - cut));
        if (index < changed.length) changed[index] = byte;
        const before = Buffer.from(changed);
        const isSame = changed.equals(ack);
        assert.equal(asking.echo(changed), isSame ? "notify_task" : undefined);
        assert.deepEqual([changed, asking.heard.length], [before, isSame ? 1 : 0]);
      }),
    );
  });

  test("arbitrary bytes are no echo", () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 100 }), fc.constant(Buffer.from("1000}"))), (bytes) => {
        const asking = new Asking();
        assert.equal(asking.echo(Buffer.from(bytes)), undefined);
        assert.equal(asking.exchange.open, 1);
      }),
    );
  });
});
