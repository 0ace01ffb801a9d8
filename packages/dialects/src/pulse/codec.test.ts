// Every vector is read whole, byte by byte and with trailing bytes, then written back to the same
// bytes. More cases follow that the vectors do not cover.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
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
import { numberingOfPulse } from "./numbering.js";

interface Vector {
  readonly name: string;
  readonly hex: string;
  readonly numbering: Numbering;
  readonly message: Readonly<Record<string, string | number>> & { readonly kind: string };
}

const file = new URL("../../src/pulse/vectors/pulse.json", import.meta.url);
const vectors = JSON.parse(readFileSync(file, "utf8")) as Vector[];

interface Kind {
  framer(numbering: Numbering): MessageFramer<unknown>;
  write(message: never, numbering: Numbering): Buffer;
  /** What a vector's keys are called in this codec. */
  readonly keys: Readonly<Record<string, string>>;
}

const kinds: Readonly<Record<string, Kind>> = {
  WorkerPulse: {
    framer: (numbering) =>
      new MessageFramer<unknown>((bytes) => withoutNumbering(readPulse(bytes, () => numbering)), noExtra),
    write: writePulse,
    keys: { type: "type", worker_id: "workerId", task_id: "taskId", next_pulse: "nextPulse" },
  },
  PulseResponse: {
    framer: (numbering) =>
      new MessageFramer<unknown>((bytes) => readPulseResponse(bytes, numbering), noExtra),
    write: writePulseResponse,
    keys: { error: "error", worker_id: "workerId" },
  },
  ControlMsg: {
    framer: (numbering) =>
      new MessageFramer((bytes) => readControl(bytes, numbering), extraSizeOf) as MessageFramer<unknown>,
    write: writeControl,
    keys: { type: "type", extra_size: "extraSize", task_id: "taskId" },
  },
  WorkerResponse: {
    framer: (numbering) =>
      new MessageFramer(
        (bytes) => readWorkerResponse(bytes, numbering),
        extraSizeOf,
      ) as MessageFramer<unknown>,
    write: writeWorkerResponse,
    keys: { error: "error", task_id: "taskId", extra_size: "extraSize" },
  },
};

function withoutNumbering(reading: ReturnType<typeof readPulse>): Reading<unknown> {
  if (!reading.ok) return reading;
  const { numbering: _, ...message } = reading.message;
  return { ok: true, message };
}

/** A vector's message in this codec's terms: other names, and numbers as wide as on the wire. */
function meaning({ message }: Vector, { keys }: Kind): Record<string, unknown> {
  const given = Object.entries(keys).filter(([key]) => message[key] !== undefined);
  return Object.fromEntries(
    given.map(([key, name]) => {
      const value = message[key] ?? 0;
      return [name, key === "type" || key === "error" ? value : BigInt(value)];
    }),
  );
}

describe("the vectors of pulse", () => {
  for (const vector of vectors) {
    const kind = kinds[vector.message.kind] as Kind;
    const bytes = Buffer.from(vector.hex, "hex");
    const extra = Buffer.from(String(vector.message.extra ?? ""), "hex");
    const expected = { ok: true, message: { message: meaning(vector, kind), extra } };

    test(`${vector.name}: read whole, byte by byte, with trailing bytes`, () => {
      assert.deepEqual(kind.framer(vector.numbering).push(bytes), expected);
      assert.deepEqual(kind.framer(vector.numbering).push(Buffer.concat([bytes, bytes])), expected);
      const framer = kind.framer(vector.numbering);
      const readings = [...bytes].map((byte) => framer.push(Buffer.from([byte])));
      assert.deepEqual(readings.pop(), expected);
      assert.ok(readings.every((reading) => reading === undefined));
      assert.equal(framer.push(bytes), undefined);
    });

    test(`${vector.name}: written to the byte`, () => {
      const { message } = expected.message as unknown as WithExtra<never>;
      assert.equal(Buffer.concat([kind.write(message, vector.numbering), extra]).toString("hex"), vector.hex);
    });
  }

  test("there are some of each kind and numbering", () => {
    const seen = new Set(vectors.map(({ message, numbering }) => `${message.kind} ${numbering}`));
    assert.equal(seen.size, 8);
  });
});

const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex");
const inDocument = () => "document" as const;

describe("the codec of pulse", () => {
  test("a 0 that is on the wire is the same as none, and an optional one is kept", () => {
    const none = { ok: true, message: { type: "REGISTER", workerId: 0n, taskId: 0n, nextPulse: 0n } };
    assert.deepEqual(withoutNumbering(readPulse(hex("0800 1000 1800 2000"), inDocument)), none);
    const control = { ok: true, message: { type: "FETCH", extraSize: 0n, taskId: 0n } };
    assert.deepEqual(readControl(hex("0801 1800"), "document"), control);
    assert.equal(
      writeControl(control.message as never, "document").toString("hex"),
      "040000000000000008011800",
    );
    assert.deepEqual(readPulseResponse(hex("1000"), "document"), {
      ok: true,
      message: { error: "OK", workerId: 0n },
    });
  });

  test("fields of later versions are passed over, and the last of a repeated one counts", () => {
    const unknown = "2a03616263 3001 3d01020304 4101020304050607 08 4b08014c";
    const reading = readWorkerResponse(hex(`${unknown} 1007 1009`), "document");
    assert.deepEqual(reading, { ok: true, message: { error: "OK", taskId: 9n, extraSize: 0n } });
    // A known field number with another wire type is not that field.
    const other = readWorkerResponse(hex("1201ff 1007"), "document");
    assert.deepEqual(other, { ok: true, message: { error: "OK", taskId: 7n, extraSize: 0n } });
  });

  test("a number that is no word is kept, and in main numbering 0 is none", () => {
    const typeOf = (bytes: string, numbering: Numbering) => {
      const reading = readPulse(hex(bytes), () => numbering);
      return reading.ok ? reading.message.type : reading.fault;
    };
    assert.equal(typeOf("0804", "document"), 4);
    assert.equal(typeOf("0804", "main"), "SHUTDOWN");
    assert.equal(typeOf("", "main"), 0);
    assert.equal(typeOf("0805", "main"), 5);
    assert.equal(typeOf("08ffffffffffffffffff01", "document"), -1);
  });

  test("bytes that are no message are a fault", () => {
    for (const bytes of ["08", "0a05 61", "10ff", "0c", "0800 00", "0f", "08ffffffffffffffffffff01", "0b"]) {
      assert.deepEqual(readControl(hex(bytes), "document"), { ok: false, fault: "bad_message" }, bytes);
    }
  });

  test("the words of both numberings, both ways", () => {
    for (const [numbering, first] of [
      ["document", 0],
      ["main", 1],
    ] as const) {
      for (const [index, type] of (["RESTART", "FETCH", "SET_TASK", "GET_STATUS"] as const).entries()) {
        const bytes = writeControl({ type, extraSize: 0n }, numbering);
        const expected = first + index === 0 ? "" : `08${(first + index).toString(16).padStart(2, "0")}`;
        assert.equal(bytes.subarray(8).toString("hex"), expected);
        assert.deepEqual(readControl(bytes.subarray(8), numbering), {
          ok: true,
          message: { type, extraSize: 0n },
        });
      }
    }
  });
});

describe("the numbering of a pulse", () => {
  const registered = (id: bigint) => ({ 1: "document", 2: "main" })[Number(id)] as Numbering | undefined;
  const cases: [type: number, id: bigint, numbering: Numbering, why: string, taskId?: bigint][] = [
    [0, 0n, "document", "a document REGISTER"],
    [0, 9n, "document", "whatever id it names"],
    [0, 2n, "main", "INVALID, from one that is registered in main"],
    [2, 0n, "main", "a main REGISTER"],
    [2, 0n, "document", "FETCH_ME of one that has no id, since it names a task", 7n],
    [2, 1n, "document", "FETCH_ME of a document worker"],
    [2, 9n, "document", "FETCH_ME of one that is not known"],
    [2, 2n, "main", "REGISTER again"],
    [1, 1n, "document", "its own"],
    [1, 2n, "main", "its own"],
    [1, 9n, "document", "either"],
    [4, 9n, "main", "SHUTDOWN, which has this number in main alone"],
  ];
  for (const [type, workerId, numbering, why, taskId = 0n] of cases) {
    test(`${type} of ${workerId} is in ${numbering}: ${why}`, () => {
      assert.equal(numberingOfPulse({ type, workerId, taskId }, registered), numbering);
    });
  }
});

describe("the framer of pulse", () => {
  const framer = (limits = { messageBytesMax: 64, extraBytesMax: 1000 }) =>
    new MessageFramer((bytes) => readControl(bytes, "document"), extraSizeOf, limits);

  test("a length beyond the limit is a fault at once, up to the largest there is", () => {
    for (const prefix of ["4100000000000000", "0000000000000080", "ffffffffffffffff"]) {
      assert.deepEqual(framer().push(hex(prefix)), { ok: false, fault: "message_too_large" });
    }
  });

  test("so is extra data, and a limit is within it", () => {
    const push = (extraSize: bigint, extra = 0) =>
      framer().push(
        Buffer.concat([writeControl({ type: "SET_TASK", extraSize }, "document"), Buffer.alloc(extra, 1)]),
      );
    assert.deepEqual(push(1001n), { ok: false, fault: "extra_too_large" });
    assert.deepEqual(push(2n ** 64n - 1n), { ok: false, fault: "extra_too_large" });
    assert.equal(push(1000n, 999), undefined);
    assert.equal(push(1000n, 1000)?.ok, true);
  });

  test("memory grows with the bytes that came, not with the announced length", () => {
    const before = process.memoryUsage().arrayBuffers;
    const header = writeControl({ type: "SET_TASK", extraSize: 200_000_000n }, "document");
    const framers = Array.from(
      { length: 100 },
      () => new MessageFramer((bytes) => readControl(bytes, "document"), extraSizeOf),
    );
    for (const each of framers) {
      each.push(header);
      each.push(Buffer.alloc(1000));
    }
    assert.ok(process.memoryUsage().arrayBuffers - before < 10_000_000);
  });

  test("a large solution in many chunks comes out whole", () => {
    const extra = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
    const all = Buffer.concat([writeControl({ type: "SET_TASK", extraSize: 300_000n }, "document"), extra]);
    const reader = new MessageFramer((bytes) => readControl(bytes, "document"), extraSizeOf);
    for (let start = 0; start < all.length; start += 7_919) {
      const reading = reader.push(all.subarray(start, start + 7_919));
      if (start + 7_919 < all.length) assert.equal(reading, undefined);
      else assert.ok(reading?.ok && reading.message.extra.equals(extra));
    }
  });
});
