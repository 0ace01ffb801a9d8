// Any bytes on either port of the pingpong door: a counter rises, at most the connection closes,
// and the next peer is served.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { COMMAND, encodeCommand, encodeFrame, encodeGreeting, encodeMetadata, MORE } from "@yardmaster/zmtp";
import fc from "fast-check";
import { realRouter } from "../door-kit/zmq.js";
import { until } from "../testing/memory-runtime.js";
import { patience } from "../testing/patience.js";
import { PingpongYard } from "../testing/pingpong-yard.js";

const greeting = encodeGreeting({ minor: 1, mechanism: "NULL", isServer: false });

function ready(type: string, identity?: Buffer): Buffer {
  const properties: [string, Buffer][] = [["Socket-Type", Buffer.from(type)]];
  if (identity) properties.push(["Identity", identity]);
  return encodeFrame(COMMAND, encodeCommand("READY", encodeMetadata(properties)));
}

function message(...frames: string[]): Buffer {
  const last = frames.length - 1;
  return Buffer.concat(
    frames.map((frame, index) => encodeFrame(index < last ? MORE : 0, Buffer.from(frame))),
  );
}

const joined = Buffer.concat([greeting, ready("DEALER")]);
const longest = Buffer.concat([joined, Buffer.from("027fffffffffffffff", "hex")]);

/** The bytes sent, the fault that they count as, and whether the connection closes. */
const attacks: readonly [what: string, bytes: Buffer, fault: string, isClosed: boolean][] = [
  ["no ZMTP at all", Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n".padEnd(80)), "not_zmtp", true],
  ["half a greeting and silence", greeting.subarray(0, 30), "handshake_timeout", true],
  [
    "an unknown mechanism",
    encodeGreeting({ minor: 1, mechanism: "MAGIC", isServer: false }),
    "unknown_mechanism",
    true,
  ],
  [
    "a socket that may not talk to a ROUTER",
    Buffer.concat([greeting, ready("SUB")]),
    "wrong_socket_type",
    true,
  ],
  [
    "an identity of 256 bytes",
    Buffer.concat([greeting, ready("DEALER", Buffer.alloc(256, 1))]),
    "bad_identity",
    true,
  ],
  ["a reserved identity", Buffer.concat([greeting, ready("DEALER", Buffer.alloc(5))]), "bad_identity", true],
  ["a message before the handshake", Buffer.concat([greeting, message("x")]), "message_in_handshake", true],
  ["a length of 2^63 - 1", longest, "frame_too_large", true],
  ["reserved flags", Buffer.concat([joined, Buffer.from("f80161", "hex")]), "bad_flags", true],
  [
    "a message of 10,000 frames",
    Buffer.concat([joined, message(...Array.from({ length: 10_000 }, () => "x"))]),
    "too_many_frames",
    true,
  ],
  [
    "a command where a message belongs",
    Buffer.concat([joined, encodeFrame(COMMAND, encodeCommand("WHAT", Buffer.alloc(3)))]),
    "unknown_command",
    false,
  ],
];

describe("the pingpong door and bad input", patience, () => {
  let yard: PingpongYard;
  const sockets: Socket[] = [];

  before(async () => {
    yard = await new PingpongYard({
      makeRouter: (options) => realRouter({ ...options, limits: { ...options.limits, handshakeMs: 200 } }),
    }).open();
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    await yard.close();
  });

  async function open(address: string): Promise<Socket> {
    const [host, port] = address.split(":");
    const socket = connect(Number(port), host);
    socket.on("error", () => {});
    socket.resume();
    sockets.push(socket);
    await once(socket, "connect");
    return socket;
  }

  /** The door still serves a job. */
  async function isServing(): Promise<void> {
    const [client, worker] = [await yard.client(), await yard.worker()];
    worker.say("", "READY");
    client.say("", "job");
    assert.deepEqual(await worker.next(), ["", "job"]);
    worker.say("", "result");
    assert.deepEqual(await client.next(), ["", "result"]);
    await Promise.all([client.close(), worker.close()]);
  }

  for (const port of ["clients", "workers"] as const) {
    for (const [what, bytes, fault, isClosed] of attacks) {
      test(`${what}, to the ${port}' port`, async () => {
        const before = yard.door.faults.count(fault);
        const socket = await open(yard.addresses[port]);
        const closed = once(socket, "close");
        socket.write(bytes);
        await until(() => (yard.door.faults.count(fault) > before ? true : undefined));
        assert.equal(yard.door.faults.count(fault), before + 1);
        if (isClosed) await closed;
        await isServing();
      });
    }
  }

  test("a flood of tiny messages from a client is counted, each of them", async () => {
    const before = yard.door.faults.count("no_delimiter");
    const socket = await open(yard.addresses.clients);
    socket.write(Buffer.concat([joined, ...Array.from({ length: 20_000 }, () => message("x"))]));
    await until(() => (yard.door.faults.count("no_delimiter") === before + 20_000 ? true : undefined));
    await isServing();
  });

  test("a client's envelope that is too large, or empty, costs it that job alone", async () => {
    const client = await yard.client();
    client.say("x".repeat(5_000), "", "job");
    client.say("c", "");
    client.say("c", "", "PONG");
    assert.deepEqual((await client.next()).slice(0, 4), ["c", "", "ERROR", "does_not_fit"]);
    const { faults } = yard.door;
    assert.deepEqual([faults.count("correlation_too_large"), faults.count("no_content")], [1, 1]);
    await client.close();
  });

  test("any frames, from clients and workers", async () => {
    const word = fc.constantFrom("", "READY", "PING", "DISCONNECT", "JOB COMPLETE", "ERROR", "PONG");
    const frames = fc.array(fc.oneof(word, fc.string({ maxLength: 20 })), { minLength: 1, maxLength: 20 });
    for (const given of fc.sample(frames, { numRuns: 300, seed: 3 })) {
      for (const peer of [await yard.client(), await yard.worker()]) {
        peer.say(...given);
        await peer.socket.close();
      }
    }
    assert.ok(yard.runtime.isRunning);
  });
});
