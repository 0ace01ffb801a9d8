// Every vector is read in its form and written back to the same bytes. More cases follow that the
// vectors do not cover.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { hashId, hasIdOfItsForm, plainHeader, readMessage, writeMessage } from "./codec.js";
import type { MessageType, MoniqueForm, MoniqueMessage } from "./messages.js";
import { packBin, packNumber, packText } from "./msgpack.js";

interface Vector {
  readonly name: string;
  readonly form: MoniqueForm;
  /** In hexadecimal. */
  readonly frames: readonly [string, string];
  readonly message: Record<string, string | number>;
}

const file = new URL("../../src/monique/vectors/monique.json", import.meta.url);
const vectors = JSON.parse(readFileSync(file, "utf8")) as Vector[];
const framesOf = ({ frames }: Vector) => frames.map((frame) => Buffer.from(frame, "hex"));

function messageOf({ message }: Vector): MoniqueMessage {
  return {
    type: message.type as MessageType,
    spec: String(message.spec),
    id: String(message.id),
    pid: String(message.pid),
    creator: String(message.creator),
    createdAt: Number(message.created_at),
    expiresAt: Number(message.expires_at),
    encoding: String(message.encoding),
    data: Buffer.from(String(message.data), "hex"),
  };
}

/** A decoded message, with its data. */
function read(frames: readonly Buffer[]): (MoniqueMessage & { form: MoniqueForm; agrees: boolean }) | string {
  const reading = readMessage(frames);
  if (!reading.ok) return reading.fault;
  const { header, content, contentFault } = reading;
  if (content === undefined) return `${header.type} ${contentFault}`;
  const { form, createdAt, expiresAt, encoding, dataStart, dataEnd, agrees } = content;
  const data = (frames[1] as Buffer).subarray(dataStart, dataEnd);
  return { ...plainHeader(header), form, createdAt, expiresAt, encoding, data, agrees };
}

describe("the vectors", () => {
  for (const vector of vectors) {
    test(`${vector.name} is read as it is meant`, () => {
      const { form } = vector;
      assert.deepEqual(read(framesOf(vector)), { ...messageOf(vector), form, agrees: true });
    });

    test(`${vector.name} is written byte for byte`, () => {
      assert.deepEqual(
        writeMessage(messageOf(vector), vector.form).map((frame) => frame.toString("hex")),
        vector.frames,
      );
    });

    test(`${vector.name}, cut short or with more behind it, is known by its tag alone`, () => {
      const [tag, content] = framesOf(vector) as [Buffer, Buffer];
      const opaque = `${vector.message.type} unreadable_content`;
      for (let length = 0; length < content.length; length += 1) {
        assert.equal(read([tag, content.subarray(0, length)]), opaque);
      }
      assert.equal(read([tag, Buffer.concat([content, Buffer.of(0)])]), opaque);
    });
  }

  test("ids of the older forms are what the rule makes them", () => {
    for (const vector of vectors) {
      const reading = readMessage(framesOf(vector));
      assert.ok(reading.ok && reading.content !== undefined);
      assert.ok(hasIdOfItsForm(reading.header, reading.content), vector.name);
    }
    const asked = { creator: "0000-0000-0000-websocket-tester", createdAt: 1528138732079 };
    assert.equal(hashId({ ...asked, spec: "example_calculator" }), "CunulYa0vipgCQ3KSTmXwt67Qn0=");
    const [tag, content] = framesOf(vectors[0] as Vector) as [Buffer, Buffer];
    const forged = readMessage([
      tag,
      Buffer.from(content.toString("latin1").replace("Cunul", "Dunul"), "latin1"),
    ]);
    assert.ok(forged.ok && forged.content !== undefined && !forged.content.agrees);
  });
});

describe("tags", () => {
  const content = framesOf(vectors[2] as Vector)[1] as Buffer;
  const fault = (tag: string | Buffer) => {
    const reading = readMessage([Buffer.from(tag as string), content]);
    return reading.ok ? "ok" : reading.fault;
  };

  test("have five fields, of which only the pid may be empty", () => {
    assert.equal(fault("config:a_b:1::me"), "ok");
    assert.equal(fault("error:error:1:2:me"), "ok");
    for (const tag of ["", "config", "config:a_b:1:me", "config:a_b:1:::me", "config:a_b:1:2:me:"])
      assert.equal(fault(tag), "bad_tag", tag);
    for (const tag of ["config::1::me", "config:a_b:::me", "config:a_b:1::"])
      assert.equal(fault(tag), "bad_tag", tag);
  });

  test("have one of four types", () => {
    for (const tag of ["Config:a_b:1::me", ":a_b:1::me", "task:a_b:1::me"])
      assert.equal(fault(tag), "unknown_type", tag);
  });

  test("are UTF-8, short, and wrapped whole or not at all", () => {
    assert.equal(fault("data:a_b:1::Zoë"), "ok");
    assert.equal(fault(Buffer.from("data:a_b:1::Zo\xeb", "latin1")), "bad_tag");
    assert.equal(fault(`data:a_b:1::${"x".repeat(3_000)}`), "bad_tag");
    assert.equal(fault(`data:a_b:${"x".repeat(300)}::me`), "bad_tag");
    for (const wrap of [packBin, (tag: Buffer) => packText(tag.toString())])
      assert.equal(fault(wrap(Buffer.from("data:a_b:1::me"))), "ok");
    const wrapped = packBin(Buffer.from("data:a_b:1::me"));
    assert.equal(fault(wrapped.subarray(0, -1)), "bad_tag");
    assert.equal(fault(Buffer.concat([wrapped, Buffer.of(0)])), "bad_tag");
    assert.equal(fault(Buffer.of(0x91, 0xa1, 0x61)), "bad_tag");
  });

  test("come with a content, and with nothing else", () => {
    const tag = Buffer.from("data:a_b:1::me");
    for (const frames of [[], [tag], [tag, content, content], Array.from({ length: 1000 }, () => tag)])
      assert.deepEqual(readMessage(frames), { ok: false, fault: "frame_count" });
  });
});

describe("contents", () => {
  const tag = (type: string) => Buffer.from(`${type}:a_b:1:2:me`);
  const fields: Record<string, Buffer> = {
    id: packText("1"),
    pid: packText("2"),
    creator: packText("me"),
    created_at: packNumber(1_700_000_000_000),
    expires_at: packNumber(0),
    spec: packText("a_b"),
    encoding: packText("JSON"),
    type: packText("result"),
    data: packBin(Buffer.from("1")),
  };
  const mapOf = (entries: readonly (readonly [string, Buffer])[]) =>
    Buffer.concat([
      Buffer.of(0xde, 0, entries.length),
      ...entries.flatMap(([key, value]) => [packText(key), value]),
    ]);
  const content = (change: Record<string, Buffer | undefined> = {}, type = "result") =>
    read([
      tag(type),
      mapOf(
        Object.entries({ ...fields, ...change }).filter((entry): entry is [string, Buffer] => !!entry[1]),
      ),
    ]);
  const nil = Buffer.of(0xc0);

  test("have their keys in any order, and may have more of them", () => {
    const backwards = Object.entries(fields).reverse();
    assert.deepEqual(read([tag("result"), mapOf(backwards)]), content());
    const extra = content({ trace: Buffer.from("9201c0", "hex") });
    assert.ok(typeof extra === "object" && extra.agrees);
  });

  test("name who they are by text, bytes or nothing", () => {
    for (const [id, pid] of [
      [packBin(Buffer.from("1")), packBin(Buffer.from("2"))],
      [packText("1"), packText("2")],
    ] as const) {
      const message = content({ id, pid });
      assert.ok(typeof message === "object" && message.agrees);
    }
    const orphan = read([Buffer.from("result:a_b:1::me"), mapOf(Object.entries({ ...fields, pid: nil }))]);
    assert.ok(typeof orphan === "object" && orphan.agrees);
  });

  test("of the oldest form have the key that names their type, and the other as nothing", () => {
    const old = { type: undefined, data: undefined };
    const message = content({ ...old, result: packBin(Buffer.from("{}")), error: nil });
    assert.ok(typeof message === "object" && message.agrees && message.data.toString() === "{}");
    const mislabelled = content({ ...old, error: packBin(Buffer.from("{}")) });
    assert.ok(typeof mislabelled === "object" && !mislabelled.agrees);
  });

  test("may have a time that never comes, as the seed-day library writes it: 1e17, in a float or not", () => {
    const last = Number.MAX_SAFE_INTEGER;
    for (const [hex, expected] of [
      ["cf016345785d8a0000", last],
      ["cb4376345785d8a000", last],
      ["cb7ff0000000000000", last],
      ["cfffffffffffffffff", last],
      ["ca3fc00000", 1],
      ["d3ffffffffffffffff", -1],
    ] as const) {
      const message = content({ expires_at: Buffer.from(hex, "hex") });
      assert.ok(typeof message === "object" && message.agrees, hex);
      assert.equal(message.expiresAt, expected, hex);
    }
  });

  test("of the document's answers have both keys, of which the empty one counts as absent", () => {
    const old = { type: undefined, data: undefined };
    const [some, empty] = [packBin(Buffer.from("13")), packText("")];
    const result = content({ ...old, result: some, error: empty });
    assert.ok(typeof result === "object" && result.agrees && result.data.toString() === "13");
    const both = content({ ...old, result: empty, error: empty });
    assert.ok(typeof both === "object" && both.agrees && both.data.length === 0);
    const config = content({ ...old, config: empty, result: some, error: nil });
    assert.ok(typeof config === "object" && config.agrees);
  });

  test("with both a result and an error are refused", () => {
    const both = { result: packBin(Buffer.from("1")), error: packBin(Buffer.from("2")) };
    assert.equal(content(both), "two_outcomes");
    assert.equal(content({ ...both, data: undefined, type: undefined }), "two_outcomes");
  });

  test("that miss a key or have one of another kind are no contents", () => {
    const bad = "result bad_content";
    for (const key of Object.keys(fields)) {
      if (key !== "pid" && key !== "type") assert.equal(content({ [key]: undefined }), bad, key);
      assert.equal(content({ [key]: Buffer.of(0x90) }), bad, key);
    }
    for (const created of ["a131", "cb7ff8000000000000", "ca7fc00000"])
      assert.equal(content({ created_at: Buffer.from(created, "hex") }), bad, created);
    assert.equal(read([tag("result"), mapOf([...Object.entries(fields), ["id", packText("1")]])]), bad);
    assert.equal(read([tag("result"), Buffer.from("8101a0", "hex")]), bad);
  });

  test("that are no map are known by their tag", () => {
    for (const bytes of ["", "c0", "93010203", "a3616263", "deadbeef00", "df00000001", "c1"])
      assert.equal(read([tag("data"), Buffer.from(bytes, "hex")]), "data unreadable_content", bytes);
  });

  test("that announce more than they hold cost no memory", () => {
    const deep = Buffer.alloc(5_000_000, 0x91);
    const bombs = [
      Buffer.from("dfffffffff", "hex"),
      Buffer.from("81a464617461c6ffffffff", "hex"),
      Buffer.from("81a46e6f7065ddffffffff", "hex"),
      Buffer.concat([Buffer.from("81a46e6f7065", "hex"), deep]),
      Buffer.concat([Buffer.from("81", "hex"), deep]),
      Buffer.from("81a46e6f7065dfffffffff", "hex"),
      Buffer.from("81a46e6f7065c9ffffffff01", "hex"),
    ];
    const start = process.cpuUsage().user;
    for (const bomb of bombs) assert.equal(read([tag("data"), bomb]), "data unreadable_content");
    assert.ok(process.cpuUsage().user - start < 2_000_000);
  });
});
