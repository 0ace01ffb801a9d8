// Any bytes, however they are split, give events, a request for more, or a fault; never an
// exception, and always the same result.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Connection, type ConnectionSettings } from "./connection.js";
import { encodeFrame } from "./frames.js";
import { defaultLimits } from "./limits.js";
import { nullSecurity } from "./mechanisms/null.js";
import type { SocketType } from "./socket-types.js";
import { command, greeting, message, ready } from "./test-kit/raw-peer.js";

function settings(socketType: SocketType, readsPacked: boolean): ConnectionSettings {
  const limits = { ...defaultLimits, frameBytesMax: 4096, messageBytesMax: 8192, messageFramesMax: 16 };
  const identity = Buffer.alloc(0);
  return { socketType, identity, security: nullSecurity, isBound: true, limits, readsPacked };
}

/** The events as text, with the bytes they carry. */
function story(type: SocketType, chunks: Buffer[], readsPacked = false): string[] {
  const connection = new Connection(settings(type, readsPacked));
  const events: string[] = [];
  for (const chunk of chunks) {
    connection.feed(Buffer.from(chunk));
    for (let event = connection.next(); event !== "need-more"; event = connection.next()) {
      if (event === "message" || event === "packed") {
        const frames = event === "packed" ? connection.decoder.unpack() : connection.frames;
        events.push(`message ${frames.map((frame) => frame.toString("hex"))}`);
      } else if (event === "fault" || event === "mistake") events.push(`${event} ${connection.fault}`);
      else events.push(`${event} ${connection.body.toString("hex")}`);
      if (event === "fault") return events;
    }
    assert.ok(connection.heldBytes <= 8192 + 4096 + defaultLimits.commandBytesMax);
  }
  return events;
}

function cut(bytes: Buffer, cuts: number[]): Buffer[] {
  const places = [...new Set(cuts.map((cutAt) => cutAt % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length));
}

const anyBytes = fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes));
const anyType = fc.constantFrom<SocketType>("ROUTER", "PULL", "PUB", "SUB", "REP");
const partnerType: Record<string, string> = {
  ROUTER: "DEALER",
  PULL: "PUSH",
  PUB: "SUB",
  SUB: "PUB",
  REP: "REQ",
};

// Bytes that look right for a while, so that the fuzz gets past the first check.
const likely = fc
  .array(
    fc.oneof(
      anyBytes.map((bytes) => message(bytes)),
      fc.array(anyBytes, { minLength: 1, maxLength: 20 }).map((frames) => message(...frames)),
      fc
        .tuple(fc.constantFrom("PING", "PONG", "SUBSCRIBE", "CANCEL", "READY", "ERROR", "WHAT"), anyBytes)
        .map(([name, data]) => command(name, data)),
      fc.tuple(fc.integer({ min: 0, max: 255 }), anyBytes).map(([flags, body]) => encodeFrame(flags, body)),
      anyBytes,
    ),
    { maxLength: 12 },
  )
  .map((parts) => Buffer.concat(parts));

test("any bytes from the first on", () => {
  fc.assert(
    fc.property(anyType, anyBytes, fc.array(fc.nat(), { maxLength: 8 }), (type, bytes, cuts) => {
      assert.deepEqual(story(type, cut(bytes, cuts)), story(type, [bytes]));
    }),
    { numRuns: 2_000 },
  );
});

test("any bytes after a greeting", () => {
  fc.assert(
    fc.property(
      anyType,
      fc.oneof(anyBytes, likely),
      fc.array(fc.nat(), { maxLength: 8 }),
      (type, rest, cuts) => {
        const bytes = Buffer.concat([greeting(), rest]);
        assert.deepEqual(story(type, cut(bytes, cuts)), story(type, [bytes]));
      },
    ),
    { numRuns: 2_000 },
  );
});

test("any bytes in traffic", () => {
  fc.assert(
    fc.property(
      anyType,
      fc.oneof(anyBytes, likely),
      fc.array(fc.nat(), { maxLength: 8 }),
      (type, rest, cuts) => {
        const bytes = Buffer.concat([greeting(), ready(partnerType[type] as string), rest]);
        const whole = story(type, [bytes]);
        assert.equal(whole[0], "ready ");
        assert.deepEqual(story(type, cut(bytes, cuts)), whole);
        assert.deepEqual(story(type, cut(bytes, cuts), true), whole);
        assert.deepEqual(
          story(
            type,
            [...bytes].map((byte) => Buffer.of(byte)),
          ),
          whole,
        );
      },
    ),
    { numRuns: 2_000 },
  );
});
