// Frames: every vector is read whole, byte by byte and with trailing bytes; limits are judged by
// the header alone.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { COMMAND, encodeFrame, FrameDecoder, MORE } from "./frames.js";
import { defaultLimits } from "./limits.js";

interface Read {
  flags: number;
  body: Buffer;
}

function decoder(limits: Partial<typeof defaultLimits> = {}): FrameDecoder {
  const made = new FrameDecoder({ ...defaultLimits, ...limits });
  made.acceptsMessages = true;
  return made;
}

function readAll(chunks: Buffer[], by = decoder()): { frames: Read[]; end: string } {
  const frames: Read[] = [];
  let end = "need-more";
  for (const chunk of chunks) {
    by.feed(chunk);
    for (end = by.next(); end === "frame"; end = by.next()) {
      frames.push({
        flags: (by.isMore ? MORE : 0) | (by.isCommand ? COMMAND : 0),
        body: Buffer.from(by.body),
      });
    }
  }
  return { frames, end };
}

const vectors: Array<{ name: string; hex: string; frames: Read[] }> = [
  { name: "an empty frame", hex: "0000", frames: [{ flags: 0, body: Buffer.alloc(0) }] },
  {
    name: '["HE", ""]',
    hex: "0102484500 00".replace(" ", ""),
    frames: [
      { flags: MORE, body: Buffer.from("HE") },
      { flags: 0, body: Buffer.alloc(0) },
    ],
  },
  { name: "a subscription of 3.0", hex: "000101", frames: [{ flags: 0, body: Buffer.of(1) }] },
  {
    name: "PING",
    hex: "04070450494e470000",
    frames: [{ flags: COMMAND, body: Buffer.from("\x04PING\0\0") }],
  },
  {
    name: "a long frame",
    hex: `020000000000000100${"61".repeat(256)}`,
    frames: [{ flags: 0, body: Buffer.alloc(256, "a") }],
  },
  // Allowed, if wasteful: the long form for a short body.
  {
    name: "a short body in the long form",
    hex: "02000000000000000162",
    frames: [{ flags: 0, body: Buffer.from("b") }],
  },
];

for (const { name, hex, frames } of vectors) {
  const bytes = Buffer.from(hex, "hex");
  test(`${name}: whole, byte by byte, with trailing bytes`, () => {
    assert.deepEqual(readAll([bytes]), { frames, end: "need-more" });
    assert.deepEqual(readAll([...bytes].map((byte) => Buffer.of(byte))), { frames, end: "need-more" });
    const trailed = readAll([Buffer.concat([bytes, Buffer.from("0001", "hex")])]);
    assert.deepEqual(trailed.frames, frames);
    assert.equal(trailed.end, "need-more");
  });
}

test("bodies of every size around the edges come back as they were", () => {
  for (const size of [0, 1, 254, 255, 256, 65_535, 65_536, 1024 * 1024, 1024 * 1024 + 1, 5_000_000]) {
    const body = Buffer.alloc(size, size % 251);
    const bytes = encodeFrame(0, body);
    const chunks: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += 65_536) chunks.push(bytes.subarray(at, at + 65_536));
    const { frames } = readAll(chunks);
    assert.equal(frames.length, 1);
    assert.ok(frames[0]?.body.equals(body), `size ${size}`);
  }
});

test("a large body may be filled in place", () => {
  const body = Buffer.alloc(3_000_000, 7);
  const bytes = encodeFrame(0, body);
  const by = decoder();
  by.feed(bytes.subarray(0, 100));
  let at = 100;
  while (by.next() === "need-more") {
    const target = by.target();
    const taken = Math.min(target?.length ?? 0, 50_000, bytes.length - at);
    if (target === undefined || taken === 0) by.feed(bytes.subarray(at));
    else {
      bytes.copy(target, 0, at, at + taken);
      by.filled(taken);
      at += taken;
    }
  }
  assert.ok(by.body.equals(body));
  assert.equal(by.reservedBytes, 0);
});

test("a body has no place to fill while bytes before that place are unread", () => {
  const body = Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 251));
  const bytes = encodeFrame(0, body);
  const by = decoder();
  by.feed(bytes.subarray(0, 100));
  assert.equal(by.next(), "need-more");
  by.feed(bytes.subarray(100, 200));
  assert.equal(by.target(), undefined);
  assert.equal(by.next(), "need-more");
  const target = by.target();
  assert.ok(target !== undefined);
  bytes.copy(target, 0, 200);
  by.filled(bytes.length - 200);
  assert.equal(by.next(), "frame");
  assert.ok(by.body.equals(body));
});

/** One read of a socket, and when its bytes are decoded. A busy socket decodes them later. */
const reads = fc.record({
  bytes: fc.integer({ min: 1, max: 70_000 }),
  decode: fc.constantFrom("at once", "after the next place was given out", "with a later read"),
});

test("bodies arrive whole whenever the bytes are decoded", () => {
  const size = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 400_000 }));
  const runs = fc.property(
    fc.array(size, { minLength: 1, maxLength: 4 }),
    fc.infiniteStream(reads),
    (sizes, plan) => {
      const bodies = sizes.map((length, at) => Buffer.alloc(length, `${at}.body of ${length}`));
      const bytes = Buffer.concat(bodies.map((body) => encodeFrame(0, body)));
      const by = decoder();
      const found: Buffer[] = [];
      const decode = () => {
        while (by.next() === "frame") found.push(Buffer.from(by.body));
      };
      let target = by.target();
      for (let at = 0; at < bytes.length; ) {
        const { bytes: most, decode: when } = plan.next().value;
        const read = bytes.subarray(at, at + Math.min(most, target?.length ?? 65_536));
        if (target === undefined) by.feed(Buffer.from(read));
        else {
          read.copy(target);
          by.filled(read.length);
        }
        at += read.length;
        if (when === "at once") decode();
        // The system reads on into this place, even if the bytes before it are decoded meanwhile.
        target = by.target();
        if (when === "after the next place was given out") decode();
      }
      decode();
      assert.deepEqual(
        found.map((body, at) => body.equals(bodies[at] as Buffer)),
        bodies.map(() => true),
      );
    },
  );
  fc.assert(runs, { numRuns: 300 });
});

test("a small frame gives no place to fill", () => {
  const by = decoder();
  by.feed(Buffer.from("00ff61", "hex"));
  assert.equal(by.next(), "need-more");
  assert.equal(by.target(), undefined);
});

test("memory follows what arrived, not what was announced", () => {
  const by = decoder();
  by.feed(Buffer.from("02000000000fffffff61", "hex"));
  assert.equal(by.next(), "need-more");
  assert.ok(by.reservedBytes <= 1024 * 1024);
});

const refused: Array<[name: string, hex: string, fault: string]> = [
  ["a length of 2^63", "028000000000000000", "frame_too_large"],
  ["a length of 2^64 - 1", "02ffffffffffffffff", "frame_too_large"],
  ["a command of 2^63", "068000000000000000", "command_too_large"],
  ["a reserved flag", "0800", "bad_flags"],
  ["a reserved flag alone", "80", "bad_flags"],
  ["MORE on a command", "0501", "bad_flags"],
];

for (const [name, hex, fault] of refused) {
  test(`${name} is refused, whole or byte by byte, and for good`, () => {
    const bytes = Buffer.from(hex, "hex");
    const whole = decoder();
    assert.equal(readAll([bytes], whole).end, "fault");
    assert.equal(whole.fault, fault);
    whole.feed(Buffer.from("0000", "hex"));
    assert.equal(whole.next(), "fault");
    const slow = decoder();
    assert.equal(
      readAll(
        [...bytes].map((byte) => Buffer.of(byte)),
        slow,
      ).end,
      "fault",
    );
    assert.equal(slow.fault, fault);
  });
}

test("a message frame before its time is refused at its first byte", () => {
  const by = new FrameDecoder(defaultLimits);
  assert.equal(readAll([Buffer.of(0)], by).end, "fault");
  assert.equal(by.fault, "message_in_handshake");
});

test("what a message may still grow by is a limit of its own", () => {
  const by = decoder();
  by.messageBytesLeft = 3;
  assert.equal(readAll([encodeFrame(0, Buffer.alloc(3))], by).frames.length, 1);
  assert.equal(readAll([encodeFrame(0, Buffer.alloc(4))], by).end, "fault");
  assert.equal(by.fault, "message_too_large");
});
