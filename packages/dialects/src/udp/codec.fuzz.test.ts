// Any bytes give a packet or a fault, never an exception. Each end reads back what the other wrote.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { answerIn } from "./bridge.js";
import { readDispatcherRequest, readPacket, readRequest, roomOf, writeAck, writePacket } from "./codec.js";

const many = { numRuns: 2_000 };
const methods = ["add_task", "completed_task", "heartbeat", "perform_task", "notify_task", "status"];
const sloppy = fc.oneof(fc.integer({ min: -1, max: 3 }), fc.jsonValue({ maxDepth: 3 }));
const key = fc.oneof(
  fc.constantFrom("task_id", "task_uuid", "status", "result", "error", "packet_type", "__proto__"),
  fc.string(),
);
/** Mostly the dialect's own keys, so that fuzzed bytes get past the first check. */
const params = fc.dictionary(key, sloppy, { maxKeys: 6 });
const object = fc.record(
  {
    method: fc.oneof(fc.constantFrom(...methods), sloppy),
    params: fc.oneof(params, sloppy),
    packet_type: fc.oneof(fc.constantFrom(0, 1, 2), sloppy),
    transmission_id: fc.oneof(fc.maxSafeNat(), fc.string({ maxLength: 20 }), sloppy),
    result: sloppy,
  },
  { requiredKeys: [] },
);

function readAll(bytes: Buffer): void {
  const reading = readPacket(bytes);
  if (!reading.ok) {
    assert.match(reading.fault, /^(too|not|bad)_/);
    return;
  }
  const packet = reading.message;
  for (const read of [readRequest, readDispatcherRequest]) {
    const request = read(packet);
    if (!request.ok) assert.match(request.fault, /^(bad_task_id|bad_status|unknown_method)$/);
  }
  answerIn(packet.params);
  if (packet.packetType !== 1) return;
  const ack = writeAck(packet);
  assert.ok(ack.length <= roomOf(packet.datagram.length));
  const back = readPacket(ack);
  assert.ok(back.ok && back.message.packetType === 2);
  assert.equal(back.message.transmissionId, packet.transmissionId);
  if (ack.length === bytes.length) {
    assert.deepEqual(JSON.parse(ack.toString()), { ...JSON.parse(bytes.toString()), packet_type: 2 });
  }
}

test("any bytes are a packet or a fault", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => readAll(Buffer.from(bytes))),
    many,
  );
});

test("any JSON, and any object that looks like a packet, is a packet or a fault", () => {
  fc.assert(
    fc.property(
      fc.oneof({ weight: 4, arbitrary: object }, { weight: 1, arbitrary: fc.jsonValue() }),
      (value) => readAll(Buffer.from(JSON.stringify(value))),
    ),
    many,
  );
});

test("a datagram with a byte changed is a packet or a fault", () => {
  const whole = writePacket(
    "completed_task",
    { task_id: 5, task_uuid: "::1:9:5", result: [1] },
    1,
    1598326709000,
  );
  fc.assert(
    fc.property(fc.nat(whole.length - 1), fc.nat(255), (index, byte) => {
      const bytes = Buffer.from(whole);
      bytes[index] = byte;
      readAll(bytes);
    }),
    many,
  );
});

test("every packet arrives unchanged", () => {
  const types = fc.constantFrom(0 as const, 1 as const);
  fc.assert(
    fc.property(fc.string(), params, types, fc.maxSafeNat(), (method, its, type, id) => {
      const reading = readPacket(writePacket(method, its, type, id));
      assert.ok(reading.ok);
      const { packetType, transmissionId } = reading.message;
      assert.deepEqual([reading.message.method, packetType, transmissionId], [method, type, id]);
      assert.deepEqual(reading.message.params, JSON.parse(JSON.stringify(its)));
    }),
    many,
  );
});
