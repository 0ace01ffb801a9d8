// A whole CURVE connection under attack. Bytes that are cut, changed, left out, repeated or swapped
// never bring a message that was not sent, another order, or an exception.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import fc from "fast-check";
import { encodeCommand } from "../commands.js";
import { Connection, type ConnectionSettings } from "../connection.js";
import { COMMAND, encodeFrame, FrameDecoder } from "../frames.js";
import { defaultLimits } from "../limits.js";
import { Outbox } from "../outbox.js";
import { CurveWorld } from "../test-kit/curve-pair.js";
import { greeting } from "../test-kit/raw-peer.js";
import { CurveClient } from "./curve-client.js";
import { CurveServer } from "./curve-server.js";

const sizes = { frameBytesMax: 4096, messageBytesMax: 8192, messageFramesMax: 16, commandBytesMax: 1000 };
const limits = { ...defaultLimits, ...sizes };
const sentMessages = [["one"], ["two", "", "x".repeat(300)], ["three"], ["y".repeat(4000)], ["last"]];
let world: CurveWorld;

function connectionOf(end: "server" | "client", from: CurveWorld): Connection {
  const isServer = end === "server";
  const settings: ConnectionSettings = {
    socketType: isServer ? "ROUTER" : "DEALER",
    identity: Buffer.alloc(0),
    isBound: isServer,
    limits,
    security: {
      name: "CURVE",
      isServer,
      open: (context) =>
        isServer ? new CurveServer(from.serverKeys, context) : new CurveClient(from.clientKeys, context),
    },
  };
  return new Connection(settings);
}

/** A connection up to its READY, and the client's bytes after that: one piece for each frame. */
function session(more?: string[]) {
  const [client, server] = [connectionOf("client", world), connectionOf("server", world)];
  for (let isReady = false; !isReady; ) {
    for (const bytes of client.takeOutput()) server.feed(bytes);
    server.next();
    for (const bytes of server.takeOutput()) client.feed(Buffer.from(bytes));
    isReady = client.next() === "ready";
  }
  const outbox = new Outbox();
  outbox.seal = client.seal;
  for (const message of more ? [...sentMessages, more] : sentMessages)
    outbox.putMessage(message.map((frame) => Buffer.from(frame)));
  const decoder = new FrameDecoder({ ...limits, frameBytesMax: 1e6, messageBytesMax: 1e6 });
  decoder.acceptsMessages = true;
  decoder.feed(Buffer.concat(outbox.take()));
  const frames: Buffer[] = [];
  while (decoder.next() === "frame") frames.push(encodeFrame(0, decoder.body));
  return { client, server, frames };
}

/** The messages that arrive from these bytes, and the fault that ends them. */
function arriving(server: Connection, chunks: Buffer[]): { got: string[][]; fault: string | undefined } {
  const got: string[][] = [];
  for (const chunk of chunks) {
    server.feed(Buffer.from(chunk));
    for (let event = server.next(); event !== "need-more"; event = server.next()) {
      if (event === "message") got.push(server.frames.map(String));
      if (event === "fault") return { got, fault: server.fault };
    }
  }
  return { got, fault: undefined };
}

function cut(bytes: Buffer, cuts: number[]): Buffer[] {
  const places = [...new Set(cuts.map((cutAt) => cutAt % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length));
}

const anyCuts = fc.array(fc.nat(), { maxLength: 12 });

before(async () => {
  world = await CurveWorld.create();
});

test("cut anyhow, the same messages arrive", () => {
  fc.assert(
    fc.property(anyCuts, (cuts) => {
      const { server, frames } = session();
      assert.deepEqual(arriving(server, cut(Buffer.concat(frames), cuts)), {
        got: sentMessages,
        fault: undefined,
      });
    }),
    { numRuns: 40 },
  );
});

test("a changed byte: what arrived before it was sent, and nothing comes after it", () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 255 }), anyCuts, (place, change, cuts) => {
      const { server, frames } = session();
      const bytes = Buffer.concat(frames);
      bytes[place % bytes.length] = (bytes[place % bytes.length] as number) ^ change;
      const { got } = arriving(server, cut(bytes, cuts));
      assert.deepEqual(got, sentMessages.slice(0, got.length));
      // The flags of an outer frame are not authenticated; everything else is.
      if (got.length === sentMessages.length) assert.ok(isFlag(frames, place % bytes.length));
    }),
    { numRuns: 150 },
  );
});

function isFlag(frames: readonly Buffer[], place: number): boolean {
  let at = 0;
  return frames.some((frame) => {
    at += frame.length;
    return at - frame.length === place;
  });
}

test("frames left out, repeated, swapped or made up: never another message, never another order", () => {
  const anyOrder = fc.array(fc.nat({ max: 9 }), { maxLength: 14 });
  fc.assert(
    fc.property(anyOrder, fc.option(fc.uint8Array({ maxLength: 80 })), (order, madeUp) => {
      const { server, frames } = session();
      const chosen = order.map((index) => frames[index % frames.length] as Buffer);
      if (madeUp !== null) chosen.splice(order.length >> 1, 0, encodeFrame(COMMAND, Buffer.from(madeUp)));
      const { got, fault } = arriving(server, chosen);
      const flat = got.flat();
      // Frames may be missing (an attacker can cut a connection), but those that came are in order.
      let from = 0;
      for (const frame of flat) {
        from = sentMessages.flat().indexOf(frame, from) + 1;
        assert.ok(from > 0);
      }
      const isRising = order.every(
        (index, at) => at === 0 || index % frames.length > (order[at - 1] as number) % frames.length,
      );
      if (!isRising || madeUp !== null) assert.match(fault as string, /bad_nonce|bad_seal|bad_command/);
    }),
    { numRuns: 150 },
  );
});

test("any bytes in place of a handshake are a fault or need more", () => {
  const anyBytes = fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes));
  const anyName = fc.constantFrom("HELLO", "WELCOME", "INITIATE", "READY", "ERROR", "MESSAGE", "PING");
  const commands = fc.array(fc.tuple(anyName, anyBytes), { maxLength: 5 });
  fc.assert(
    fc.property(commands, fc.constantFrom<"server" | "client">("server", "client"), (list, end) => {
      const bytes = list.map(([name, data]) =>
        encodeFrame(COMMAND, Buffer.concat([Buffer.of(name.length), Buffer.from(name), data])),
      );
      const connection = connectionOf(end, world);
      const { got } = arriving(connection, [greeting(1, "CURVE"), ...bytes]);
      assert.deepEqual(got, []);
      assert.notEqual(connection.state, "traffic");
      connection.wipe();
    }),
    { numRuns: 150 },
  );
});

test("a greeting that names another mechanism, or a message in the clear, is refused", () => {
  for (const mechanism of ["NULL", "PLAIN", "", "CURVE2", "curve"]) {
    const server = connectionOf("server", world);
    assert.equal(arriving(server, [greeting(1, mechanism)]).fault, "unknown_mechanism", mechanism);
  }
  const { server } = session();
  assert.equal(arriving(server, [encodeFrame(0, Buffer.from("in the clear"))]).fault, "bad_seal");
});

test("metadata beyond the limit of a command is refused at its header", () => {
  const server = connectionOf("server", world);
  const head = Buffer.from([COMMAND | 2, 0, 0, 0, 0, 0, 1, 0, 0]);
  assert.equal(arriving(server, [greeting(1, "CURVE"), head]).fault, "command_too_large");
});

test("limits are those of the frames inside: what fits just fits, and a byte more is a fault", () => {
  const trial = (...sizes: number[]) => {
    const { server, frames } = session(sizes.map((size) => "z".repeat(size)));
    const { got, fault } = arriving(server, frames);
    return fault ?? got.at(-1)?.map((frame) => frame.length);
  };
  assert.deepEqual(trial(4096), [4096]);
  assert.equal(trial(4097), "frame_too_large");
  assert.deepEqual(trial(4096, 4096), [4096, 4096]);
  assert.equal(trial(4096, 4096, 1), "message_too_large");
  assert.deepEqual(trial(...Array<number>(16).fill(1)), Array(16).fill(1));
  assert.equal(trial(...Array<number>(17).fill(1)), "too_many_frames");
});

test("a sealed command has the limit of a command, not that of a frame", () => {
  const trial = (bytes: number) => {
    const { client, server } = session();
    const outbox = new Outbox();
    outbox.seal = client.seal;
    outbox.putCommand(encodeCommand("OTHER", Buffer.alloc(bytes - 6)));
    server.feed(Buffer.concat(outbox.take()));
    return [server.next(), server.fault];
  };
  assert.deepEqual(trial(1_000), ["mistake", "unknown_command"]);
  assert.deepEqual(trial(1_001), ["fault", "command_too_large"]);
});
