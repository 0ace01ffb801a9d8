// Input that no proper peer sends. Each time a counter rises, at most the connection closes, and
// the socket still works for others.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { FaultKind } from "../faults.js";
import { encodeFrame } from "../frames.js";
import type { Limits } from "../limits.js";
import { Inbox } from "../test-kit/inbox.js";
import { command, greeting, message, RawPeer, ready } from "../test-kit/raw-peer.js";
import type { GoneReason, Peer } from "./peer.js";
import { Pub } from "./pub.js";
import { Pull } from "./pull.js";
import { Router } from "./router.js";

// Small, so that the limits are reached with little.
const limits: Partial<Limits> = {
  handshakeMs: 200,
  peersMax: 20,
  frameBytesMax: 1_000_000,
  messageBytesMax: 2_000_000,
  sendBytesMax: 1_000_000,
  subscriptionsMax: 1_000,
};

let faults = new Inbox<FaultKind>();
let gone = new Inbox<GoneReason>();
let got = new Inbox<{ peer: Peer; frames: Buffer[] }>();
const handlers = {
  limits,
  onFault: (_peer: Peer | undefined, kind: FaultKind) => faults.put(kind),
  onPeerGone: (_peer: Peer, reason: GoneReason) => gone.put(reason),
  onMessage: (peer: Peer, frames: Buffer[]) => got.put({ peer, frames }),
};
const pull = new Pull(handlers);
const router = new Router(handlers);
const pub = new Pub(handlers);
let atPull = "";
let atRouter = "";
let atPub = "";

before(async () => {
  atPull = (await pull.bind("tcp://127.0.0.1:0")).endpoint;
  atRouter = (await router.bind("tcp://127.0.0.1:0")).endpoint;
  atPub = (await pub.bind("tcp://127.0.0.1:0")).endpoint;
});
beforeEach(() => {
  faults = new Inbox();
  gone = new Inbox();
  got = new Inbox();
});
after(() => Promise.all([pull.close(), router.close(), pub.close()]));

/** A good peer still gets through. */
async function stillWorks(): Promise<void> {
  const peer = await RawPeer.join(atPull, "PUSH");
  got = new Inbox();
  peer.send(message("hello"));
  assert.deepEqual((await got.next()).frames.map(String), ["hello"]);
  peer.stream.destroy();
}

/** Sends it after a good handshake and expects to be cut off for it. */
async function cutOff(bytes: Buffer, fault: FaultKind): Promise<void> {
  const peer = await RawPeer.join(atPull, "PUSH");
  peer.send(bytes);
  assert.equal(await faults.next(), fault);
  // Peers of the test before may still be leaving.
  let reason = await gone.next();
  while (reason === "closed" || reason === "reset") reason = await gone.next();
  assert.equal(reason, fault);
  await peer.closed;
  await stillWorks();
}

test("half a greeting and silence", async () => {
  const peer = await RawPeer.open(atPull);
  peer.send(greeting().subarray(0, 20));
  assert.equal(await faults.next(), "handshake_timeout");
  await peer.closed;
  await stillWorks();
});

test("a greeting, drop by drop, beyond the time limit", async () => {
  const peer = await RawPeer.open(atPull);
  const bytes = greeting();
  const drip = setInterval(() => peer.stream.write(bytes.subarray(0, 1)), 20);
  // All of them the first byte of a good greeting.
  assert.ok(["handshake_timeout", "not_zmtp"].includes(await faults.next()));
  await peer.closed;
  clearInterval(drip);
});

test("something else than ZMTP", async () => {
  const peer = await RawPeer.open(atPull);
  peer.send(Buffer.from("GET / HTTP/1.1\r\n\r\n"));
  assert.equal(await faults.next(), "not_zmtp");
  await peer.closed;
});

test("an unknown mechanism", async () => {
  const peer = await RawPeer.open(atPull);
  peer.send(greeting(1, "GSSAPI"));
  assert.equal(await faults.next(), "unknown_mechanism");
  await peer.closed;
});

test("a length of 2^63", () => cutOff(Buffer.from("028000000000000000", "hex"), "frame_too_large"));

test("a message that grows frame by frame", () => {
  const frame = encodeFrame(1, Buffer.alloc(900_000));
  return cutOff(Buffer.concat([frame, frame, frame]), "message_too_large");
});

test("a message of 10,000 frames", () =>
  cutOff(Buffer.concat([...Array(10_000)].map(() => encodeFrame(1, Buffer.from("x")))), "too_many_frames"));

test("a command where a message belongs", () => cutOff(ready("PUSH"), "unexpected_command"));

test("a message where a command belongs", async () => {
  const peer = await RawPeer.open(atPull);
  peer.send(greeting(), message("early"));
  assert.equal(await faults.next(), "message_in_handshake");
  await peer.closed;
});

test("a flood of tiny messages is only messages", async () => {
  const count = 1_000_000;
  const done = new Inbox<number>();
  let seen = 0;
  const counter = new Pull({ onMessage: () => ++seen === count && done.put(seen) });
  const peer = await RawPeer.join((await counter.bind("tcp://127.0.0.1:0")).endpoint, "PUSH");
  peer.send(Buffer.alloc(count * 2));
  assert.equal(await done.next(), count);
  assert.deepEqual([...counter.faults.entries()], []);
  await counter.close();
});

test("a flood of unknown commands is counted and passed over", async () => {
  const peer = await RawPeer.join(atPull, "PUSH");
  const before = pull.faults.get("unknown_command");
  peer.send(Buffer.concat([...Array(10_000)].map(() => command("HUH"))), message("after all"));
  assert.equal(String((await got.next()).frames[0]), "after all");
  assert.equal(pull.faults.get("unknown_command") - before, 10_000);
  peer.stream.destroy();
});

test("a million subscriptions", async () => {
  const peer = await RawPeer.join(atPub, "SUB");
  const heapBefore = process.memoryUsage().heapUsed;
  for (let index = 0; index < 1_000_000 && !peer.stream.destroyed; index += 10_000) {
    const some = [...Array(10_000)].map((_, at) => command("SUBSCRIBE", Buffer.from(`topic ${index + at}`)));
    peer.send(Buffer.concat(some));
  }
  assert.equal(await faults.next(), "too_many_subscriptions");
  await peer.closed;
  assert.equal(pub.send([Buffer.from("topic 5")]), 0, "and they went with the peer");
  assert.ok(process.memoryUsage().heapUsed - heapBefore < 200_000_000);
});

test("subscriptions of great length", async () => {
  const peer = await RawPeer.join(atPub, "SUB");
  for (let index = 0; index < 200; index++) peer.send(command("SUBSCRIBE", Buffer.alloc(10_000, index)));
  assert.equal(await faults.next(), "too_many_subscriptions");
  await peer.closed;
});

test("a message to a PUB that is no subscription is dropped", async () => {
  const peer = await RawPeer.join(atPub, "SUB");
  peer.send(message("\x02what"), message("two", "frames"), message(""));
  for (let index = 0; index < 3; index++) assert.equal(await faults.next(), "unexpected_message");
  assert.equal(gone.items.length, 0);
  peer.stream.destroy();
});

test("an identity of 0 bytes is none: the ROUTER makes one up", async () => {
  const peer = await RawPeer.join(atRouter, "DEALER", { identity: Buffer.alloc(0) });
  peer.send(message("hi"));
  const { identity } = (await got.next()).peer;
  assert.equal(identity.length, 5);
  assert.equal(identity[0], 0);
  peer.stream.destroy();
});

for (const [name, identity] of [
  ["of 256 bytes", Buffer.alloc(256, "i")],
  ["that begins with zero", Buffer.from("\0me")],
] as const) {
  test(`an identity ${name}`, async () => {
    const peer = await RawPeer.open(atRouter);
    peer.send(greeting(), ready("DEALER", identity));
    assert.equal(await faults.next(), "bad_identity");
    await peer.closed;
  });
}

test("two peers with one identity: the second is turned away, and gets in when the first is gone", async () => {
  const identity = Buffer.from("twin");
  const first = await RawPeer.join(atRouter, "DEALER", { identity });
  first.send(message("first"));
  await got.next();
  const second = await RawPeer.open(atRouter);
  second.send(greeting(), ready("DEALER", identity));
  assert.equal(await faults.next(), "identity_taken");
  await second.closed;
  first.stream.destroy();
  assert.match(await gone.next(), /closed|reset/);
  const third = await RawPeer.join(atRouter, "DEALER", { identity });
  third.send(message("third"));
  assert.equal(String((await got.next()).frames[0]), "third");
  third.stream.destroy();
});

test("two peers with one identity, with handover: the first is replaced", async () => {
  const events = new Inbox<string>();
  const taker = new Router({
    handover: true,
    onPeerGone: (_peer, reason) => events.put(reason),
    onMessage: (peer, frames) => {
      events.put(String(frames[0]));
      taker.sendTo(peer, frames);
    },
  });
  const { endpoint } = await taker.bind("tcp://127.0.0.1:0");
  const identity = Buffer.from("twin");
  const first = await RawPeer.join(endpoint, "DEALER", { identity });
  first.send(message("first"));
  assert.equal(await events.next(), "first");
  const second = await RawPeer.join(endpoint, "DEALER", { identity });
  assert.equal(await events.next(), "replaced");
  await first.closed;
  assert.equal(taker.sendToIdentity("twin", [Buffer.from("for the second")]), "sent");
  assert.equal(String((await second.frames.next()).body), "for the second");
  await taker.close();
});

test("more connections than peers are allowed", async () => {
  const peers = await Promise.all([...Array(20)].map(() => RawPeer.join(atPull, "PUSH")));
  const extra = await RawPeer.open(atPull);
  assert.equal(await faults.next(), "too_many_peers");
  await extra.closed;
  for (const peer of peers) peer.stream.destroy();
  for (const _ of peers) await gone.next();
  await stillWorks();
});

test("many peers that announce large frames and never finish them", async () => {
  const held = new Inbox<FaultKind>();
  const small = new Pull({
    limits: { assemblyBytesMax: 3_000_000 },
    onFault: (_peer, kind) => held.put(kind),
  });
  const { endpoint } = await small.bind("tcp://127.0.0.1:0");
  const peers: RawPeer[] = [];
  for (let index = 0; index < 5; index++) {
    const peer = await RawPeer.join(endpoint, "PUSH");
    peer.send(encodeFrame(0, Buffer.alloc(900_000)).subarray(0, 100_000));
    peers.push(peer);
  }
  assert.equal(await held.next(), "assembly_full");
  for (const peer of peers) peer.stream.destroy();
  await small.close();
});

test("a peer that pings and reads nothing", async () => {
  const peer = await RawPeer.join(atRouter, "DEALER", { identity: Buffer.from("deaf") });
  peer.stream.pause();
  const pings = Buffer.concat([...Array(5_000)].map(() => command("PING", Buffer.alloc(18, 1))));
  let isDropped = false;
  void faults.next().then((kind) => {
    isDropped = kind === "pong_dropped";
  });
  while (!isDropped)
    if (!peer.stream.write(pings)) await new Promise((resolve) => peer.stream.once("drain", resolve));
  assert.ok(router.pendingBytes < 10_000_000);
  peer.stream.destroy();
});

test("any bytes on any port", async () => {
  // A small generator with a fixed seed: the same bytes each time.
  let state = 0x2545f491;
  const random = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const noise = () => Buffer.from([...Array(random(400))].map(() => random(random(3) === 0 ? 256 : 8)));
  const types = { [atPull]: "PUSH", [atRouter]: "DEALER", [atPub]: "SUB" };
  for (let round = 0; round < 300; round++) {
    const [endpoint, type] = Object.entries(types)[round % 3] as [string, string];
    const peer = await RawPeer.open(endpoint);
    const opening = [Buffer.alloc(0), greeting(), Buffer.concat([greeting(), ready(type)])][
      random(3)
    ] as Buffer;
    peer.stream.end(Buffer.concat([opening, noise(), message(noise()), noise()]));
    await peer.closed;
  }
  await stillWorks();
});
