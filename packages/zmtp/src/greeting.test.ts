// Greetings: read whole, byte by byte, with bytes after them, and from peers of other protocols.

import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeGreeting, greetingBytes, readGreeting } from "./greeting.js";

// As libzmq 4.3 sends it from a socket without an identity.
const fromLibzmq = Buffer.from(
  `ff00000000000000017f0301${"4e554c4c".padEnd(40, "0")}${"00".repeat(32)}`,
  "hex",
);

test("libzmq's greeting is read, and ours is the same bytes", () => {
  const greeting = { minor: 1, mechanism: "NULL", isServer: false } as const;
  assert.deepEqual(readGreeting(fromLibzmq), { kind: "greeting", greeting });
  assert.deepEqual(encodeGreeting(greeting), fromLibzmq);
});

test("a greeting needs all its bytes, and does not mind more", () => {
  for (let length = 0; length < greetingBytes; length++) {
    assert.deepEqual(readGreeting(fromLibzmq.subarray(0, length)), { kind: "need-more" });
  }
  assert.equal(readGreeting(Buffer.concat([fromLibzmq, Buffer.alloc(9, 4)])).kind, "greeting");
});

test("the padding means nothing", () => {
  const odd = Buffer.from(fromLibzmq);
  odd.fill(0xa5, 1, 9);
  assert.equal(readGreeting(odd).kind, "greeting");
});

test("versions: 3.0 is spoken, higher ones speak ours, lower ones are turned away", () => {
  const version = (major: number, minor: number) => {
    const bytes = Buffer.from(fromLibzmq);
    bytes[10] = major;
    bytes[11] = minor;
    const reading = readGreeting(bytes);
    return reading.kind === "greeting"
      ? reading.greeting.minor
      : reading.kind === "fault"
        ? reading.fault
        : "";
  };
  assert.equal(version(3, 0), 0);
  assert.equal(version(3, 1), 1);
  assert.equal(version(3, 7), 1);
  assert.equal(version(4, 0), 1);
  assert.equal(version(1, 0), "old_version");
});

test("what is not ZMTP is known by its first byte", () => {
  assert.deepEqual(readGreeting(Buffer.from("G")), { kind: "fault", fault: "not_zmtp" });
  const oldOne = Buffer.from("ff0000000000000001", "hex");
  assert.deepEqual(readGreeting(Buffer.concat([oldOne, Buffer.of(0)])), {
    kind: "fault",
    fault: "old_version",
  });
  assert.deepEqual(readGreeting(Buffer.concat([oldOne, Buffer.of(3)])), { kind: "fault", fault: "not_zmtp" });
});
