// Slow peers: memory stays within the marks, other peers do not wait, and no accepted message is
// lost.

import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Inbox } from "../test-kit/inbox.js";
import { ManualClock } from "../test-kit/manual-clock.js";
import { message, RawPeer } from "../test-kit/raw-peer.js";
import { Dealer } from "./dealer.js";
import type { Peer } from "./peer.js";
import { Pub } from "./pub.js";
import { Pull } from "./pull.js";
import { Push } from "./push.js";
import { Router } from "./router.js";

const kilobyte = Buffer.alloc(1_000, "k");
const limits = { sendBytesMax: 200_000 };

test("a peer that sends and never reads fills its own queue and nobody else's", async () => {
  const got = new Inbox<Peer>();
  const room = new Inbox<Peer>();
  const router = new Router({ limits, onMessage: (peer) => got.put(peer), onRoom: room.put });
  const { endpoint } = await router.bind("tcp://127.0.0.1:0");
  const deaf = await RawPeer.join(endpoint, "DEALER", { identity: Buffer.from("deaf") });
  deaf.stream.pause();
  deaf.send(message("I talk"));
  const deafPeer = await got.next();
  let outcome = router.sendTo(deafPeer, [kilobyte]);
  let taken = 0;
  for (; outcome !== "full"; outcome = router.sendTo(deafPeer, [kilobyte])) {
    taken++;
    if (taken % 100 === 0) await new Promise(setImmediate);
  }
  assert.ok(deafPeer.pendingBytes <= 200_000 + 2_000);
  deaf.send(message("I still talk"));
  assert.equal(await got.next(), deafPeer, "it is still heard");
  const good = await RawPeer.join(endpoint, "DEALER", { identity: Buffer.from("good") });
  good.send(message("hello"));
  assert.equal(router.sendTo(await got.next(), [Buffer.from("at once")]), "sent");
  assert.equal(String((await good.frames.next()).body), "at once");
  deaf.stream.resume();
  assert.equal(await room.next(), deafPeer);
  const frames = await deaf.frames.take(taken);
  assert.ok(frames.every(({ body }) => body.length === 1_000));
  assert.equal(deafPeer.pendingBytes, 0);
  assert.equal(router.pendingBytes, 0);
  await router.close();
});

test("the queues of all slow peers together have a limit too", async () => {
  const peers = new Inbox<Peer>();
  const push = new Push({ limits: { sendTotalBytesMax: 8_000_000 }, onPeer: peers.put });
  const { endpoint } = await push.bind("tcp://127.0.0.1:0");
  const large = Buffer.alloc(5_000_000);
  const deaf = [await RawPeer.join(endpoint, "PULL"), await RawPeer.join(endpoint, "PULL")];
  for (const peer of deaf) peer.stream.pause();
  const [one, two] = (await peers.take(2)) as [Peer, Peer];
  for (const peer of [one, two]) push.sendTo(peer, [large]);
  await new Promise(setImmediate);
  assert.equal(push.sendTo(one, [large]), "full");
  for (const peer of deaf) peer.stream.destroy();
  await push.close({ lingerMs: 0 });
});

test("a PUSH goes on with the PULLs that have room, and says when none has", async () => {
  const room = new Inbox<Peer>();
  const peers = new Inbox<Peer>();
  const push = new Push({ limits, onPeer: peers.put, onRoom: room.put });
  const { endpoint } = await push.bind("tcp://127.0.0.1:0");
  const slow = await RawPeer.join(endpoint, "PULL");
  slow.stream.pause();
  const slowPeer = await peers.next();
  const count = new Inbox<number>();
  const pull = new Pull({ onMessage: () => count.put(1) });
  pull.connect(endpoint);
  const fastPeer = await peers.next();
  while (push.sendTo(slowPeer, [kilobyte]) !== "full")
    if (slowPeer.pendingBytes > 100_000) await new Promise(setImmediate);
  for (let index = 0; index < 100; index++) assert.equal(push.send([kilobyte]), "sent");
  await count.take(100);
  pull.close();
  while (fastPeer.isOpen) await new Promise(setImmediate);
  assert.equal(push.send([kilobyte]), "full");
  slow.stream.resume();
  assert.equal(await room.next(), slowPeer);
  assert.equal(push.send([kilobyte]), "sent");
  await push.close();
});

test("a PUB passes a slow SUB over and counts what it missed", async () => {
  const subscribed = new Inbox<Peer>();
  const pub = new Pub({ limits, onSubscription: (peer) => subscribed.put(peer) });
  const { endpoint } = await pub.bind("tcp://127.0.0.1:0");
  const [slow, quick] = [
    await RawPeer.join(endpoint, "SUB"),
    await RawPeer.join(endpoint, "SUB", { minor: 0 }),
  ];
  slow.send(message("\x01"));
  const slowPeer = await subscribed.next();
  quick.send(message("\x01"));
  await subscribed.next();
  slow.stream.pause();
  let sent = 0;
  for (; slowPeer.droppedMessages < 100; sent++) {
    pub.send([kilobyte]);
    if (sent % 50 === 0) await quick.frames.take(Math.min(50, sent));
  }
  assert.equal(pub.droppedMessages, 100);
  assert.ok(pub.pendingBytes < 1_000_000);
  await pub.close({ lingerMs: 0 });
});

test("a paused peer is not read: the sender feels it, and everything comes after resume", async () => {
  const got: Buffer[][] = [];
  const arrived = new Inbox<Peer>();
  const pull: Pull = new Pull({
    onMessage: (peer, frames) => {
      got.push(frames);
      if (got.length === 1) pull.pause(peer);
      arrived.put(peer);
    },
  });
  const { endpoint } = await pull.bind("tcp://127.0.0.1:0");
  const peers = new Inbox<Peer>();
  const room = new Inbox<Peer>();
  const push = new Push({ limits, onPeer: peers.put, onRoom: room.put });
  push.connect(endpoint);
  await peers.next();
  let sent = 0;
  while (push.send([kilobyte]) !== "full") if (++sent % 100 === 0) await new Promise(setImmediate);
  const peer = await arrived.next();
  assert.equal(got.length, 1, "not one more, even of the same read");
  assert.equal(peer.isPaused, true);
  pull.resume(peer);
  await room.next();
  await arrived.take(sent - 1);
  assert.equal(got.length, sent);
  await Promise.all([pull.close(), push.close()]);
});

test("what a paused peer sent before it left is delivered before its departure", async () => {
  const events: string[] = [];
  const gone = new Inbox<string>();
  const first = new Inbox<Peer>();
  const pull: Pull = new Pull({
    onMessage: (peer, frames) => {
      events.push(String(frames[0]));
      if (events.length === 1) {
        pull.pause(peer);
        first.put(peer);
      }
    },
    onPeerGone: (_peer, reason) => gone.put(reason),
  });
  const { endpoint } = await pull.bind("tcp://127.0.0.1:0");
  const peer = await RawPeer.join(endpoint, "PUSH");
  peer.send(message("one"), message("two"), message("three"));
  const paused = await first.next();
  peer.stream.end();
  await once(peer.stream, "finish");
  assert.deepEqual(events, ["one"]);
  pull.resume(paused);
  assert.equal(await gone.next(), "closed");
  assert.deepEqual(events, ["one", "two", "three"]);
  await pull.close();
});

test("messages count towards the mark as well as bytes", async () => {
  const peers = new Inbox<Peer>();
  const dealer = new Dealer({ limits: { sendMessagesMax: 10 }, onPeer: peers.put });
  const router = new Router();
  dealer.connect((await router.bind("tcp://127.0.0.1:0")).endpoint);
  await peers.next();
  const outcomes = [...Array(12)].map(() => dealer.send([Buffer.alloc(0)]));
  assert.deepEqual(outcomes, [...Array(10).fill("sent"), "full", "full"]);
  await Promise.all([dealer.close(), router.close()]);
});

test("a peer that floods gives others a turn", async () => {
  const total = 2_000_000;
  const done = new Inbox<number>();
  let seen = 0;
  let seenAtTurn = 0;
  let mostInTurn = 0;
  const pull = new Pull({ onMessage: () => ++seen === total && done.put(seen) });
  const flooder = await RawPeer.join((await pull.bind("tcp://127.0.0.1:0")).endpoint, "PUSH");
  const turn = () => {
    mostInTurn = Math.max(mostInTurn, seen - seenAtTurn);
    seenAtTurn = seen;
    if (seen < total) setImmediate(turn);
  };
  setImmediate(turn);
  flooder.send(Buffer.alloc(total * 2));
  await done.next();
  // Two bytes per message: the share of a turn plus at most one read, doubled because two turns may
  // meet.
  assert.ok(mostInTurn <= (2 * ((256 + 64) * 1024)) / 2, `${mostInTurn} messages in a turn`);
  await pull.close();
});

test("a deaf peer that we hang up on is cut off after its second", async () => {
  const clock = new ManualClock();
  const peers = new Inbox<Peer>();
  const push = new Push({ clock, onPeer: peers.put });
  const deaf = await RawPeer.join((await push.bind("tcp://127.0.0.1:0")).endpoint, "PULL");
  deaf.stream.pause();
  const peer = await peers.next();
  push.sendTo(peer, [Buffer.alloc(30_000_000)]);
  await new Promise(setImmediate);
  push.disconnect(peer);
  assert.equal(peer.isOpen, false);
  assert.equal(push.pendingBytes, 0);
  clock.advance(1_000);
  deaf.stream.resume();
  await deaf.closed;
  await push.close();
});
