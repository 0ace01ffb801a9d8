// Limits that peers share: memory of messages that never end, counted at its real cost, and the
// time of one turn.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { FaultKind } from "../faults.js";
import { MORE } from "../frames.js";
import { Inbox } from "../test-kit/inbox.js";
import { ManualClock } from "../test-kit/manual-clock.js";
import { message, RawPeer } from "../test-kit/raw-peer.js";
import { Assembly } from "./assembly.js";
import type { Peer } from "./peer.js";
import { Router } from "./router.js";
import { Totals } from "./send-queue.js";
import type { WirePeer } from "./wire-peer.js";

const KiB = 1024;
const oneByteFrame = Buffer.from([MORE, 1, 65]);

test("frames of an unfinished message count for what they cost, not only for their bytes", async () => {
  const faults = new Inbox<FaultKind>();
  const limits = { assemblyBytesMax: 1024 * KiB, messageFramesMax: 1_000_000 };
  const router = new Router({ limits, onFault: (_peer, kind) => faults.put(kind) });
  const { endpoint } = await router.bind("tcp://127.0.0.1:0");
  const peer = await RawPeer.join(endpoint, "DEALER");
  // 60 KB on the wire and 20 KB of bodies, but more than two megabytes of objects.
  peer.send(Buffer.alloc(20_000 * oneByteFrame.length, oneByteFrame));
  assert.equal(await faults.next(), "assembly_full");
  await peer.closed;
  await router.close();
});

test("sockets that share their totals have one limit for unfinished messages", async () => {
  const faults = new Inbox<FaultKind>();
  const totals = new Totals();
  const open = async () => {
    const limits = { assemblyBytesMax: 1024 * KiB };
    const router = new Router({ limits, totals, onFault: (_peer, kind) => faults.put(kind) });
    return { router, at: (await router.bind("tcp://127.0.0.1:0")).endpoint };
  };
  const [one, other] = [await open(), await open()];
  const half = Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0x08, 0, 0]), Buffer.alloc(500 * KiB)]);
  const first = await RawPeer.join(one.at, "DEALER");
  first.send(half);
  const second = await RawPeer.join(other.at, "DEALER");
  second.send(half);
  assert.equal(await faults.next(), "assembly_full");
  await Promise.all([one.router.close(), other.router.close()]);
  assert.equal(totals.heldBytes, 0);
});

/** A frame of this size without its last bytes. */
const allBut = (size: number, missing: number) => {
  const head = Buffer.alloc(9);
  head[0] = 2;
  head.writeBigUInt64BE(BigInt(size), 1);
  return Buffer.concat([head, Buffer.alloc(size - missing, "x")]);
};

test("a peer that stops in the middle of a message does not keep the room from others", async () => {
  const faults = new Inbox<Peer | undefined>();
  const got = new Inbox<number>();
  const clock = new ManualClock();
  clock.chance = 0;
  const totals = new Totals();
  const router = new Router({
    clock,
    totals,
    limits: { assemblyBytesMax: 1024 * KiB },
    onFault: (peer) => faults.put(peer),
    onMessage: (_peer, [frame]) => got.put(frame?.length ?? 0),
  });
  const { endpoint } = await router.bind("tcp://127.0.0.1:0");
  // A 3.0 peer cannot be pinged, so its silence alone does not end it.
  const idle = await RawPeer.join(endpoint, "DEALER", { minor: 0 });
  idle.send(allBut(800 * KiB, 1));
  while (totals.heldBytes < 800 * KiB) await new Promise(setImmediate);
  const other = await RawPeer.join(endpoint, "DEALER", { minor: 0 });
  other.send(allBut(200 * KiB, 1));
  assert.ok(await faults.next(), "while the first is sending, the other is disconnected");
  await other.closed;
  clock.advance(9_000);
  const third = await RawPeer.join(endpoint, "DEALER", { minor: 0 });
  third.send(allBut(200 * KiB, 0));
  assert.equal(await got.next(), 200 * KiB);
  await idle.closed;
  assert.equal(totals.heldBytes, 0);
  await router.close({ lingerMs: 0 });
});

test("a peer that sends on slowly keeps its room while others have enough", async () => {
  const got = new Inbox<number>();
  const clock = new ManualClock();
  clock.chance = 0;
  const totals = new Totals();
  const router = new Router({
    clock,
    totals,
    limits: { assemblyBytesMax: 1024 * KiB },
    onFault: (_peer, kind) => assert.fail(kind),
    onMessage: (_peer, [frame]) => got.put(frame?.length ?? 0),
  });
  const { endpoint } = await router.bind("tcp://127.0.0.1:0");
  const slow = await RawPeer.join(endpoint, "DEALER", { minor: 0 });
  slow.send(allBut(800 * KiB, 1));
  while (totals.heldBytes < 800 * KiB) await new Promise(setImmediate);
  clock.advance(60_000);
  const small = await RawPeer.join(endpoint, "DEALER", { minor: 0 });
  const whole = allBut(60 * KiB, 0);
  small.send(whole.subarray(0, 100));
  small.send(whole.subarray(100));
  assert.equal(await got.next(), 60 * KiB);
  slow.send(Buffer.from("x"));
  assert.equal(await got.next(), 800 * KiB);
  await router.close({ lingerMs: 0 });
});

/** A socket with room for 1 MiB, and its peers in the order in which they joined. */
async function openRoom() {
  const faults = new Inbox<Peer | undefined>();
  const got = new Inbox<number>();
  const joined = new Inbox<Peer>();
  const clock = new ManualClock();
  clock.chance = 0;
  const totals = new Totals();
  const router = new Router({
    clock,
    totals,
    limits: { assemblyBytesMax: 1024 * KiB },
    onPeer: (peer) => joined.put(peer),
    onFault: (peer) => faults.put(peer),
    onMessage: (_peer, [frame]) => got.put(frame?.length ?? 0),
  });
  const { endpoint } = await router.bind("tcp://127.0.0.1:0");
  const join = async () => {
    const raw = await RawPeer.join(endpoint, "DEALER", { minor: 0 });
    return { raw, peer: await joined.next() };
  };
  return { faults, got, clock, totals, router, join };
}

test("a peer that we did not read for a minute has not stalled when we read on", async () => {
  const { faults, got, clock, router, join } = await openRoom();
  const paused = await join();
  paused.raw.send(allBut(800 * KiB, 1));
  while ((paused.peer as WirePeer).recentBytes < 800 * KiB) await new Promise(setImmediate);
  router.pause(paused.peer);
  clock.advance(60_000);
  router.resume(paused.peer);
  const other = await join();
  other.raw.send(allBut(200 * KiB, 1));
  assert.ok((await faults.next()) === other.peer);
  paused.raw.send(Buffer.from("x"));
  assert.equal(await got.next(), 800 * KiB);
  await router.close({ lingerMs: 0 });
});

test("a message of which little has arrived has begun, and not stalled", async () => {
  const { faults, got, totals, router, join } = await openRoom();
  const begun = await join();
  const whole = allBut(200 * KiB, 0);
  begun.raw.send(whole.subarray(0, 100));
  while (totals.heldBytes < 200 * KiB) await new Promise(setImmediate);
  const other = await join();
  other.raw.send(allBut(800 * KiB, 1));
  assert.ok((await faults.next()) === other.peer);
  begun.raw.send(whole.subarray(100));
  assert.equal(await got.next(), 200 * KiB);
  await router.close({ lingerMs: 0 });
});

test("sockets can share the room; a message larger than all of it passes alone", async () => {
  const faults = new Inbox<FaultKind>();
  const got = new Inbox<number>();
  const assembly = new Assembly(1024 * KiB);
  const open = async () => {
    const router = new Router({
      assembly,
      onFault: (_peer, kind) => faults.put(kind),
      onMessage: (_peer, [frame]) => got.put(frame?.length ?? 0),
    });
    return { router, at: (await router.bind("tcp://127.0.0.1:0")).endpoint };
  };
  const [one, other] = [await open(), await open()];
  const large = await RawPeer.join(one.at, "DEALER");
  large.send(allBut(3000 * KiB, 1));
  while (assembly.heldBytes < 3000 * KiB) await new Promise(setImmediate);
  const second = await RawPeer.join(other.at, "DEALER");
  second.send(allBut(200 * KiB, 1));
  assert.equal(await faults.next(), "assembly_full");
  await second.closed;
  large.send(Buffer.from("x"));
  assert.equal(await got.next(), 3000 * KiB);
  await Promise.all([one.router.close(), other.router.close()]);
  assert.equal(assembly.heldBytes, 0);
});

test("beside a message larger than all of the room, small ones arrive in pieces", async () => {
  const got = new Inbox<number>();
  const assembly = new Assembly(1024 * KiB);
  const router = new Router({
    assembly,
    onFault: (_peer, kind) => assert.fail(kind),
    onMessage: (_peer, [frame]) => got.put(frame?.length ?? 0),
  });
  const { endpoint } = await router.bind("tcp://127.0.0.1:0");
  const large = await RawPeer.join(endpoint, "DEALER");
  large.send(allBut(3000 * KiB, 1));
  while (assembly.heldBytes < 3000 * KiB) await new Promise(setImmediate);
  const small = await RawPeer.join(endpoint, "DEALER");
  small.send(allBut(50 * KiB, 1));
  while (assembly.heldBytes < 3050 * KiB) await new Promise(setImmediate);
  small.send(Buffer.from("x"));
  assert.equal(await got.next(), 50 * KiB);
  large.send(Buffer.from("x"));
  assert.equal(await got.next(), 3000 * KiB);
  await router.close();
  assert.equal(assembly.heldBytes, 0);
});

test("a peer that holds little is not turned away because another holds much", async () => {
  const faults = new Inbox<FaultKind>();
  const got = new Inbox<string>();
  const router = new Router({
    limits: { assemblyBytesMax: 1024 * KiB },
    onFault: (_peer, kind) => faults.put(kind),
    onMessage: (_peer, frames) => got.put(frames.join(" ")),
  });
  const { endpoint } = await router.bind("tcp://127.0.0.1:0");
  const large = await RawPeer.join(endpoint, "DEALER");
  large.send(Buffer.from([2, 0, 0, 0, 0, 0, 0x0d, 0, 0]), Buffer.alloc(800 * KiB));
  const small = await RawPeer.join(endpoint, "DEALER");
  const whole = message("a", "b".repeat(200));
  small.send(whole.subarray(0, 100));
  const greedy = await RawPeer.join(endpoint, "DEALER");
  greedy.send(Buffer.from([2, 0, 0, 0, 0, 0, 0x04, 0, 0]), Buffer.alloc(200 * KiB));
  assert.equal(await faults.next(), "assembly_full");
  await greedy.closed;
  small.send(whole.subarray(100));
  assert.equal(await got.next(), `a ${"b".repeat(200)}`);
  await router.close();
});

test("a message of very many frames comes as a table, and counts while it is carried out", async () => {
  const tables = new Inbox<{ peer: Peer; count: number; last: string }>();
  const lists = new Inbox<number>();
  const assembly = new Assembly();
  const limits = { messageFramesMax: 1_000_000 };
  const router = new Router({
    ...{ limits, assembly, onMessage: (_peer, frames) => lists.put(frames.length) },
    onTable: (peer, table) => {
      router.pause(peer);
      const last = table.count - 1;
      tables.put({
        peer,
        count: table.count,
        last: String(table.bufferOf(last).subarray(table.startOf(last))),
      });
    },
  });
  const { endpoint } = await router.bind("tcp://127.0.0.1:0");
  const peer = await RawPeer.join(endpoint, "DEALER");
  peer.send(message(...new Array<string>(20_000).fill("x"), "y".repeat(300)));
  peer.send(message(...new Array<string>(100).fill("x")));
  const table = await tables.next();
  assert.deepEqual([table.count, table.last], [20_001, "y".repeat(300)]);
  assert.ok(assembly.heldBytes > 20_001 * 12, `${assembly.heldBytes} bytes`);
  router.resume(table.peer);
  assert.equal(await lists.next(), 100);
  assert.equal(assembly.heldBytes, 0);
  await router.close();
});

test("many peers that send at once share the time of a turn", async () => {
  const clock = new ManualClock();
  clock.chance = 0;
  let inTurn = 0;
  let most = 0;
  const got = new Inbox<number>();
  const router = new Router({
    clock,
    onMessage: () => {
      // As if each took 4 ms of work.
      clock.now += 4;
      inTurn += 1;
      most = Math.max(most, inTurn);
      got.put(inTurn);
    },
  });
  const { endpoint } = await router.bind("tcp://127.0.0.1:0");
  const peers = await Promise.all(Array.from({ length: 40 }, () => RawPeer.join(endpoint, "DEALER")));
  let isOver = false;
  const countTurns = () => {
    inTurn = 0;
    if (!isOver) setImmediate(countTurns);
  };
  countTurns();
  for (const peer of peers) peer.send(message("work"));
  await got.take(peers.length);
  isOver = true;
  // Three in the reads of a turn and three in the pass after them.
  assert.ok(most <= 8, `${most} messages were handled in one turn`);
  for (const peer of peers) peer.stream.destroy();
  await router.close({ lingerMs: 0 });
});

test("a peer that sent little is read before those that sent much", async (t) => {
  const clock = new ManualClock();
  clock.chance = 0;
  const order: string[] = [];
  const got = new Inbox<string>();
  const router = new Router({
    clock,
    onMessage: (_peer, [word]) => {
      // As if each took 11 ms of work: more than a turn has.
      clock.now += 11;
      order.push(String(word).slice(0, 5));
      got.put(order.at(-1) as string);
    },
  });
  const { endpoint } = await router.bind("tcp://127.0.0.1:0");
  const floods = await Promise.all(Array.from({ length: 20 }, () => RawPeer.join(endpoint, "DEALER")));
  const small = await RawPeer.join(endpoint, "DEALER");
  t.after(async () => {
    for (const peer of [...floods, small]) peer.stream.destroy();
    await router.close({ lingerMs: 0 });
  });
  // Two messages each, so that what waits for its turn is much.
  for (const flood of floods) flood.send(message("flood".repeat(2_000)), message("flood".repeat(2_000)));
  await got.next();
  small.send(message("small"));
  await got.take(40);
  const before = order.indexOf("small");
  assert.ok(before < 20, `${before} messages of others came first`);
});

test("a meter limits the connections and the unfinished bytes of a principal", async () => {
  const faults = new Inbox<FaultKind>();
  const peers = new Inbox<Peer>();
  const gone = new Inbox<Peer>();
  const held = new Map<Peer, number>();
  const router = new Router({
    handover: true,
    heartbeat: { intervalMs: 0 },
    meter: {
      joins: (peer) => held.size < 2 && held.set(peer, 0) !== undefined,
      holds: (peer, bytes) => held.set(peer, bytes) !== undefined && bytes <= 100 * KiB,
      left: (peer) => void held.delete(peer),
    },
    onFault: (_peer, kind) => faults.put(kind),
    onPeer: peers.put,
    onPeerGone: gone.put,
  });
  const { endpoint } = await router.bind("tcp://127.0.0.1:0");
  const first = await RawPeer.join(endpoint, "DEALER", { identity: Buffer.from("same") });
  await peers.next();
  const second = await RawPeer.join(endpoint, "DEALER");
  await peers.next();
  const third = await RawPeer.join(endpoint, "DEALER", { identity: Buffer.from("third") });
  assert.equal(await faults.next(), "over_quota");
  await third.closed;
  assert.equal(router.find("third"), undefined);
  // A peer that takes over its identity is not one more.
  await RawPeer.join(endpoint, "DEALER", { identity: Buffer.from("same") });
  await peers.next();
  await first.closed;
  second.send(Buffer.from([2, 0, 0, 0, 0, 0, 0x08, 0, 0]), Buffer.alloc(200 * KiB));
  assert.equal(await faults.next(), "over_quota");
  await second.closed;
  await router.close();
  assert.equal(held.size, 0);
});
