// Two connections joined without a network: versions, types, identities, commands, and mechanisms
// other than NULL.

import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeCommand } from "./commands.js";
import { Connection, type ConnectionSettings } from "./connection.js";
import { COMMAND, encodeFrame } from "./frames.js";
import { defaultLimits } from "./limits.js";
import { nullSecurity } from "./mechanisms/null.js";
import { encodeMetadata } from "./metadata.js";
import { Outbox } from "./outbox.js";
import type { SocketType } from "./socket-types.js";
import { maskSecurity } from "./test-kit/mask-security.js";
import { command, greeting, message, ready } from "./test-kit/raw-peer.js";

function connection(socketType: SocketType, more: Partial<ConnectionSettings> = {}): Connection {
  const identity = Buffer.alloc(0);
  return new Connection({
    socketType,
    identity,
    security: nullSecurity,
    isBound: true,
    limits: defaultLimits,
    ...more,
  });
}

/**
 * Carries bytes back and forth until both are quiet. Returns the first event of each beyond
 * "need-more".
 */
function join(left: Connection, right: Connection): [string, string] {
  const events: [string, string] = ["need-more", "need-more"];
  for (let round = 0; round < 6; round++) {
    for (const [from, to, index] of [[left, right, 1] as const, [right, left, 0] as const]) {
      for (const bytes of from.takeOutput()) to.feed(bytes);
      const event = to.next();
      if (event !== "need-more" && events[index] === "need-more") events[index] = event;
    }
  }
  return events;
}

function inTraffic(
  socketType: SocketType,
  peerType: string,
  minor: 0 | 1 = 1,
  more: Partial<ConnectionSettings> = {},
): Connection {
  const made = connection(socketType, more);
  made.feed(Buffer.concat([greeting(minor), ready(peerType)]));
  assert.equal(made.next(), "ready");
  return made;
}

test("two connections become ready and know each other", () => {
  const router = connection("ROUTER");
  const dealer = connection("DEALER", { identity: Buffer.from("11|w0|aa"), isBound: false });
  assert.deepEqual(join(router, dealer), ["ready", "ready"]);
  assert.equal(router.peerType, "DEALER");
  assert.equal(router.peerIdentity.toString(), "11|w0|aa");
  assert.equal(dealer.peerType, "ROUTER");
  assert.equal(dealer.minor, 1);
});

test("our READY is what libzmq's would be", () => {
  const dealer = connection("DEALER", { identity: Buffer.from("11|w0|aa") });
  dealer.feed(greeting());
  dealer.next();
  const sent = Buffer.concat(dealer.takeOutput()).subarray(64);
  const type = "0b536f636b65742d54797065000000064445414c4552";
  assert.equal(
    sent.toString("hex"),
    `04310552454144 59${type}084964656e74697479 0000000831317c77307c6161`.replaceAll(" ", ""),
  );
});

test("names of properties mean the same in any case, and others are kept", () => {
  const pull = connection("PULL");
  const metadata = encodeMetadata([
    ["SOCKET-TYPE", Buffer.from("PUSH")],
    ["X-Room", Buffer.from("4")],
  ]);
  pull.feed(Buffer.concat([greeting(), command("READY", metadata)]));
  assert.equal(pull.next(), "ready");
  assert.equal(pull.metadata.get("x-room")?.toString(), "4");
});

test("types that do not belong together part with an ERROR", () => {
  const pull = connection("PULL");
  pull.feed(Buffer.concat([greeting(), ready("SUB")]));
  assert.equal(pull.next(), "fault");
  assert.equal(pull.fault, "wrong_socket_type");
  assert.ok(Buffer.concat(pull.takeOutput()).includes("ERROR"));
});

const faults: Array<[name: string, bytes: Buffer, fault: string]> = [
  ["another mechanism", greeting(1, "CURVE"), "unknown_mechanism"],
  ["a message before READY", Buffer.concat([greeting(), message("early")]), "message_in_handshake"],
  ["a command that is not READY", Buffer.concat([greeting(), command("HELLO")]), "unexpected_command"],
  ["ERROR", Buffer.concat([greeting(), command("ERROR", Buffer.from("\x02no"))]), "refused"],
  [
    "a command without a name",
    Buffer.concat([greeting(), encodeFrame(COMMAND, Buffer.alloc(0))]),
    "bad_command",
  ],
  [
    "a name longer than its command",
    Buffer.concat([greeting(), encodeFrame(COMMAND, Buffer.of(9, 1))]),
    "bad_command",
  ],
  [
    "metadata cut short",
    Buffer.concat([greeting(), command("READY", Buffer.from("\x05abc"))]),
    "bad_metadata",
  ],
  ["a type that does not exist", Buffer.concat([greeting(), ready("TELEPATHY")]), "wrong_socket_type"],
  [
    "an identity of 256 bytes",
    Buffer.concat([greeting(), ready("DEALER", Buffer.alloc(256, 1))]),
    "bad_identity",
  ],
];

for (const [name, bytes, fault] of faults) {
  test(`in the handshake: ${name}`, () => {
    const router = connection("ROUTER");
    router.feed(bytes);
    assert.equal(router.next(), "fault");
    assert.equal(router.fault, fault);
    assert.equal(router.next(), "fault", "and it stays so");
    assert.equal(router.heldBytes, 0);
  });
}

test("in traffic: what is known comes out as an event", () => {
  const pub = inTraffic("PUB", "SUB");
  pub.feed(
    Buffer.concat([
      command("SUBSCRIBE", Buffer.from("a")),
      command("CANCEL", Buffer.from("b")),
      command("PING", Buffer.from("\0\x0aC")),
      command("PONG"),
      command("WHAT"),
      message("x", "", "y"),
    ]),
  );
  const seen: string[] = [];
  for (let event = pub.next(); event !== "need-more"; event = pub.next()) {
    if (event === "subscribe" || event === "cancel") seen.push(`${event} ${pub.body}`);
    else if (event === "ping") seen.push(`ping ${pub.ttlMs} ${pub.body}`);
    else if (event === "message") seen.push(`message ${pub.frames.join(",")}`);
    else if (event === "mistake") seen.push(`mistake ${pub.fault}`);
    else seen.push(event);
  }
  assert.deepEqual(seen, [
    "subscribe a",
    "cancel b",
    "ping 1000 C",
    "pong",
    "mistake unknown_command",
    "message x,,y",
  ]);
});

test("in traffic: a PING between the frames of a message does not disturb it", () => {
  const pull = inTraffic("PULL", "PUSH");
  const [first, second] = [encodeFrame(1, Buffer.from("a")), encodeFrame(0, Buffer.from("b"))];
  pull.feed(Buffer.concat([first, command("PING", Buffer.of(0, 0)), second]));
  assert.equal(pull.next(), "ping");
  assert.equal(pull.next(), "message");
  assert.deepEqual(pull.frames.map(String), ["a", "b"]);
});

for (const [name, type, peer, bytes, fault] of [
  ["READY again", "PULL", "PUSH", ready("PUSH"), "unexpected_command"],
  ["SUBSCRIBE to a PULL", "PULL", "PUSH", command("SUBSCRIBE"), "unexpected_command"],
  ["a PING without its time", "PULL", "PUSH", command("PING"), "bad_command"],
] as Array<[string, SocketType, string, Buffer, string]>) {
  test(`in traffic: ${name} ends it`, () => {
    const made = inTraffic(type, peer);
    made.feed(bytes);
    assert.equal(made.next(), "fault");
    assert.equal(made.fault, fault);
  });
}

test("a message is read from lent bytes only if nothing that was fed is left", () => {
  const lent = Buffer.concat([message("a", "b"), message("c")]);
  const whole = message("a", "b").length;
  const idle = inTraffic("ROUTER", "DEALER", 1, { readsPacked: true });
  assert.equal(idle.endOfPacked(lent, 0, lent.length), whole);
  assert.equal(idle.endOfPacked(lent, whole, lent.length), lent.length);
  assert.equal(idle.endOfPacked(lent, whole, lent.length - 1), -1, "cut");
  assert.equal(inTraffic("ROUTER", "DEALER").endOfPacked(lent, 0, lent.length), -1, "not asked for");
  for (const fed of [message("x"), message("x").subarray(0, 1), message("x").subarray(0, 2)]) {
    const busy = inTraffic("ROUTER", "DEALER", 1, { readsPacked: true });
    busy.feed(fed);
    if (fed.length < message("x").length) busy.next();
    assert.equal(busy.endOfPacked(lent, 0, lent.length), -1);
  }
  const between = inTraffic("ROUTER", "DEALER", 1, { readsPacked: true });
  between.feed(encodeFrame(1, Buffer.from("first of two")));
  between.next();
  assert.equal(between.endOfPacked(lent, 0, lent.length), -1);
});

test("a waiting frame does not hold the read it came in", () => {
  const pull = inTraffic("PULL", "PUSH");
  pull.feed(Buffer.concat([message(Buffer.alloc(60_000)), encodeFrame(1, Buffer.from("small"))]));
  assert.equal(pull.next(), "message");
  assert.equal(pull.next(), "need-more");
  pull.feed(message("end"));
  assert.equal(pull.next(), "message");
  assert.deepEqual(pull.frames.map(String), ["small", "end"]);
  assert.ok((pull.frames[0] as Buffer).buffer.byteLength < 1_000);
});

test("a mechanism of several commands that seals traffic needs no change here", () => {
  const router = connection("ROUTER", { security: maskSecurity(true) });
  const dealer = connection("DEALER", { security: maskSecurity(false), identity: Buffer.from("me") });
  assert.deepEqual(join(router, dealer), ["ready", "ready"]);
  assert.equal(router.peerIdentity.toString(), "me");
});

test("sealed frames are opened, joined and counted; a broken seal ends the connection", () => {
  const router = connection("ROUTER", { security: maskSecurity(true) });
  const dealer = connection("DEALER", { security: maskSecurity(false) });
  join(router, dealer);
  const outbox = new Outbox();
  outbox.seal = dealer.seal;
  outbox.putMessage([Buffer.from("secret"), Buffer.alloc(200_000, "b")]);
  outbox.putCommand(encodeCommand("PING", Buffer.of(0, 0)));
  const bytes = Buffer.concat(outbox.take());
  assert.equal(bytes.includes("secret"), false);
  router.feed(bytes);
  assert.equal(router.next(), "message");
  assert.deepEqual(
    router.frames.map((frame) => frame.length),
    [6, 200_000],
  );
  assert.equal(router.next(), "ping");
  router.feed(command("MESSAGE", Buffer.alloc(9)));
  assert.equal(router.next(), "fault");
  assert.equal(router.fault, "bad_seal");
});

test("credentials that are wrong are denied", () => {
  const router = connection("ROUTER", { security: maskSecurity(true) });
  router.feed(Buffer.concat([greeting(1, "MASK"), command("HELLO", Buffer.from("guess"))]));
  assert.equal(router.next(), "fault");
  assert.equal(router.fault, "denied");
});
