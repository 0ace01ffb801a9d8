// Every vector is read and written back to the same bytes, whole and damaged. More cases follow
// that the vectors do not cover.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { writeToClient, writeToWorker } from "./codec.js";
import type {
  ClientMessage,
  Heartbeat,
  PeerMessage,
  Reading,
  ScalerWire,
  WorkerMessage,
} from "./messages.js";
import { readAtClient, readAtWorker, writeFromClient, writeFromWorker } from "./peer-codec.js";
import { priorityOf, resultMetadata, taskMetadata } from "./structs.js";
import { readBoth } from "./testing/plain-message.js";

/** The reading of a peer's message, which is the same in both forms. */
function readPlain(frames: readonly Buffer[], wire: ScalerWire): Reading<PeerMessage> {
  const [reading, packed = reading] = readBoth(frames, wire) as [Reading<PeerMessage>];
  assert.deepEqual(packed, reading);
  return reading;
}

interface Vector {
  readonly name: string;
  readonly form: "r" | "d";
  readonly from: "worker" | "client" | "scheduler";
  readonly frames: readonly string[];
}

const file = new URL("../../src/scaler/vectors/scaler.json", import.meta.url);
const vectors = JSON.parse(readFileSync(file, "utf8")) as Vector[];
const bytesOf = ({ frames }: Vector) => frames.map((hex) => Buffer.from(hex, "hex"));
const hex = (frames: readonly Buffer[]) => frames.map((frame) => frame.toString("hex"));

function readVector({ from, name, form }: Vector, frames: readonly Buffer[]): Reading<unknown> {
  if (from !== "scheduler") return readPlain(frames, form);
  return / to client$/.test(name) ? readAtClient(frames) : readAtWorker(frames, form);
}

function writeVector({ from, name, form }: Vector, message: never): Buffer[] {
  if (from === "worker") return writeFromWorker(message, form);
  if (from === "client") return writeFromClient(message);
  return / to client$/.test(name) ? writeToClient(message) : writeToWorker(message, form);
}

describe("the vectors", () => {
  for (const vector of vectors) {
    const title = `${vector.form}: ${vector.frames[0] && Buffer.from(vector.frames[0], "hex")} ${vector.name}`;

    test(`${title} is read, and written back to the byte`, () => {
      const reading = readVector(vector, bytesOf(vector));
      assert.ok(reading.ok, `refused: ${!reading.ok && reading.fault}`);
      assert.deepEqual(hex(writeVector(vector, reading.message as never)), vector.frames);
    });

    test(`${title} without one of its frames, or with one cut or grown, is another message or a fault`, () => {
      const whole = bytesOf(vector);
      for (let at = 0; at < whole.length; at++) {
        const frame = whole[at] ?? Buffer.alloc(0);
        const variants = [
          whole.toSpliced(at, 1),
          whole.toSpliced(at, 0, frame),
          whole.slice(0, at),
          ...Array.from(frame, (_, size) => whole.with(at, frame.subarray(0, size))),
          whole.with(at, Buffer.concat([frame, Buffer.alloc(300)])),
        ];
        for (const damaged of variants) {
          const reading = readVector(vector, damaged);
          // A heartbeat that is cut to the size of another layout is valid: the layouts differ only
          // in size.
          if (!reading.ok || String(damaged[0]) === "HB") continue;
          // If a damaged message is accepted, nothing in it was guessed or silently dropped.
          const written = hex(writeVector(vector, reading.message as never));
          // [scaler 2.2] Missing flags are written as flags with no bit set.
          const isBare = written[0] === "5443" && damaged.length === 2 && vector.form === "r";
          assert.deepEqual(written, isBare ? [...hex(damaged), "0000"] : hex(damaged));
        }
      }
    });
  }
});

function message<Type extends PeerMessage["type"]>(
  frames: readonly (string | Buffer)[],
  wire: ScalerWire,
  type: Type,
): Extract<PeerMessage, { type: Type }> {
  const reading = readPlain(
    frames.map((frame) => Buffer.from(frame)),
    wire,
  );
  assert.ok(reading.ok, `refused: ${!reading.ok && reading.fault}`);
  assert.equal(reading.message.type, type);
  return reading.message as Extract<PeerMessage, { type: Type }>;
}

function fault(frames: readonly (string | Buffer)[], wire: ScalerWire = "r"): string {
  const reading = readPlain(
    frames.map((frame) => Buffer.from(frame)),
    wire,
  );
  return reading.ok ? "none" : reading.fault;
}

const counts = (...values: number[]) => Buffer.from(Uint32Array.from(values).buffer);

describe("heartbeats", () => {
  const heartbeat: Heartbeat = {
    type: "heartbeat",
    wire: "r",
    agentCpu: 10,
    agentRssBytes: 1n << 60n,
    freeRssBytes: 3n,
    queuedTasks: 7,
    latencyUs: 300,
    hasTaskLock: true,
    processors: [
      { pid: 9, isInitialized: true, hasTask: false, isSuspended: false, cpu: 5, rssBytes: 6n },
      { pid: 10, isInitialized: false, hasTask: true, isSuspended: true, cpu: 5, rssBytes: 6n },
    ],
  };
  const [processor] = heartbeat.processors;
  assert.ok(processor);

  test("of the program carry each processor, aligned or packed", () => {
    for (const [wire, sizes] of [
      ["r", [2, 33, 24, 24]],
      ["r-packed", [2, 25, 17, 17]],
    ] as const) {
      const frames = writeFromWorker({ ...heartbeat, wire }, wire);
      assert.deepEqual(
        frames.map(({ length }) => length),
        sizes,
      );
      // The heartbeat itself shows the form, whatever form was assumed before.
      assert.deepEqual(message(frames, "d", "heartbeat"), { ...heartbeat, wire });
    }
  });

  test("of the document carry one, in each of its three layouts", () => {
    for (const wire of ["d", "d-packed", "d-split"] as const) {
      const sent: Heartbeat = { ...heartbeat, wire, processors: [{ ...processor, pid: 0 }] };
      assert.deepEqual(message(writeFromWorker(sent, wire), "r", "heartbeat"), sent);
    }
  });

  test("hold what fits: a number that does not is cut, never an exception", () => {
    const wild: WorkerMessage = {
      ...heartbeat,
      agentCpu: 70_000,
      queuedTasks: 1e9,
      latencyUs: Number.POSITIVE_INFINITY,
      agentRssBytes: 1n << 70n,
      freeRssBytes: -1n,
      processors: [{ ...processor, cpu: Number.NaN }],
    };
    const read = message(writeFromWorker(wild, "r"), "r", "heartbeat");
    assert.deepEqual(
      [read.agentCpu, read.queuedTasks, read.latencyUs, read.agentRssBytes, read.freeRssBytes],
      [65_535, 65_535, 0xffff_ffff, (1n << 64n) - 1n, 0n],
    );
    assert.equal(read.processors[0]?.cpu, 0);
  });
});

describe("objects", () => {
  test("come in both orders, told by the single letter, and by the form where both could be it", () => {
    const tail = [counts(1, 1, 1), "id", "name", "bytes"];
    for (const wire of ["r", "d"] as const) {
      assert.equal(String(message(["OI", "C", "source", ...tail], wire, "object-create").source), "source");
      assert.equal(String(message(["OI", "source", "C", ...tail], wire, "object-create").source), "source");
    }
    assert.equal(String(message(["OI", "C", "D", ...tail], "r", "object-create").source), "D");
    assert.equal(String(message(["OI", "C", "D", counts(1, 0, 0), "id"], "d", "object-delete").source), "C");
  });

  test("counts that lie are refused whole", () => {
    for (const lie of [
      [1, 1, 2],
      [2, 1, 1],
      [0, 0, 0],
      [3, 0, 0],
      [1, 2, 0],
      [0xffff_ffff, 0xffff_ffff, 0xffff_ffff],
      [0xffff_fffd, 3, 3],
    ]) {
      const frames = ["OI", "C", "source", counts(...lie), "id", "name", "bytes"];
      assert.equal(fault(frames), "counts_differ", String(lie));
    }
    assert.equal(fault(["OI", "C", "source", counts(1, 1, 1).subarray(1), "id", "n", "b"]), "field_size");
    assert.equal(fault(["OI", "D", "source", counts(1, 1, 1), "id", "n", "b"]), "counts_differ");
  });

  test("an object of no bytes and no name is one", () => {
    const { names, bytes } = message(["OI", "C", "s", counts(1, 1, 1), "id", "", ""], "r", "object-create");
    assert.deepEqual([names, bytes], [[Buffer.alloc(0)], [Buffer.alloc(0)]]);
  });
});

describe("ids", () => {
  const long = "x".repeat(256);
  const cases: Readonly<Record<string, (id: string) => (string | Buffer)[]>> = {
    "a task": (id) => ["TK", id, "s", "", "f"],
    "a task's source": (id) => ["TK", "t", id, "", "f"],
    "a task's function": (id) => ["TK", "t", "s", "", id],
    "a task's argument": (id) => ["TK", "t", "s", "", "f", "R", id],
    "a result's task": (id) => ["TR", id, "S", ""],
    "a result": (id) => ["TR", "t", "S", "", id],
    "a cancel's task": (id) => ["TC", id],
    "an object": (id) => ["OI", "D", "s", counts(1, 0, 0), id],
    "an object's source": (id) => ["OI", "D", id, counts(1, 0, 0), "i"],
    "an object that is asked for": (id) => ["OR", "A", id],
    "a graph": (id) => ["GT", id, "s", counts(0)],
    "a graph's target": (id) => ["GT", "g", "s", counts(1), id],
    "a graph that is cancelled": (id) => ["GC", id],
    "a worker that leaves": (id) => ["DR", id],
  };
  for (const [what, frames] of Object.entries(cases)) {
    test(`of ${what} are 1 to 255 bytes`, () => {
      assert.equal(fault(frames("x".repeat(255))), "none");
      assert.equal(fault(frames("y")), "none");
      assert.equal(fault(frames(long)), "id_size");
      assert.equal(fault(frames("")), "id_size");
    });
  }
});

describe("the rest", () => {
  test("a message needs a payload, and a type that is known", () => {
    assert.equal(fault([]), "no_payload");
    assert.equal(fault(["TK"]), "no_payload");
    for (const type of ["", "T", "TKX", "tk", "HE", "OA", "BQ", "DP", "CE", "CR"]) {
      assert.equal(fault([type, ""]), "unknown_type", type);
    }
  });

  test("a task's metadata is none or five bytes, and its priority big-endian", () => {
    assert.equal(fault(["TK", "t", "s", "1234", "f"]), "field_size");
    assert.equal(priorityOf(Buffer.alloc(0)), 0);
    assert.equal(priorityOf(taskMetadata(-2)), -2);
    assert.equal(taskMetadata(1, true).toString("hex"), "0100000001");
  });

  test("only a graph's task may name another's result", () => {
    assert.equal(fault(["TK", "t", "s", "", "f", "T", "u"]), "bad_kind");
    assert.equal(fault(["TK", "t", "s", "", "f", "R"]), "frame_count");
    assert.equal(fault(["GT", "g", "s", counts(0), counts(6), "t", "s", "", "f", "T", "u"]), "none");
  });

  test("a result's metadata is what a client can take in form r, and anything in form d", () => {
    assert.equal(resultMetadata(1.5, 4n).toString("hex"), "3fc000000000000000000004");
    assert.equal(fault(["TR", "t", "S", "12345", "r"]), "field_size");
    assert.equal(String(message(["TR", "t", "S", "r", "12345"], "d", "task-result").metadata), "12345");
    assert.deepEqual(message(["TR", "t", "C", "", ""], "d", "task-result").results, []);
    for (const status of ["", "s", "SS", "Z", "\u0080"]) {
      assert.equal(fault(["TR", "t", status, "", "r"]), "bad_status");
    }
  });

  test("a cancel needs no flags, and a document's worker is never sent any", () => {
    assert.equal(message(["TC", "t"], "r", "task-cancel").flags, undefined);
    assert.equal(fault(["TC", "t", "1"]), "field_size");
    const cancel: ClientMessage = {
      type: "task-cancel",
      task: Buffer.from("t"),
      flags: { force: true, retrieveTaskObject: false },
    };
    assert.deepEqual(hex(writeToWorker(cancel, "r")), ["5443", "74", "0100"]);
    assert.deepEqual(hex(writeToWorker(cancel, "d")), ["5443", "74"]);
  });

  test("a balance response may begin with its count, and may name nothing", () => {
    const named = (frames: (string | Buffer)[]) => message(frames, "d", "balance-response").tasks.map(String);
    assert.deepEqual(named(["BR", "abcd", "efgh"]), ["abcd", "efgh"]);
    assert.deepEqual(named(["BR", counts(2), "abcd", "efgh"]), ["abcd", "efgh"]);
    assert.deepEqual(named(["BR", counts(0)]), []);
    assert.deepEqual(named(["BR", ""]), []);
  });

  test("a graph whose frames do not add up is refused whole", () => {
    const node = [counts(4), "t", "s", "", "f"];
    assert.equal(fault(["GT", "g", "s", counts(1), "t", ...node]), "none");
    assert.equal(fault(["GT", "g", "s", counts(2), "t"]), "counts_differ");
    assert.equal(fault(["GT", "g", "s", counts(0xffff_ffff), "t", ...node]), "counts_differ");
    assert.equal(fault(["GT", "g", "s", counts(1), "t", ...node.slice(0, -1)]), "counts_differ");
    assert.equal(fault(["GT", "g", "s", counts(1), "t", counts(3), "t", "s", ""]), "frame_count");
    assert.equal(fault(["GT", "g", "s", counts(1), "t", ...node, "x"]), "field_size");
    assert.equal(fault(["GT", "g", "s"]), "frame_count");
  });
});
