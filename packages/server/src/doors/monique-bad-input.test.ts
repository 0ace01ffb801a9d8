// Any input on any port of the monique door: a counter rises, at most the connection closes, and
// all other peers are served.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { monique } from "@yardmaster/dialects";
import { COMMAND, encodeCommand, encodeFrame, encodeGreeting, encodeMetadata, Sub } from "@yardmaster/zmtp";
import fc from "fast-check";
import { realMoniqueSockets } from "../monique/sockets.js";
import { until } from "../testing/memory-runtime.js";
import { type Listener, MoniqueYard, type Pusher } from "../testing/monique-yard.js";
import { patience } from "../testing/patience.js";

const greeting = encodeGreeting({ minor: 1, mechanism: "NULL", isServer: false });
const ready = (type: string) =>
  encodeFrame(COMMAND, encodeCommand("READY", encodeMetadata([["Socket-Type", Buffer.from(type)]])));
const tag = "data:test_radio:1::me";
const content = monique.writeMessage(
  {
    ...{ type: "data", spec: "test_radio", id: "1", pid: "", creator: "me", createdAt: 1, expiresAt: 0 },
    ...{ encoding: "JSON", data: Buffer.from("{}") },
  },
  "d3",
)[1];

/** Frames that are dropped, and the fault that each counts as. */
const dropped: readonly [what: string, fault: string, frames: readonly (string | Buffer)[]][] = [
  ["one frame", "frame_count", [tag]],
  ["three frames", "frame_count", [tag, content, content]],
  ["a thousand frames", "frame_count", Array.from({ length: 1_000 }, () => tag)],
  ["a tag of four fields", "bad_tag", ["data:test_radio:1:me", content]],
  ["a tag of six fields", "bad_tag", ["data:test_radio:1:::me", content]],
  ["a tag that is no UTF-8", "bad_tag", [Buffer.from("data:test_radio:1::\xff", "latin1"), content]],
  ["an empty tag", "bad_tag", ["", content]],
  ["an unknown type", "unknown_type", ["task:test_radio:1::me", content]],
  [
    "a result that is an error, too",
    "two_outcomes",
    ["result:test_radio:1:2:me", Buffer.from("82a6726573756c74c40131a56572726f72c40132", "hex")],
  ],
];

/** Contents that cannot be decoded: routed by their tag, and counted. */
const opaque: readonly [what: string, fault: string, content: Buffer][] = [
  ["no bytes", "unreadable_content", Buffer.alloc(0)],
  ["an array", "unreadable_content", Buffer.from("9301a0c0", "hex")],
  ["a map of 2^32 - 1", "unreadable_content", Buffer.from("dfffffffff", "hex")],
  ["a bin of 2^32 - 1", "unreadable_content", Buffer.from("81a464617461c6ffffffff", "hex")],
  [
    "arrays a million deep",
    "unreadable_content",
    Buffer.concat([Buffer.of(0x81), Buffer.alloc(900_000, 0x91)]),
  ],
  ["no keys", "bad_content", Buffer.from("80", "hex")],
  ["keys of the wrong kind", "bad_content", Buffer.from("8201020304", "hex")],
  ["fields of the wrong kind", "bad_content", Buffer.from("82a269640aa4737065639101", "hex")],
];

describe("the monique door and bad input", patience, () => {
  let yard: MoniqueYard;
  let pusher: Pusher;
  let all: Listener;
  const sockets: Socket[] = [];

  before(async () => {
    const sockets = {
      ...realMoniqueSockets,
      pull: (options: Parameters<typeof realMoniqueSockets.pull>[0]) =>
        realMoniqueSockets.pull({ ...options, limits: { ...options.limits, handshakeMs: 200 } }),
    };
    yard = await new MoniqueYard({ config: { controllers: { test_echo: 0 } }, sockets }).open();
    pusher = await yard.pusher();
    all = await yard.listener();
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    await yard.close();
  });

  /** The door still answers a question. */
  async function isServing(): Promise<void> {
    const { id } = pusher.say();
    const [client, worker] = [await yard.pusher("serving"), await yard.worker("test_echo")];
    const given = await worker.next();
    assert.equal(given.id, id);
    client.answer(given, "served");
    // Messages of an earlier test may arrive first.
    await until(() => all.heard.some((heard) => heard.id === id) || undefined);
    await until(() => all.heard.some((heard) => heard.pid === id && heard.data === "served") || undefined);
    all.heard.length = 0;
    await Promise.all([client.push.close(), worker.close()]);
  }

  for (const [what, fault, frames] of dropped) {
    test(`${what} is dropped and counted`, async () => {
      const count = yard.door.faults.count(fault);
      pusher.raw(...frames);
      await yard.faulted(fault, count + 1);
      assert.equal(yard.door.faults.count(fault), count + 1);
      assert.deepEqual(all.heard, []);
      await isServing();
    });
  }

  for (const [what, fault, bytes] of opaque) {
    test(`a content of ${what} is routed by its tag`, async () => {
      const count = yard.door.faults.count(fault);
      pusher.raw(tag, bytes);
      const { frames } = await all.next();
      assert.deepEqual(frames[1], bytes);
      assert.equal(yard.door.faults.count(fault), count + 1);
    });
  }

  for (const port of ["in", "out", "techIn", "techOut", "controllers.test_echo"]) {
    test(`bytes that are not ZeroMQ, and a socket of the wrong type, to ${port}`, async () => {
      for (const [bytes, fault] of [
        [Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n".padEnd(80)), "not_zmtp"],
        [Buffer.concat([greeting, ready("ROUTER")]), "wrong_socket_type"],
      ] as const) {
        const count = yard.door.faults.count(fault);
        const [host, number] = (yard.addresses[port] ?? "").split(":");
        const socket = connect(Number(number), host);
        sockets.push(socket.on("error", () => {}));
        socket.resume();
        socket.write(bytes);
        await once(socket, "close");
        assert.equal(yard.door.faults.count(fault), count + 1);
      }
      await isServing();
    });
  }

  test("any frames, on both channels", async () => {
    const word = fc.constantFrom(
      "config",
      "result",
      "error",
      "data",
      "test_echo",
      "kill",
      "monitoring",
      "id1",
      "",
    );
    const anyTag = fc
      .array(fc.oneof(word, fc.string({ maxLength: 5 })), { maxLength: 6 })
      .map((all) => all.join(":"));
    const bytes = fc.uint8Array({ maxLength: 40 }).map((each) => Buffer.from(each));
    const frames = fc.tuple(fc.oneof(anyTag, bytes), fc.oneof(bytes, fc.constant(content)));
    const tech = await yard.pusher("fuzz", "techIn");
    for (const given of fc.sample(frames, { numRuns: 2_000, seed: 5 })) {
      pusher.raw(...given);
      tech.raw(...given);
    }
    pusher.raw(tag, "the end");
    await until(() => all.heard.some(({ data }) => data === "the end") || undefined);
    assert.ok(yard.runtime.isRunning);
    // Some of these questions wait for a worker.
    const worker = await yard.worker("test_echo");
    await until(async () => {
      for (const given of worker.heard.splice(0)) pusher.answer(given, "1");
      const [queue] = await yard.port.reads.queues();
      return (queue?.waiting ?? 0) + (queue?.running ?? 0) === 0 || undefined;
    });
    await worker.close();
    await isServing();
  });
});

/** Memory of buffers that are in use. What is only garbage depends on when the collector ran. */
function liveBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().arrayBuffers;
}

describe("the monique door and slow peers", patience, () => {
  test("a subscriber that never reads is bounded, and the others do not wait for it", async () => {
    // Room for ten messages: the system may not have confirmed the previous send when the next
    // message is published.
    const limits = { sendBytesMax: 1_000_000 };
    const yard = await new MoniqueYard({
      sockets: {
        ...realMoniqueSockets,
        pub: (options) => realMoniqueSockets.pub({ ...options, limits: { ...options.limits, ...limits } }),
      },
    }).open();
    const listener = await yard.listener("data:test_radio");
    const asleep = new Sub({ onPeer: (peer) => asleep.pause(peer) });
    asleep.subscribe("");
    asleep.connect(`tcp://${yard.addresses.out}`);
    const pusher = await yard.pusher();
    const before = liveBytes();
    // Far more than all buffers on the way can hold.
    const messages = 600;
    const data = "x".repeat(100_000);
    for (let number = 0; number < messages; number += 1) {
      pusher.say({ type: "data", spec: "test_radio", data });
      await listener.next();
    }
    // The collector frees the memory of buffers on another thread, a little later.
    await until(async () => liveBytes() - before < 10_000_000 || undefined);
    await asleep.close({ lingerMs: 0 });
    await yard.close();
  });

  test("a worker that pulls and never answers does not block the other workers", async () => {
    const yard = await new MoniqueYard({
      config: { controllers: { test_echo: 0 } },
      queues: { test_echo: { attemptTimeoutMs: 50 } },
    }).open();
    const silent = await yard.worker("test_echo");
    const pusher = await yard.pusher();
    const results = await yard.listener("result");
    pusher.say({ data: "0" });
    await silent.next();
    const worker = await yard.worker("test_echo");
    for (let number = 0; number < 5; number += 1) {
      const given = await worker.next();
      pusher.answer(given, given.data);
      assert.equal((await results.next()).data, String(number));
      pusher.say({ data: String(number + 1) });
    }
    assert.deepEqual(silent.heard, []);
    await yard.close();
  });

  test("a content of 100 MB goes through, and one over the limit ends its connection alone", async () => {
    const yard = await new MoniqueYard({ payloadBytesMax: 110_000_000 }).open();
    const listener = await yard.listener("data:test_radio");
    const pusher = await yard.pusher();
    const other = await yard.pusher();
    const big = Buffer.alloc(100_000_000, 1);
    pusher.raw(tag, big);
    assert.ok((await listener.next()).frames[1]?.equals(big));
    pusher.raw(tag, Buffer.alloc(111_000_000));
    await yard.faulted("frame_too_large");
    other.say({ type: "data", spec: "test_radio", data: "still there" });
    assert.equal((await listener.next()).data, "still there");
    await yard.close();
  });
});
