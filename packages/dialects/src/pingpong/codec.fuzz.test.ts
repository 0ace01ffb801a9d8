// Any frames give a message or a fault, never an exception. Each end reads back what the other
// wrote.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { bodyOfParts, partsOf } from "../parts.js";
import { packFrames, WireFrames } from "../wire-frames.js";
import {
  canBeGiven,
  readFromBroker,
  readFromBrokerToClient,
  readFromClient,
  readFromWorker,
  writeFromClient,
  writeFromWorker,
  writeToClient,
  writeToWorker,
} from "./codec.js";
import type { BrokerMessage, PingpongForm, WorkerMessage } from "./messages.js";

const words = ["", "READY", "PING", "PONG", "DISCONNECT", "JOB COMPLETE", "ERROR"];
// Mostly words of the dialect, so that fuzzed frames get past the first check.
const frame = fc.oneof(
  fc.constantFrom(...words).map((word) => Buffer.from(word)),
  fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
);
const frames = fc.array(frame, { maxLength: 24 });
const parts = fc.array(frame, { minLength: 1, maxLength: 6 });
const givable = parts.filter((job) => canBeGiven(bodyOfParts(job)));
const client = fc.option(frame, { nil: undefined });
const correlation = fc.array(
  frame.filter(({ length }) => length > 0),
  { maxLength: 4 },
);
const many = { numRuns: 2_000 };

test("any frames are a message or a fault, to every reader", () => {
  const readers = [
    (given: Buffer[]) => readFromWorker(WireFrames.of(given)),
    readFromBroker,
    (given: Buffer[]) => readFromBroker(given, "program"),
    (given: Buffer[]) => readFromClient(WireFrames.of(given)),
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

test("a message that came packed reads as its frames do, and keeps none of the lent bytes", () => {
  const long = fc.uint8Array({ minLength: 11, maxLength: 255 }).map((bytes) => Buffer.from(bytes));
  const given = fc.oneof(
    long.map((content) => [Buffer.alloc(0), content]),
    fc.array(fc.oneof(frame, long), { minLength: 1, maxLength: 80 }),
  );
  fc.assert(
    fc.property(given, fc.nat(9), (list, before) => {
      const packed = packFrames(list) as Buffer;
      const bytes = Buffer.concat([Buffer.alloc(before, 1), packed, Buffer.alloc(3)]);
      for (const read of [readFromWorker, readFromClient]) {
        const lent = Buffer.from(bytes);
        const reading = read(new WireFrames().readPacked(lent, before, before + packed.length));
        lent.fill(0xee);
        assert.deepEqual(reading, read(WireFrames.of(list)));
      }
    }),
    many,
  );
});

test("a worker's message is written back unchanged, and reads the same", () => {
  fc.assert(
    fc.property(frames, (given) => {
      const reading = readFromWorker(WireFrames.of([Buffer.alloc(0), ...given]));
      if (!reading.ok) return;
      const written = WireFrames.of(writeFromWorker(reading.message));
      assert.deepEqual(readFromWorker(written), reading);
    }),
    many,
  );
});

test("every result arrives unchanged, also one made of the dialect's words", () => {
  fc.assert(
    fc.property(parts, client, (result, to) => {
      const message: WorkerMessage = {
        type: "result",
        result: bodyOfParts(result),
        ...(to && { client: to }),
      };
      const reading = readFromWorker(WireFrames.of(writeFromWorker(message)));
      assert.ok(reading.ok && reading.message.type === "result");
      assert.deepEqual(partsOf(reading.message.result), result);
      if (to) assert.deepEqual(reading.message.client, to);
    }),
    many,
  );
});

test("every job that can be sent arrives unchanged, in both forms", () => {
  fc.assert(
    fc.property(givable, client, (job, from) => {
      const form: PingpongForm = from === undefined ? "document" : "program";
      const message: BrokerMessage = { type: "job", parts: job, ...(from && { client: from }) };
      assert.deepEqual(readFromBroker(writeToWorker(message), form), { ok: true, message });
    }),
    many,
  );
});

test("every request and every answer arrives unchanged", () => {
  fc.assert(
    fc.property(correlation, parts, (names, job) => {
      const request = { correlation: names, payload: bodyOfParts(job) };
      const frames = WireFrames.of(writeFromClient(request));
      assert.deepEqual(readFromClient(frames), { ok: true, message: request });
      // Three frames that begin with ERROR are an error, even if a worker sends them [pingpong
      // 4.4].
      if (job.length === 3 && String(job[0]) === "ERROR") return;
      const answer = { type: "result", correlation: names, parts: job } as const;
      assert.deepEqual(readFromBrokerToClient(writeToClient(answer)), { ok: true, message: answer });
    }),
    many,
  );
});
