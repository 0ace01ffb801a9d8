// The udp door and addresses that may be forged: the networks that may talk to it, and how much an
// address gets before it has acknowledged anything.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "@yardmaster/engines";
import type { MakeDatagramSocket, OnDatagram } from "../door-kit/datagrams.js";
import { until } from "../testing/memory-runtime.js";
import { patience } from "../testing/patience.js";
import { UdpYard } from "../testing/udp-yard.js";

/** A socket whose datagrams the test brings from any address. */
class Wire {
  readonly sent: { readonly bytes: Buffer; readonly to: string }[] = [];
  #deliver: OnDatagram = () => {};

  readonly makeSocket: MakeDatagramSocket = (onDatagram) => {
    this.#deliver = onDatagram;
    return {
      bind: async ({ host }) => ({ host, port: 5555 }),
      send: (bytes, { host }) => {
        this.sent.push({ bytes, to: host });
        return true;
      },
      close: async () => {},
    };
  };

  /** The size of the datagram. */
  bring(host: string, packet: object): number {
    const bytes = Buffer.from(JSON.stringify(packet));
    this.#deliver(bytes, host, 4000);
    return bytes.length;
  }

  bytesTo(host: string): number {
    return this.sent.filter(({ to }) => to === host).reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  packetsTo(host: string): { method: string; packet_type: number }[] {
    return this.sent.filter(({ to }) => to === host).map(({ bytes }) => JSON.parse(String(bytes)));
  }
}

const task = (id: number) => ({
  method: "add_task",
  params: { task_id: id, task_uuid: `u${id}` },
  packet_type: 1,
  transmission_id: id,
});
const heartbeat = { method: "heartbeat", params: { status: "ready" }, packet_type: 0 };

test("an address outside of peers gets no answer, and is counted", patience, async () => {
  const wire = new Wire();
  const { makeSocket } = wire;
  const yard = await new UdpYard({ makeSocket, config: { peers: ["10.1.0.0/16"] } }).open();
  wire.bring("10.2.0.1", task(1));
  wire.bring("10.1.0.1", task(2));
  await yard.task(1);
  assert.equal(yard.door.faults.count("address_refused"), 1);
  assert.equal(wire.bytesTo("10.2.0.1"), 0);
  assert.equal(wire.packetsTo("10.1.0.1")[0]?.method, "add_task");
  await yard.close();
});

test("until it acknowledges, an address gets three times the bytes that it sent", patience, async () => {
  const wire = new Wire();
  const { makeSocket } = wire;
  const yard = await new UdpYard({ makeSocket, config: { resendSeconds: 0.002, sends: 100 } }).open();
  const [victim, calculator] = ["203.0.113.5", "203.0.113.6"];
  let received = wire.bring(victim, heartbeat);
  await yard.hand.submit("udp", "x".repeat(300));
  await yard.faults("amplification", 20);
  assert.ok(wire.bytesTo(victim) <= 3 * received, `${wire.bytesTo(victim)} for ${received}`);
  received += wire.bring(victim, heartbeat);
  await yard.faults("amplification", 40);
  assert.ok(wire.bytesTo(victim) <= 3 * received);
  // A real calculator answers the question that it is asked first, and then gets the task.
  wire.bring(calculator, heartbeat);
  const asked = wire.packetsTo(calculator)[0];
  assert.equal(asked?.method, "status");
  wire.bring(calculator, { ...asked, packet_type: 2, result: { status: 0 } });
  await yard.hand.submit("udp", "y".repeat(300));
  await until(() => wire.packetsTo(calculator).some(({ method }) => method === "perform_task") || undefined);
  await yard.close();
});

test(
  "a client that has acknowledged something is told everything, also after a restart",
  patience,
  async () => {
    const store = new MemoryStore();
    const client = "203.0.113.7";
    const result = { mediaType: "text/plain", size: 600, bytes: Buffer.alloc(600, "r") };
    const told = (wire: Wire) =>
      until(() => wire.packetsTo(client).find(({ method }) => method === "notify_task"));

    const wire = new Wire();
    const yard = await new UdpYard({ makeSocket: wire.makeSocket, store }).open();
    const worker = yard.hand.join("h", "udp");
    wire.bring(client, { ...task(1), params: { task_id: 1, pad: "p".repeat(600) } });
    const first = await yard.hand.next("assign");
    yard.hand.done({ worker, task: first.task, attempt: first.attempt }, result);
    wire.bring(client, { ...(await told(wire)), packet_type: 2 });
    yard.hand.post({ type: "worker-retired", worker });
    wire.bring(client, task(2));
    await yard.task(2);
    await yard.close();

    const next = new Wire();
    const heir = await new UdpYard({ makeSocket: next.makeSocket, store }).open();
    heir.hand.join("h", "udp");
    const second = await heir.hand.next("assign");
    heir.hand.done({ worker, task: second.task, attempt: second.attempt }, result);
    await told(next);
    await heir.close();
  },
);
