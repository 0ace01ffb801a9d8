import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import {
  addressIn,
  readDispatcherRequest,
  readPacket,
  readRequest,
  readStatus,
  uuidOf,
  writeAck,
  writePacket,
  writeStatus,
} from "./codec.js";
import type { Packet, UdpFault } from "./messages.js";

interface Vector {
  readonly name: string;
  readonly from: "client" | "dispatcher" | "calculator";
  readonly text: string;
}

const vectors = JSON.parse(
  readFileSync(new URL("../../src/udp/vectors/udp.json", import.meta.url), "utf8"),
) as Vector[];

function packetOf(text: string): Packet {
  const reading = readPacket(Buffer.from(text));
  assert.ok(reading.ok, text);
  return reading.message;
}

const jsonOf = (bytes: Buffer) => JSON.parse(bytes.toString()) as Record<string, unknown>;

describe("the udp vectors", () => {
  assert.equal(vectors.length, 12);
  for (const { name, from, text } of vectors) {
    test(name, () => {
      const packet = packetOf(text);
      const { method, params, packetType, transmissionId, result } = packet;
      const written =
        packetType === 2 ? writeAck(packet, result) : writePacket(method, params, packetType, transmissionId);
      assert.deepEqual(jsonOf(written), JSON.parse(text));
      if (packetType === 2) return;
      const reading = from === "dispatcher" ? readDispatcherRequest(packet) : readRequest(packet);
      assert.ok(reading.ok && reading.message.type === method);
      // The ack of any packet is the same packet with packet_type 2.
      if (packetType === 1) {
        assert.deepEqual(jsonOf(writeAck(packet)), { ...JSON.parse(text), packet_type: 2 });
      }
    });
    test(`${name}: cut short or with more behind it, it is no packet`, () => {
      const bytes = Buffer.from(text);
      for (let length = 0; length < bytes.length; length += 1) {
        assert.equal(readPacket(bytes.subarray(0, length)).ok, false, String(length));
      }
      assert.equal(readPacket(Buffer.concat([bytes, Buffer.from("}")])).ok, false);
      assert.equal(readPacket(Buffer.concat([bytes, Buffer.from(" \n")])).ok, true);
    });
  }
});

const requestFaults: readonly [text: string | Buffer, fault: UdpFault][] = [
  ["", "not_json"],
  ["hello", "not_json"],
  ["{'method': 'heartbeat'}", "not_json"],
  ['{"method": "heartbeat", "params": {"status": NaN}, "packet_type": 0}', "not_json"],
  [Buffer.from([0x22, 0xff, 0x22]), "not_json"],
  ['"a bare string"', "not_an_object"],
  ["5", "not_an_object"],
  ["null", "not_an_object"],
  ["[{}]", "not_an_object"],
  ["{}", "bad_packet_type"],
  ['{"method":"heartbeat","params":{"status":0},"packet_type":3}', "bad_packet_type"],
  ['{"method":"heartbeat","params":{"status":0},"packet_type":"1","transmission_id":1}', "bad_packet_type"],
  ['{"params":{"task_id":1},"packet_type":0}', "bad_method"],
  ['{"method":7,"params":{"task_id":1},"packet_type":0}', "bad_method"],
  ['{"method":"add_task","params":{"task_id":1},"packet_type":1}', "bad_transmission_id"],
  ['{"method":"add_task","params":{"task_id":1},"packet_type":2}', "bad_transmission_id"],
  [
    '{"method":"add_task","params":{"task_id":1},"packet_type":1,"transmission_id":null}',
    "bad_transmission_id",
  ],
  // This packet could not be sent back unchanged.
  [
    '{"method":"add_task","params":{"task_id":1},"packet_type":1,"transmission_id":9007199254740993}',
    "bad_transmission_id",
  ],
  ['{"method":"add_task","packet_type":1,"transmission_id":1}', "bad_params"],
  ['{"method":"add_task","params":[1],"packet_type":1,"transmission_id":1}', "bad_params"],
  ['{"method":"frob","params":{},"packet_type":0}', "unknown_method"],
  ['{"method":"status","params":{},"packet_type":1,"transmission_id":1}', "unknown_method"],
  ['{"method":"add_task","params":{},"packet_type":1,"transmission_id":1}', "bad_task_id"],
  ['{"method":"add_task","params":{"task_id":1.5},"packet_type":1,"transmission_id":1}', "bad_task_id"],
  ['{"method":"add_task","params":{"task_id":""},"packet_type":1,"transmission_id":1}', "bad_task_id"],
  ['{"method":"add_task","params":{"task_id":true},"packet_type":1,"transmission_id":1}', "bad_task_id"],
  [`{"method":"add_task","params":{"task_id":"${"x".repeat(129)}"},"packet_type":0}`, "bad_task_id"],
  ['{"method":"completed_task","params":{"result":1},"packet_type":1,"transmission_id":1}', "bad_task_id"],
  ['{"method":"heartbeat","params":{},"packet_type":0}', "bad_status"],
  ['{"method":"heartbeat","params":{"status":"asleep"},"packet_type":0}', "bad_status"],
  ['{"method":"heartbeat","params":{"status":3},"packet_type":0}', "bad_status"],
  ['{"method":"heartbeat","params":{"status":[0]},"packet_type":0}', "bad_status"],
  [Buffer.alloc(65 * 1024, " "), "too_large"],
  [
    `{"method":"add_task","params":{"task_id":1,"a":${"[".repeat(30_000)}${"]".repeat(30_000)}},"packet_type":0}`,
    "too_deep",
  ],
];

test("a fault in a datagram is returned as a value", () => {
  for (const [text, fault] of requestFaults) {
    const packet = readPacket(Buffer.from(text as string));
    const reading = packet.ok ? readRequest(packet.message) : packet;
    assert.deepEqual(reading, { ok: false, fault }, String(text).slice(0, 100));
  }
});

test("what the dispatcher says is checked alike", () => {
  const faults: readonly [method: string, params: Record<string, unknown>, fault: UdpFault][] = [
    ["perform_task", {}, "bad_task_id"],
    ["notify_task", { status: "success" }, "bad_task_id"],
    ["notify_task", { status: "done", task_id: 1 }, "bad_status"],
    ["add_task", { task_id: 1 }, "unknown_method"],
  ];
  for (const [method, params, fault] of faults) {
    const packet = packetOf(writePacket(method, params, 0).toString());
    assert.deepEqual(readDispatcherRequest(packet), { ok: false, fault });
  }
});

test("an ack says enough by its id", () => {
  const packet = packetOf('{"method":"perform_task","packet_type":2,"transmission_id":7}');
  assert.deepEqual([packet.params, packet.transmissionId], [{}, 7]);
});

test("a status is a word, a number or a number in words, in both forms", () => {
  const read = [0, "0", "ready", 1, "1", "busy", 2, "2", "READY", null, 1.5].map(readStatus);
  const [ready, busy, unavailable] = ["ready", "busy", "unavailable"] as const;
  assert.deepEqual(read, [
    ready,
    ready,
    ready,
    busy,
    busy,
    busy,
    unavailable,
    unavailable,
    undefined,
    undefined,
    undefined,
  ]);
  assert.deepEqual(
    [ready, busy, unavailable].map((status) => writeStatus(status, "program")),
    [0, 1, 2],
  );
  assert.deepEqual(
    [ready, busy].map((status) => writeStatus(status, "document")),
    ["ready", "busy"],
  );
});

test("an ack keeps keys that nobody knows, and adds a result", () => {
  const text =
    '{"method":"status","params":{"x":[1]},"packet_type":1,"transmission_id":"t","more":{"__proto__":1}}';
  assert.deepEqual(
    writeAck(packetOf(text), { status: 1 }).toString(),
    '{"method":"status","params":{"x":[1]},"packet_type":2,"transmission_id":"t","more":{"__proto__":1},"result":{"status":1}}',
  );
});

test("[udp 1.1] an ack may be as long as what it acknowledges", () => {
  const long = { task_id: 5, data: "x".repeat(5_000) };
  const ack = writeAck(packetOf(writePacket("completed_task", long, 1, 9).toString()), { ok: 1 });
  assert.deepEqual(jsonOf(ack).params, long);
});

test("[udp 1.5] an ack that would be longer than the peer takes is cut to what it is known by", () => {
  const ids = { task_id: 5, task_uuid: "1.2.3.4:5:5" };
  const short = packetOf(writePacket("completed_task", { ...ids, data: "x".repeat(880) }, 1, 9).toString());
  assert.ok(short.datagram.length <= 1_024);
  const known = { method: "completed_task", packet_type: 2, transmission_id: 9 };
  const status = "x".repeat(100);
  assert.deepEqual(jsonOf(writeAck(short, { status })), { ...known, params: ids, result: { status } });
  // If a packet must be serialised again, its numbers may take more characters than before.
  const numbers = Array(150).fill("1e20").join();
  const growing = `{"method":"m","params":{"task_id":5,"data":[${numbers}]},"packet_type":1.0,"transmission_id":9}`;
  assert.deepEqual(jsonOf(writeAck(packetOf(growing))), { ...known, method: "m", params: { task_id: 5 } });
  assert.deepEqual(jsonOf(writeAck(short, { status: "x".repeat(1_000) })), { ...known, params: {} });
});

test("[udp 1.5] an ack is what came, to the byte, where it is plain which byte makes it one", () => {
  const ack = (text: string) => writeAck(packetOf(text)).toString();
  for (const [asked, acknowledged] of [
    // JSON as other programs write it, with numbers that JavaScript cannot represent and a
    // duplicate key.
    [
      '{"transmission_id": 7, "packet_type": 1, "method": "m", "params": {"n": 9007199254740993, "n": 1e2}}',
      '{"transmission_id": 7, "packet_type": 2, "method": "m", "params": {"n": 9007199254740993, "n": 1e2}}',
    ],
    [
      '{"method":"m","params":{},"transmission_id":1,"packet_type"\n:\t1\r}',
      '{"method":"m","params":{},"transmission_id":1,"packet_type"\n:\t2\r}',
    ],
  ] as const) {
    assert.equal(ack(asked), acknowledged);
  }
  // Anything else is parsed and serialised again.
  for (const text of [
    '{"packet_type":1,"method":"m","params":{"packet_type":1},"transmission_id":1}',
    '{"params":{"packet_type":1},"method":"m","packet_type":1,"transmission_id":1}',
    '{"params":{"packet_type":1},"method":"m","packet\\u005ftype":1,"transmission_id":1}',
    '{"params":{"x":"\\"packet_type\\":1"},"method":"m","packet_type":1,"transmission_id":1}',
    '{"params":["packet_type"],"params":{},"method":"m","packet_type":1,"transmission_id":1}',
    '{"packet_type":2,"method":"m","params":{},"packet_type":1,"transmission_id":1}',
    '{"packet_type":1e0,"method":"m","params":{},"transmission_id":1}',
    '{"packet_type":10e-1,"method":"m","params":{},"transmission_id":1}',
    '{"packet_type":1,"method":"m","params":{"x":"\u044f"},"transmission_id":1}',
  ]) {
    assert.deepEqual(JSON.parse(ack(text)), { ...JSON.parse(text), packet_type: 2 }, text);
  }
});

test("addresses are split from the right", () => {
  assert.equal(uuidOf("::1:5000", 7), "::1:5000:7");
  assert.deepEqual(addressIn("::1:5000"), { host: "::1", port: 5000 });
  assert.deepEqual(addressIn("127.0.0.1:5555"), { host: "127.0.0.1", port: 5555 });
  for (const bad of ["", "host", ":5", "host:", "host:0", "host:65536", "host:5x"]) {
    assert.equal(addressIn(bad), undefined, bad);
  }
});
