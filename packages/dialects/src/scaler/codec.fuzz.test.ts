// Any frames give a message or a fault, never an exception. Whatever one end writes, the other end
// reads back unchanged.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { writeToClient, writeToWorker } from "./codec.js";
import type {
  ClientMessage,
  PeerMessage,
  Reading,
  ScalerWire,
  ToClient,
  ToWorker,
  WorkerMessage,
} from "./messages.js";
import { readAtClient, readAtWorker, writeFromClient, writeFromWorker } from "./peer-codec.js";
import { plainReading, readBoth } from "./testing/plain-message.js";

/** The reading of a peer's message, which is the same in both forms. */
function readPlain(frames: readonly Buffer[], wire: ScalerWire): Reading<PeerMessage> {
  const [reading, packed = reading] = readBoth(frames, wire) as [Reading<PeerMessage>];
  assert.deepEqual(packed, reading);
  return reading;
}

const many = { numRuns: 2_000 };
const types = "HB HE TK TC TR OI OR OA BQ BR DR DP CS CR CB CE GT GC XX".split(" ");
const faults = /^(no_payload|unknown_type|frame_count|field_size|id_size|bad_status|bad_kind|counts_differ)$/;
const wires: readonly ScalerWire[] = ["r", "r-packed", "d", "d-packed", "d-split"];
const wire = fc.constantFrom(...wires);

/** Plain objects, like those that the codec makes. */
const record = <Shape extends object>(model: { [Key in keyof Shape]: fc.Arbitrary<Shape[Key]> }) =>
  fc.record(model, { noNullPrototype: true });
const bytes = (minLength: number, maxLength: number) =>
  fc.uint8Array({ minLength, maxLength }).map((given) => Buffer.from(given));
const u32 = fc.nat({ max: 4 }).map((value) => Buffer.from(Uint32Array.of(value).buffer));
const counts = fc.tuple(u32, u32, u32).map((three) => Buffer.concat(three));
// Sizes and letters that the dialect uses, so that fuzzed frames get past the first check.
const frame = fc.oneof(
  bytes(0, 12),
  u32,
  counts,
  fc.constantFrom(..."CDANRTSFCNKWIRX").map((letter) => Buffer.from(letter)),
  fc.constantFrom(2, 5, 12, 20, 24, 33, 51, 37, 25, 17, 256).chain((size) => bytes(size, size)),
);
const typed = fc
  .tuple(
    fc.constantFrom(...types).map((type) => Buffer.from(type)),
    fc.array(frame, { maxLength: 12 }),
  )
  .map(([type, rest]) => [type, ...rest]);
const frames = fc.oneof(typed, typed, fc.array(frame, { maxLength: 12 }));

test("any frames are a message or a fault, to every reader", () => {
  fc.assert(
    fc.property(frames, wire, (given, form) => {
      for (const reading of [readPlain(given, form), readAtWorker(given, form), readAtClient(given)]) {
        if (!reading.ok) assert.match(reading.fault, faults);
      }
    }),
    { numRuns: 20_000 },
  );
});

const id = bytes(1, 40);
const ids = fc.array(id, { minLength: 1, maxLength: 5 });
const objects = ids.chain((named) => {
  const each = fc.array(bytes(0, 20), { minLength: named.length, maxLength: named.length });
  return record({ ids: fc.constant(named), names: each, bytes: each, hasSplitCounts: fc.boolean() });
});
const argument = (...kinds: ("R" | "T")[]) => record({ kind: fc.constantFrom(...kinds), id });
const task = (...kinds: ("R" | "T")[]) =>
  record({
    type: fc.constant("task" as const),
    task: id,
    source: id,
    metadata: fc.oneof(bytes(0, 0), bytes(5, 5)),
    function: id,
    arguments: fc.array(argument(...kinds), { maxLength: 4 }),
  });
const flags = record({ force: fc.boolean(), retrieveTaskObject: fc.boolean() });
const u16 = fc.nat({ max: 0xffff });
const u64 = fc.bigInt({ min: 0n, max: 0xffff_ffff_ffff_ffffn });
const whole32 = fc.nat({ max: 0xffff_ffff });
const status = fc.constantFrom(
  ...([..."SFCNKWIRX"] as ("S" | "F" | "C" | "N" | "K" | "W" | "I" | "R" | "X")[]),
);
const metadata = fc.oneof(bytes(0, 0), bytes(12, 12));
const result = (results: fc.Arbitrary<Buffer[]>) =>
  record({ type: fc.constant("task-result" as const), task: id, status, metadata, results });
const create = fc.tuple(id, objects).map(([source, all]) => ({
  type: "object-create" as const,
  source,
  ...all,
}));
const remove = record({
  type: fc.constant("object-delete" as const),
  source: id,
  ids,
  hasSplitCounts: fc.boolean(),
});
const request = record({ type: fc.constant("object-request" as const), ids });
const answer = objects.map((all) => ({ type: "object-answer" as const, kind: "content" as const, ...all }));
const isLetter = ({ length }: Buffer) => length === 1;

const heartbeat = (form: ScalerWire) => {
  const isR = form.startsWith("r");
  const processor = record({
    pid: isR ? whole32 : fc.constant(0),
    isInitialized: fc.boolean(),
    hasTask: fc.boolean(),
    isSuspended: isR ? fc.boolean() : fc.constant(false),
    cpu: u16,
    rssBytes: u64,
  });
  return record({
    type: fc.constant("heartbeat" as const),
    wire: fc.constant(form),
    agentCpu: u16,
    agentRssBytes: u64,
    freeRssBytes: u64,
    queuedTasks: u16,
    latencyUs: whole32,
    hasTaskLock: fc.boolean(),
    processors: fc.array(processor, { minLength: isR ? 0 : 1, maxLength: isR ? 4 : 1 }),
  });
};

test("every message of a worker is read back unchanged, in every form", () => {
  for (const form of wires) {
    const isR = form.startsWith("r");
    const said: fc.Arbitrary<WorkerMessage> = fc.oneof<fc.Arbitrary<WorkerMessage>[]>(
      heartbeat(form),
      result(fc.array(id, { maxLength: isR ? 3 : 1 })),
      create,
      remove,
      request,
      // Four bytes could be mistaken for the optional count before the ids [scaler 3.5].
      record({
        type: fc.constant("balance-response" as const),
        tasks: fc.array(bytes(5, 20), { maxLength: 4 }),
      }),
      record({ type: fc.constant("disconnect-request" as const), worker: id }),
    );
    fc.assert(
      fc.property(said, (message) => {
        assert.deepEqual(readPlain(writeFromWorker(message, form), form), { ok: true, message });
      }),
      many,
    );
  }
});

test("every message of a client is read back unchanged", () => {
  const said: fc.Arbitrary<ClientMessage> = fc.oneof<fc.Arbitrary<ClientMessage>[]>(
    record({
      type: fc.constant("client-heartbeat" as const),
      cpu: u16,
      rssBytes: u64,
      latencyUs: whole32,
    }),
    task("R"),
    record({ type: fc.constant("task-cancel" as const), task: id, flags }),
    record({
      type: fc.constant("graph" as const),
      graph: id,
      source: id,
      targets: ids,
      nodes: fc.array(task("R", "T"), { maxLength: 4 }),
    }),
    record({ type: fc.constant("graph-cancel" as const), graph: id }),
    create,
    remove,
    request,
    record({
      type: fc.constant("client-disconnect" as const),
      kind: fc.constantFrom("disconnect" as const, "shutdown" as const),
    }),
  );
  fc.assert(
    fc.property(said, (message) => {
      assert.deepEqual(readPlain(writeFromClient(message), "r"), { ok: true, message });
    }),
    many,
  );
});

test("every message of the scheduler is read back unchanged, in every form", () => {
  const toClient: fc.Arbitrary<ToClient> = fc.oneof<fc.Arbitrary<ToClient>[]>(
    fc.constant({ type: "client-heartbeat-echo" as const }),
    result(fc.array(id, { maxLength: 2 })),
    answer,
    record({ type: fc.constant("shutdown-response" as const), isAccepted: fc.boolean() }),
  );
  fc.assert(
    fc.property(toClient, (message) => {
      assert.deepEqual(plainReading(readAtClient(writeToClient(message))), { ok: true, message });
    }),
    many,
  );
  const toWorker: fc.Arbitrary<ToWorker> = fc.oneof<fc.Arbitrary<ToWorker>[]>(
    fc.constant({ type: "heartbeat-echo" as const }),
    task("R"),
    record({ type: fc.constant("task-cancel" as const), task: id, flags }),
    remove.filter(({ source }) => !isLetter(source)),
    answer,
    record({ type: fc.constant("balance-request" as const), count: whole32 }),
    record({ type: fc.constant("disconnect-response" as const), worker: id }),
    fc.constant({ type: "client-disconnect" as const, kind: "shutdown" as const }),
  );
  fc.assert(
    fc.property(toWorker, wire, (message, form) => {
      const reading = readAtWorker(writeToWorker(message, form), form);
      const isBare = message.type === "task-cancel" && form.startsWith("d");
      const meant = isBare ? { type: message.type, task: message.task } : message;
      assert.deepEqual(plainReading(reading), { ok: true, message: meant });
    }),
    many,
  );
});
