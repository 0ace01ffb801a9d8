// PLAIN's handshake, command by command, as 24/ZMTP-PLAIN describes it, and NULL with a server that
// authenticates.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { encodeCommand } from "../commands.js";
import { contextOf, give, sent } from "../test-kit/curve-pair.js";
import { type Authenticate, tryLater } from "./handshake.js";
import { nullServer } from "./null.js";
import { plainClient, plainServer } from "./plain.js";

const alice: Authenticate = (shown) =>
  shown.mechanism === "PLAIN" && shown.username === "alice" && shown.password.equals(Buffer.from("pass"))
    ? "alice"
    : undefined;
const server = (authenticate = alice) =>
  plainServer(authenticate).open(contextOf("ROUTER", "tcp://10.0.0.1:1"));
const client = (username: string, password: string) =>
  plainClient({ username, password }).open(contextOf("DEALER", "tcp://10.0.0.2:2"));
const text = (body: Buffer) => body.toString("latin1");

test("the right password: four commands, and both ends know each other", () => {
  const [ours, theirs] = [client("alice", "pass"), server()];
  const hello = ours.start()[0] as Buffer;
  assert.equal(text(hello), "\x05HELLO\x05alice\x04pass");
  assert.deepEqual(theirs.start(), []);
  const welcome = sent(give(theirs, hello));
  assert.equal(text(welcome), "\x07WELCOME");
  const initiate = sent(give(ours, welcome));
  assert.equal(text(initiate), "\x08INITIATE\x0bSocket-Type\0\0\0\x06DEALER");
  const done = give(theirs, initiate);
  assert.ok(done.kind === "done" && done.principal === "alice");
  assert.equal(text(sent(done)), "\x05READY\x0bSocket-Type\0\0\0\x06ROUTER");
  assert.equal(give(ours, sent(done)).kind, "done");
});

test("a wrong password gets the status 400 in libzmq's spelling, and the client knows that it was refused", () => {
  const theirs = server();
  const step = give(theirs, client("alice", "guess").start()[0] as Buffer);
  assert.ok(step.kind === "fault" && step.fault === "denied");
  assert.equal(text(sent(step)), "^RROR\x03400");
  const ours = client("alice", "guess");
  assert.deepEqual(give(ours, encodeCommand("ERROR", Buffer.from("\x03400"))), {
    kind: "fault",
    fault: "refused",
    send: [],
  });
});

test("the password is erased once it was judged", () => {
  let kept: Buffer | undefined;
  const theirs = server((shown) => {
    if (shown.mechanism === "PLAIN") kept = shown.password;
    assert.equal(kept?.toString(), "pass");
    return "someone";
  });
  theirs.receive({ name: "HELLO", data: Buffer.from("\x05alice\x04pass") });
  assert.deepEqual(kept, Buffer.alloc(4));
});

test("empty names and passwords are possible, and 255 bytes of each", () => {
  const seen: unknown[] = [];
  const open = (shown: Parameters<Authenticate>[0]) => {
    if (shown.mechanism === "PLAIN") seen.push([shown.username, shown.password.length]);
    return "someone";
  };
  assert.equal(give(server(open), client("", "").start()[0] as Buffer).kind, "wait");
  assert.equal(
    give(server(open), client("é".repeat(127), "x".repeat(255)).start()[0] as Buffer).kind,
    "wait",
  );
  assert.deepEqual(seen, [
    ["", 0],
    ["é".repeat(127), 255],
  ]);
  assert.throws(
    () => plainClient({ username: "é".repeat(128), password: "" }),
    /user name for PLAIN has 256/,
  );
});

test("commands that are cut, too long or out of turn end the handshake", () => {
  for (const data of [
    "",
    "\x05",
    "\x05alice",
    "\x05alice\x05pass",
    "\x05alice\x04pass!",
    "\xffalice\x04pass",
  ]) {
    const step = give(server(), encodeCommand("HELLO", Buffer.from(data, "latin1")));
    assert.deepEqual(step, { kind: "fault", fault: "bad_handshake", send: [] }, JSON.stringify(data));
  }
  for (const name of ["INITIATE", "READY", "WELCOME", "MESSAGE"]) {
    const step = give(server(), encodeCommand(name, Buffer.alloc(0)));
    assert.deepEqual(step, { kind: "fault", fault: "unexpected_command", send: [] }, name);
  }
  const twice = server();
  const hello = client("alice", "pass").start()[0] as Buffer;
  give(twice, hello);
  assert.deepEqual(give(twice, hello), { kind: "fault", fault: "unexpected_command", send: [] });
  const early = client("alice", "pass");
  assert.equal(give(early, encodeCommand("READY", Buffer.alloc(0))).kind, "fault");
});

test("any bytes as HELLO are judged or refused, never an exception", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (data) => {
      const step = give(server(), encodeCommand("HELLO", data));
      assert.ok(step.kind === "fault" && /^(denied|bad_handshake)$/.test(step.fault));
    }),
  );
});

test("a peer that is put off hears no ERROR, so that libzmq connects again", () => {
  const theirs = server(() => tryLater);
  const step = give(theirs, client("alice", "pass").start()[0] as Buffer);
  assert.ok(step.kind === "fault" && step.fault === "denied");
  assert.deepEqual(step.send, []);
});

test("NULL with authenticate: the server says who a peer without credentials is, or refuses it", () => {
  const ready = encodeCommand("READY", contextOf("DEALER", "").metadata);
  const asked: unknown[] = [];
  const open = nullServer((...shown) => {
    asked.push(shown);
    return "anonymous";
  }).open(contextOf("ROUTER", "tcp://10.0.0.1:1"));
  const step = give(open, ready);
  assert.ok(step.kind === "done" && step.principal === "anonymous");
  assert.deepEqual(asked, [[{ mechanism: "NULL" }, "tcp://10.0.0.1:1"]]);
  const closed = nullServer(() => undefined).open(contextOf("ROUTER", ""));
  const refusal = give(closed, ready);
  assert.ok(refusal.kind === "fault" && refusal.fault === "denied");
  assert.equal(text(sent(refusal)), "\x05ERROR\x03400");
});
