// Any bytes, however they are split, give a message, a request for more, or a fault. Each end reads
// back what the other wrote.

import assert from "node:assert/strict";
import { test } from "node:test";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import {
  readControl,
  readPulse,
  readPulseResponse,
  readWorkerResponse,
  writeControl,
  writePulse,
  writePulseResponse,
  writeWorkerResponse,
} from "./codec.js";
import { extraSizeOf, MessageFramer, noExtra } from "./framer.js";
import type { Numbering, Reading, WithExtra } from "./messages.js";

const many = { numRuns: 2_000 };
const numbering = fc.constantFrom<Numbering>("document", "main");
const id = fc.oneof(fc.bigInt(0n, 300n), fc.bigInt(0n, 2n ** 64n - 1n));
/** Numbers that mean nothing in either numbering. */
const unknown = fc.oneof(fc.integer({ min: 6, max: 2 ** 31 - 1 }), fc.integer({ min: -(2 ** 31), max: -1 }));
const limits = { messageBytesMax: 200, extraBytesMax: 200 };

// Mostly small tags and lengths, so that fuzzed bytes get past the prefix and into the fields.
const body = fc.array(fc.oneof(fc.constantFrom(8, 16, 24, 32, 1, 0, 0x2a, 2), fc.nat(255)), {
  maxLength: 40,
});
const framed = fc.tuple(body, fc.integer({ min: -2, max: 2 })).map(([bytes, off]) => {
  const prefix = Buffer.alloc(8);
  prefix.writeUInt32LE(Math.max(0, bytes.length + off));
  return Buffer.concat([prefix, Buffer.from(bytes)]);
});
const anything = fc.oneof(
  framed,
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
);

const framers: ((numbering: Numbering) => MessageFramer<unknown>)[] = [
  (form) => new MessageFramer<unknown>((bytes) => readPulse(bytes, () => form), noExtra, limits),
  (form) => new MessageFramer<unknown>((bytes) => readPulseResponse(bytes, form), noExtra, limits),
  (form) =>
    new MessageFramer((bytes) => readControl(bytes, form), extraSizeOf, limits) as MessageFramer<unknown>,
  (form) =>
    new MessageFramer(
      (bytes) => readWorkerResponse(bytes, form),
      extraSizeOf,
      limits,
    ) as MessageFramer<unknown>,
];

test("any bytes are a message, a wish for more, or a fault, the same however they are cut", () => {
  fc.assert(
    fc.property(anything, numbering, fc.array(fc.nat(70), { maxLength: 4 }), (bytes, form, cuts) => {
      for (const framer of framers) {
        const whole = framer(form).push(bytes);
        if (whole?.ok === false)
          assert.match(whole.fault, /^(message_too_large|extra_too_large|bad_message)$/);
        assert.deepEqual(pushed(framer(form), bytes, cuts), whole);
      }
    }),
    many,
  );
});

function pushed(
  framer: MessageFramer<unknown>,
  bytes: Buffer,
  cuts: readonly number[],
): Reading<WithExtra<unknown>> | undefined {
  let reading: Reading<WithExtra<unknown>> | undefined;
  let start = 0;
  for (const cut of [...cuts.filter((at) => at < bytes.length), bytes.length].sort((a, b) => a - b)) {
    reading ??= framer.push(bytes.subarray(start, cut));
    start = cut;
  }
  return reading;
}

test("every message arrives unchanged, in both numberings", () => {
  const pulseType = fc.oneof(fc.constantFrom("REGISTER", "OK", "FETCH_ME", "SHUTDOWN"), unknown);
  const controllerError = fc.oneof(fc.constantFrom("OK", "UNKNOWN_TYPE", "UNKNOWN_ID", "FAILED"), unknown);
  const controlType = fc.oneof(fc.constantFrom("RESTART", "FETCH", "SET_TASK", "GET_STATUS"), unknown);
  const workerError = fc.oneof(fc.constantFrom("OK", "NO_FETCH", "BUSY", "TASK_FAILED", "FAILED"), unknown);
  const given = fc.record({
    pulse: fc.record({ type: pulseType, workerId: id, taskId: id, nextPulse: id }),
    pulseResponse: fc.record({ error: controllerError, workerId: id }, { requiredKeys: ["error"] }),
    control: fc.record(
      { type: controlType, extraSize: id, taskId: id },
      { requiredKeys: ["type", "extraSize"] },
    ),
    response: fc.record({ error: workerError, taskId: id, extraSize: id }),
  });
  fc.assert(
    fc.property(given, numbering, ({ pulse, pulseResponse, control, response }, form) => {
      const arrived = (message: unknown) => ({ ok: true, message });
      const unframed = (bytes: Buffer) => bytes.subarray(8);
      assert.deepEqual(
        readPulse(unframed(writePulse(pulse as never, form)), () => form),
        arrived({ ...pulse, numbering: form }),
      );
      const answer = writePulseResponse(pulseResponse as never, form);
      assert.deepEqual(readPulseResponse(unframed(answer), form), arrived({ ...pulseResponse }));
      assert.deepEqual(
        readControl(unframed(writeControl(control as never, form)), form),
        arrived({ ...control }),
      );
      const worker = writeWorkerResponse(response as never, form);
      assert.deepEqual(readWorkerResponse(unframed(worker), form), arrived({ ...response }));
    }),
    many,
  );
});

test("it is protobuf as others write it", () => {
  const nonzero = fc.oneof(
    fc.bigInt(1n, 2n ** 64n - 1n),
    fc.bigInt(0n, 63n).map((bits) => 1n << bits),
  );
  fc.assert(
    fc.property(unknown, nonzero, nonzero, (error, taskId, extraSize) => {
      const writer = new BinaryWriter().tag(1, WireType.Varint).int32(error);
      const bytes = writer
        .tag(2, WireType.Varint)
        .uint64(taskId)
        .tag(3, WireType.Varint)
        .uint64(extraSize)
        .finish();
      const written = writeWorkerResponse({ error, taskId, extraSize }, "document");
      assert.deepEqual(written.subarray(8), Buffer.from(bytes));
      assert.equal(written.readBigUInt64LE(0), BigInt(bytes.length));
      const message = { error, taskId, extraSize };
      assert.deepEqual(readWorkerResponse(bytes, "document"), { ok: true, message });
    }),
    many,
  );
});
