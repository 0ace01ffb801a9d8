// Any frames give a message or a fault, never an exception. Every form reads back what it wrote.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { pack } from "msgpackr";
import { plainHeader, readMessage, writeMessage } from "./codec.js";
import { type MoniqueForm, type MoniqueMessage, messageTypes } from "./messages.js";
import { PackReader } from "./msgpack.js";

const many = { numRuns: 2_000 };
const forms: readonly MoniqueForm[] = ["d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"];
const name = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 60 })
  .map((text) => text.replaceAll(":", "-"));
const message: fc.Arbitrary<MoniqueMessage> = fc.record({
  type: fc.constantFrom(...messageTypes),
  spec: name,
  id: name,
  pid: fc.oneof(fc.constant(""), name),
  creator: name,
  createdAt: fc.maxSafeNat(),
  expiresAt: fc.maxSafeNat(),
  encoding: fc.string({ maxLength: 20 }),
  data: fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes)),
});
const faults = /^(frame_count|bad_tag|unknown_type|two_outcomes)$/;

test("a message that is written is read back unchanged", () => {
  fc.assert(
    fc.property(message, fc.constantFrom(...forms), (given, form) => {
      const frames = writeMessage(given, form);
      const reading = readMessage(frames);
      assert.ok(reading.ok && reading.content !== undefined);
      const { header, content } = reading;
      const { createdAt, expiresAt, encoding, dataStart, dataEnd } = content;
      const data = frames[1].subarray(dataStart, dataEnd);
      assert.deepEqual({ ...plainHeader(header), createdAt, expiresAt, encoding, data }, { ...given });
      assert.deepEqual([content.form, content.agrees], [form, true]);
    }),
    many,
  );
});

test("any frames are a message or a fault", () => {
  const bytes = fc.uint8Array({ maxLength: 60 }).map((each) => Buffer.from(each));
  // Mostly real messages with one mistake, so that fuzzed frames get past the first check.
  const broken = fc
    .tuple(message, fc.constantFrom(...forms), fc.nat(), fc.nat(255), fc.nat(1))
    .map(([given, form, at, byte, which]) => {
      const frames = writeMessage(given, form).map((frame) => Buffer.from(frame));
      const frame = frames[which] as Buffer;
      frame[at % frame.length] = byte;
      return frames;
    });
  fc.assert(
    fc.property(fc.oneof(fc.array(bytes, { maxLength: 4 }), broken), (frames) => {
      const reading = readMessage(frames);
      if (!reading.ok) assert.match(reading.fault, faults);
      else if (reading.content !== undefined) {
        const { dataStart, dataEnd } = reading.content;
        assert.ok(0 < dataStart && dataStart <= dataEnd && dataEnd <= (frames[1]?.length ?? 0));
      }
    }),
    many,
  );
});

test("any whole value can be skipped, and a value that is cut short cannot", () => {
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, true, false, 1.5, 2 ** 40, -1, -200, -70_000),
      fc.integer(),
      fc.string({ maxLength: 80 }),
      fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes)),
      fc.array(tie("any"), { maxLength: 20 }),
      fc.dictionary(fc.string({ maxLength: 5 }), tie("any"), { maxKeys: 20 }),
    ),
  })).any;
  fc.assert(
    fc.property(value, fc.nat(), (given, cut) => {
      const bytes = Buffer.from(pack(given));
      const whole = new PackReader(bytes);
      assert.ok(whole.skip() && whole.isAtEnd);
      assert.equal(new PackReader(bytes.subarray(0, cut % bytes.length)).skip(), false);
    }),
    many,
  );
});
