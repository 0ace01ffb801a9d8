import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type Change,
  onlyBy,
  type StoryEntry,
  type TaskHead,
  type TaskId,
  type TaskProgress,
} from "@yardmaster/core";
import fc from "fast-check";
import { plain } from "../conformance/owner.js";
import { bodyOf, headOf, progressOf, put, richTask } from "../conformance/samples.js";
import {
  BadRecord,
  checksumOf,
  commonMediaTypes,
  faultOf,
  RecordReader,
  RecordWriter,
  readChange,
  recordKinds,
  recordVersion,
  seal,
  sumHead,
  writeChange,
} from "./index.js";

// Any UTF-16, including lone surrogates: a key or an error's text is whatever a peer sent.
const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(fc.nat(0xffff)).map((codes) => String.fromCharCode(...codes)),
  fc.string({ minLength: 40, maxLength: 300 }),
);
const number = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.integer(), fc.double({ noNaN: true }));
/** If 0 means none, there is no other zero. */
const timeOrNone = number.map((value) => (value === 0 ? 0 : value));
const bytes = fc.uint8Array({ maxLength: 300 });
const body = fc
  .record({
    mediaType: fc.oneof(text, fc.constantFrom(...commonMediaTypes)),
    bytes: fc.option(bytes, { nil: undefined }),
    size: fc.nat(),
    envelope: fc.option(bytes, { nil: undefined }),
  })
  .map(({ mediaType, bytes, size, envelope }) => ({
    mediaType,
    ...(bytes === undefined ? { size } : { size: bytes.length, bytes }),
    ...(envelope !== undefined && { envelope }),
  }));
const state = fc.constantFrom("waiting", "running", "done", "failed", "cancelled", "expired");
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const record = (fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<unknown> => fc.record(fields);

const head = record({
  id: number,
  queue: text,
  priority: number,
  door: text,
  submittedAt: number,
  payload: body,
  policy: record({ attempts: number, failures: number, attemptTimeoutMs: number, waitingMsMax: number }),
  key: maybe(text),
  fingerprint: maybe(text),
  replyTo: maybe(record({ address: text, diesWithConnection: fc.boolean() })),
  envelope: maybe(bytes),
  notBefore: timeOrNone,
  expiresAt: timeOrNone,
  relations: maybe(
    record({
      after: fc.array(number),
      ifFailed: fc.constantFrom("cancel", "run"),
      group: maybe(text),
      schedule: maybe(text),
      retryOf: maybe(number),
      by: maybe(text),
    }),
  ),
});
const entry = record({ at: number, to: state, cause: text, attempt: maybe(number), worker: maybe(text) });
const progress = record({
  id: number,
  state,
  attempt: maybe(number),
  worker: maybe(text),
  startedAt: maybe(number),
  finishedAt: maybe(number),
  losses: number,
  failures: number,
  notBefore: timeOrNone,
  error: maybe(record({ code: text, message: text })),
  result: maybe(body),
  told: fc.boolean(),
  settled: number,
  recovering: fc.boolean(),
  story: maybe(fc.array(entry as fc.Arbitrary<StoryEntry>)),
});
const change = fc.oneof(
  head.map((value) => ({ kind: "head", head: value as TaskHead }) as Change),
  progress.map((value) => ({ kind: "progress", progress: value as TaskProgress }) as Change),
  record({ queue: text, key: text, task: number, fingerprint: maybe(text), finishedAt: number }).map(
    (key) => ({ kind: "key", key }) as Change,
  ),
  record({ name: text, paused: fc.boolean(), draining: fc.boolean() }).map(
    (queue) => ({ kind: "queue", queue }) as Change,
  ),
  record({ name: text, incarnation: number, mark: number }).map((door) => ({ kind: "door", door }) as Change),
  record({ door: text, name: text, bytes }).map((memo) => ({ kind: "memo", memo }) as Change),
  record({ kind: fc.constant("key-gone"), queue: text, key: text, task: number }) as fc.Arbitrary<Change>,
  record({ kind: fc.constant("queue-gone"), name: text }) as fc.Arbitrary<Change>,
  record({ kind: fc.constant("memo-gone"), door: text, name: text }) as fc.Arbitrary<Change>,
  record({ kind: fc.constant("history-trimmed"), through: number }) as fc.Arbitrary<Change>,
);

function written(...changes: Change[]): { bytes: Buffer; places: [number, number][] } {
  const writer = new RecordWriter({ size: 16 });
  const places = changes.map((each): [number, number] => [writeChange(writer, each), writer.at]);
  for (const [start, end] of places) seal(writer.bytes, start, end);
  return { bytes: writer.bytes, places };
}

describe("records", () => {
  test("every change comes back as it was, many to a buffer, read as views or as copies", () => {
    const readers = [new RecordReader(), new RecordReader({ copies: true })];
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 5 }), (changes) => {
        const { bytes, places } = written(...changes);
        for (const reader of readers) {
          const read = places.map(([start, end]) => {
            assert.equal(faultOf(bytes, start, end), undefined);
            return readChange(reader, bytes, start, end);
          });
          assert.deepEqual(plain(read), plain(changes));
        }
      }),
      { numRuns: 500 },
    );
  });

  test("a flipped bit anywhere is a fault, and so is a record cut short or of another kind", () => {
    const { head, progress } = richTask(7);
    for (const each of [put(head), put(progress as TaskProgress)]) {
      const { bytes, places } = written(each);
      const [[start, end]] = places as [[number, number]];
      for (let bit = start * 8; bit < end * 8; bit++) {
        bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
        assert.notEqual(faultOf(bytes, start, end), undefined, `bit ${bit}`);
        bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
      }
      for (let cut = start; cut < end; cut++) assert.notEqual(faultOf(bytes, start, cut), undefined);
      assert.match(faultOf(bytes, start, end, recordKinds.door) ?? "", /kind/);
    }
  });

  test("a record of version 1 reads as it was written", () => {
    const bytes = Buffer.from(
      "5462d5f901010700086d61696c0868747470f08813000501000002306170706c69636174696f6e2f6f637465742d73747265616d016869",
      "hex",
    );
    assert.equal(faultOf(bytes, 0, bytes.length), undefined);
    const change = readChange(new RecordReader(), bytes, 0, bytes.length);
    assert.ok(change.kind === "head");
    assert.equal(change.head.id, 7);
    assert.deepEqual(
      plain(change.head.payload),
      plain({ ...bodyOf("hi"), mediaType: "application/octet-stream" }),
    );
  });

  test("a head of version 1 with the bit that now means relations has none", () => {
    const bytes = Buffer.from(
      "5462d5f901010708086d61696c0868747470f08813000501000002306170706c69636174696f6e2f6f637465742d73747265616d016869",
      "hex",
    );
    seal(bytes, 0, bytes.length);
    const change = readChange(new RecordReader(), bytes, 0, bytes.length);
    assert.ok(change.kind === "head");
    assert.equal(change.head.relations, undefined);
    assert.equal(change.head.payload.size, 2);
  });

  test("a record of version 2 reads as it was written, without relations", () => {
    const { bytes, places } = written(put(headOf(1)));
    const [[start, end]] = places as [[number, number]];
    bytes[start + 4] = 2;
    seal(bytes, start, end);
    assert.equal(faultOf(bytes, start, end), undefined);
    const read = readChange(new RecordReader(), bytes, start, end);
    assert.deepEqual(plain(read), plain(put(headOf(1))));
  });

  test("relations cost an ordinary head no byte, and the head's sum stays the same", () => {
    const relations = {
      after: [3, 400, 70_000] as TaskId[],
      ifFailed: "run",
      group: "customer-1",
      schedule: "nightly",
      retryOf: 2 as TaskId,
    } as const;
    const { bytes, places } = written(put(headOf(1)), put(headOf(1, { relations })));
    const [[start, end], [richStart, richEnd]] = places as [[number, number], [number, number]];
    assert.equal(richEnd - richStart - (end - start), 1 + 1 + 1 + 3 + 5 + 11 + 8 + 1);
    const reader = new RecordReader();
    reader.begin(bytes, start, end);
    const sum = sumHead(reader);
    reader.begin(bytes, richStart, richEnd);
    assert.deepEqual(sumHead(reader), sum);
  });

  test("a principal alone costs its name and three bytes, and heads that are read share it", () => {
    const relations = onlyBy("ci");
    const { bytes, places } = written(
      put(headOf(1)),
      put(headOf(1, { relations })),
      put(headOf(2, { relations })),
    );
    const [plainAt, first, second] = places as [[number, number], [number, number], [number, number]];
    assert.equal(first[1] - first[0] - (plainAt[1] - plainAt[0]), 1 + 1 + 1 + 2);
    const read = [first, second].map(([start, end]) => readChange(new RecordReader(), bytes, start, end));
    const [one, two] = read.map((change) => (change.kind === "head" ? change.head.relations : undefined));
    assert.equal(one?.by, "ci");
    assert.equal(one, two);
  });

  test("a record of a newer program is refused by its version", () => {
    const { bytes, places } = written(put(headOf(1)));
    const [[start, end]] = places as [[number, number]];
    bytes[start + 4] = recordVersion + 1;
    seal(bytes, start, end);
    assert.match(faultOf(bytes, start, end) ?? "", /schema version 7, and this program reads up to 6/);
  });

  test("any bytes behind a right CRC give a change or BadRecord, and nothing else", () => {
    const reader = new RecordReader();
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 6, maxLength: 200 }), fc.nat(12), (some, kind) => {
        const bytes = Buffer.from(some);
        bytes[5] = kind;
        try {
          readChange(reader, bytes, 0, bytes.length);
        } catch (error) {
          assert.ok(error instanceof BadRecord, `${error}`);
        }
      }),
      { numRuns: 5000 },
    );
  });

  test("a body above the writer's limit is written without its bytes", () => {
    const writer = new RecordWriter({ bodyBytesMax: 4 });
    const start = writeChange(writer, put(headOf(1, { payload: bodyOf("12345") })));
    const read = readChange(new RecordReader(), writer.bytes, start, writer.at);
    assert.deepEqual(read.kind === "head" && read.head.payload, { mediaType: "text/plain", size: 5 });
    const result = { ...bodyOf("12345"), envelope: Uint8Array.of(1, 2) };
    const from = writeChange(writer, put(progressOf(1, { state: "done", result })));
    const progress = readChange(new RecordReader(), writer.bytes, from, writer.at);
    assert.deepEqual(progress.kind === "progress" && progress.progress.result, {
      mediaType: "text/plain",
      size: 5,
      envelope: Buffer.of(1, 2),
    });
  });

  test("records that are read share recurring names and policies", () => {
    const { bytes, places } = written(put(headOf(1)), put(headOf(2)));
    const reader = new RecordReader();
    const [one, other] = places.map(([start, end]) => readChange(reader, bytes, start, end));
    assert.ok(one?.kind === "head" && other?.kind === "head" && one.head.policy === other.head.policy);
  });

  test("the CRC is zlib's, at any length", () => {
    const some = Buffer.from("123456789");
    assert.equal(checksumOf(some, 0, 9), 0xcbf43926);
    const long = Buffer.alloc(5000, "yard");
    const slow = (from: number, to: number) => {
      let value = -1;
      for (const byte of long.subarray(from, to)) {
        value ^= byte;
        for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
      }
      return (value ^ -1) >>> 0;
    };
    for (const length of [0, 1, 99, 100, 101, 102, 4990]) {
      assert.equal(checksumOf(long, 3, 3 + length), slow(3, 3 + length));
    }
  });

  test("a task that has only run is a few dozen bytes", () => {
    const progress = progressOf(1_000_000, { worker: "pingpong/w1" as never, story: undefined });
    const { places } = written(put(progress));
    assert.ok((places[0]?.[1] ?? 0) < 40, `${places[0]?.[1]}`);
  });
});
