// Any frames give a message or a fault, never an exception; and what one end writes the other reads as it was meant.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { packFrames } from "../scaler/packed-frames.js";
import {
  canBeGiven,
  readFromBroker,
  readFromBrokerToClient,
  readFromClient,
  readFromWorker,
  usualContent,
  writeFromClient,
  writeFromWorker,
  writeToClient,
  writeToWorker,
} from "./codec.js";
import type { BrokerMessage, PingpongForm, WorkerMessage } from "./messages.js";

const words = ["", "READY", "PING", "PONG", "DISCONNECT", "JOB COMPLETE", "ERROR"];
// Mostly the dialect's own words, so that the fuzz gets past the first check.
const frame = fc.oneof(
  fc.constantFrom(...words).map((word) => Buffer.from(word)),
  fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
);
const frames = fc.array(frame, { maxLength: 24 });
const parts = fc.array(frame, { minLength: 1, maxLength: 6 });
const client = fc.option(frame, { nil: undefined });
const correlation = fc.array(
  frame.filter(({ length }) => length > 0),
  { maxLength: 4 },
);
const many = { numRuns: 2_000 };

test("any frames are a message or a fault, to every reader", () => {
  const readers = [
    readFromWorker,
    readFromBroker,
    (given: Buffer[]) => readFromBroker(given, "program"),
    readFromClient,
    readFromBrokerToClient,
  ];
  fc.assert(
    fc.property(frames, (given) => {
      for (const read of readers) {
        const reading = read(given);
        if (reading.ok) assert.ok(!("parts" in reading.message) || reading.message.parts.length > 0);
        else assert.match(reading.fault, /^(no_delimiter|no_content|correlation_too_large)$/);
      }
    }),
    many,
  );
});

test("what is read without its frames is what the frames say, and only ever content", () => {
  const long = fc.uint8Array({ minLength: 11, maxLength: 255 }).map((bytes) => Buffer.from(bytes));
  const mostlyUsual = fc.oneof(
    long.map((content) => [Buffer.alloc(0), content]),
    fc.array(fc.oneof(frame, long), { minLength: 1, maxLength: 5 }),
  );
  let usual = 0;
  fc.assert(
    fc.property(mostlyUsual, fc.nat(9), (given, before) => {
      const packed = packFrames(given) as Buffer;
      const bytes = Buffer.concat([Buffer.alloc(before, 1), packed, Buffer.alloc(3)]);
      const to = before + packed.length;
      const at = usualContent(bytes, before, to);
      if (at < 0) return;
      usual += 1;
      const content = bytes.subarray(at, to);
      assert.deepEqual(readFromWorker(given), { ok: true, message: { type: "result", parts: [content] } });
      assert.deepEqual(readFromClient(given), { ok: true, message: { correlation: [], parts: [content] } });
      assert.ok(canBeGiven([content]));
    }),
    many,
  );
  assert.ok(usual > many.numRuns / 4, `${usual} of ${many.numRuns}`);
});

test("what is read from a worker is written as it came, and reads the same", () => {
  fc.assert(
    fc.property(frames, (given) => {
      const reading = readFromWorker([Buffer.alloc(0), ...given]);
      if (reading.ok) assert.deepEqual(readFromWorker(writeFromWorker(reading.message)), reading);
    }),
    many,
  );
});

test("every result arrives as it was meant, whatever words it is made of", () => {
  fc.assert(
    fc.property(parts, client, (result, to) => {
      const message: WorkerMessage = { type: "result", parts: result, ...(to && { client: to }) };
      const reading = readFromWorker(writeFromWorker(message));
      assert.ok(reading.ok && reading.message.type === "result");
      assert.deepEqual(reading.message.parts, result);
      if (to) assert.deepEqual(reading.message.client, to);
    }),
    many,
  );
});

test("every job that can be given arrives as it was meant, in both forms", () => {
  fc.assert(
    fc.property(parts.filter(canBeGiven), client, (job, from) => {
      const form: PingpongForm = from === undefined ? "document" : "program";
      const message: BrokerMessage = { type: "job", parts: job, ...(from && { client: from }) };
      assert.deepEqual(readFromBroker(writeToWorker(message), form), { ok: true, message });
    }),
    many,
  );
});

test("every request and every answer arrives as it was meant", () => {
  fc.assert(
    fc.property(correlation, parts, (names, job) => {
      const request = { correlation: names, parts: job };
      assert.deepEqual(readFromClient(writeFromClient(request)), { ok: true, message: request });
      // Three frames of which the first is ERROR are an error, whoever says so [pingpong 4.4].
      if (job.length === 3 && String(job[0]) === "ERROR") return;
      const answer = { type: "result", correlation: names, parts: job } as const;
      assert.deepEqual(readFromBrokerToClient(writeToClient(answer)), { ok: true, message: answer });
    }),
    many,
  );
});
