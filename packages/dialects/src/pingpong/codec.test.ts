// Every vector is read and written back to the same frames. More cases follow that the vectors do
// not cover.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
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
import type { Reading } from "./messages.js";

interface Vector {
  readonly name: string;
  readonly from: "worker" | "broker" | "client";
  /** In hexadecimal. */
  readonly frames: readonly string[];
}

const file = new URL("../../src/pingpong/vectors/pingpong.json", import.meta.url);
const vectors = JSON.parse(readFileSync(file, "utf8")) as Vector[];

const bytes = (...texts: string[]) => texts.map((text) => Buffer.from(text));
const body = (...texts: string[]) => bodyOfParts(bytes(...texts));
const view = (...texts: string[]) => WireFrames.of(bytes(...texts));

/** A reading with its bytes as text, its body as parts, and without absent fields. */
function told(reading: Reading<unknown>): unknown {
  return JSON.parse(
    JSON.stringify(reading.ok ? reading.message : reading, (_key, value) => {
      if (value?.mediaType !== undefined) return partsOf(value).map(String);
      return value?.type === "Buffer" ? Buffer.from(value.data).toString() : value;
    }),
  );
}

/** The meaning of each vector, by name. A vector without a meaning fails the test. */
const meanings: Readonly<Record<string, unknown>> = {
  ready: { type: "ready" },
  ping: { type: "ping" },
  pong: { type: "pong" },
  job: { type: "job", parts: ["job 1"] },
  result: { type: "result", result: ["result 1"] },
  "result, program form": { type: "result", result: ["result 1"], client: "client-1" },
  "job, program form": { type: "job", parts: ["job 1"], client: "client-1" },
  "request from DEALER or REQ": { correlation: [], payload: ["job 1"] },
  "request with correlation frames": { correlation: ["c1"], payload: ["job 1"] },
};

describe("the vectors of pingpong", () => {
  for (const { name, from, frames: hex } of vectors) {
    const frames = hex.map((frame) => Buffer.from(frame, "hex"));
    test(`${name}, from a ${from}`, () => {
      const form = name.includes("program form") ? "program" : "document";
      const packed = packFrames(frames) as Buffer;
      for (const view of [WireFrames.of(frames), new WireFrames().readPacked(packed, 0, packed.length)]) {
        const [reading, written] = throughCodec(from, frames, view, form);
        assert.deepEqual(told(reading), meanings[name]);
        assert.deepEqual(written, frames);
      }
    });
  }

  test("none is left out", () => {
    assert.deepEqual(vectors.map(({ name }) => name).sort(), Object.keys(meanings).sort());
  });
});

function throughCodec(
  from: Vector["from"],
  frames: Buffer[],
  view: WireFrames,
  form: "document" | "program",
): [Reading<unknown>, Buffer[]] {
  if (from === "worker") {
    const reading = readFromWorker(view);
    return [reading, reading.ok ? writeFromWorker(reading.message) : []];
  }
  if (from === "broker") {
    const reading = readFromBroker(frames, form);
    return [reading, reading.ok ? writeToWorker(reading.message) : []];
  }
  const reading = readFromClient(view);
  return [reading, reading.ok ? writeFromClient(reading.message) : []];
}

describe("the codec of pingpong", () => {
  test("words count in their case, alone, and whole", () => {
    for (const frames of [["ping"], ["PING", ""], ["PING "], ["READY", "x"], ["PONG"], ["DISCONNECT", "x"]]) {
      assert.deepEqual(told(readFromWorker(view("", ...frames))), { type: "result", result: frames });
    }
    assert.deepEqual(told(readFromWorker(view("", "DISCONNECT"))), {
      type: "disconnect",
      result: ["DISCONNECT"],
    });
    for (const frames of [["pong"], ["PONG", ""], ["PING"]]) {
      assert.deepEqual(told(readFromBroker(bytes("", ...frames))), { type: "job", parts: frames });
    }
  });

  test("JOB COMPLETE that is not in program form is a result like any other", () => {
    for (const parts of [
      ["JOB COMPLETE"],
      ["JOB COMPLETE", "c"],
      ["JOB COMPLETE", "c", ""],
      ["JOB COMPLETE", "c", "x", "y"],
      ["job complete", "c", "", "y"],
    ]) {
      assert.deepEqual(told(readFromWorker(view("", ...parts))), { type: "result", result: parts });
    }
    const several = readFromWorker(view("", "JOB COMPLETE", "", "", "a", "b"));
    assert.deepEqual(told(several), { type: "result", result: ["a", "b"], client: "" });
  });

  test("a result that would be taken for another word is sent in program form", () => {
    for (const result of [["PING"], ["READY"], ["DISCONNECT"], ["JOB COMPLETE", "x", "", "y"]]) {
      const frames = writeFromWorker({ type: "result", result: body(...result) });
      assert.deepEqual(frames, bytes("", "JOB COMPLETE", "", "", ...result));
      assert.deepEqual(told(readFromWorker(WireFrames.of(frames))), {
        type: "result",
        result: result,
        client: "",
      });
    }
  });

  test("a message without content has an empty frame", () => {
    const nothing = bytes("", "");
    assert.deepEqual(writeFromWorker({ type: "result", result: body() }), nothing);
    assert.deepEqual(writeToWorker({ type: "job", parts: [] }), nothing);
    assert.deepEqual(writeFromClient({ correlation: [], payload: body() }), nothing);
    assert.deepEqual(writeToClient({ type: "result", correlation: [], parts: [] }), nothing);
  });

  test("a job of several frames is kept as it is, in both forms", () => {
    const parts = bytes("a", "", "b");
    assert.deepEqual(writeToWorker({ type: "job", parts }), bytes("", "a", "", "b"));
    const program = writeToWorker({ type: "job", parts, client: Buffer.from("c") });
    assert.deepEqual(program, bytes("", "a", "", "b", "c", "", ""));
    assert.deepEqual(told(readFromBroker(program, "program")), {
      type: "job",
      parts: ["a", "", "b"],
      client: "c",
    });
  });

  test("only a job that is just PONG cannot be given", () => {
    assert.equal(canBeGiven(body("PONG")), false);
    for (const parts of [[], ["pong"], ["PONG", ""], ["PING"], [""]])
      assert.equal(canBeGiven(body(...parts)), true);
  });

  test("a message without a delimiter, or with nothing behind it, is a fault", () => {
    const noDelimiter = { ok: false, fault: "no_delimiter" };
    const noContent = { ok: false, fault: "no_content" };
    const readers = [
      (frames: Buffer[]) => readFromWorker(WireFrames.of(frames)),
      readFromBroker,
      (frames: Buffer[]) => readFromClient(WireFrames.of(frames)),
      readFromBrokerToClient,
    ];
    for (const read of readers) {
      assert.deepEqual(read([]), noDelimiter);
      assert.deepEqual(read(bytes("x")), noDelimiter);
      assert.deepEqual(read(bytes("")), noContent);
    }
    // A worker's delimiter comes first; a client may send its own frames before it.
    assert.deepEqual(readFromWorker(view("x", "", "y")), noDelimiter);
    assert.deepEqual(readFromBroker(bytes("x", "", "y")), noDelimiter);
    assert.deepEqual(readFromClient(view("x", "")), noContent);
  });

  test("correlation frames have a limit, in number and in bytes", () => {
    const fault = { ok: false, fault: "correlation_too_large" };
    const frames = (count: number, size: number) =>
      WireFrames.of([...Array.from({ length: count }, () => Buffer.alloc(size, "c")), ...bytes("", "job")]);
    assert.equal(readFromClient(frames(16, 256)).ok, true);
    assert.deepEqual(readFromClient(frames(17, 1)), fault);
    assert.deepEqual(readFromClient(frames(1, 4097)), fault);
  });

  test("an answer is an error only in its whole form", () => {
    const answer = { type: "error", correlation: bytes("c"), code: "poison", message: "Lost." } as const;
    const frames = writeToClient(answer);
    assert.deepEqual(frames, bytes("c", "", "ERROR", "poison", "Lost."));
    assert.deepEqual(readFromBrokerToClient(frames), { ok: true, message: answer });
    for (const parts of [["ERROR"], ["ERROR", "a"], ["ERROR", "a", "b", "c"], ["error", "a", "b"]]) {
      assert.deepEqual(told(readFromBrokerToClient(bytes("", ...parts))), {
        type: "result",
        correlation: [],
        parts,
      });
    }
  });
});
