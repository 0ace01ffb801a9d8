// Sockets with PLAIN and CURVE: who gets in, as whom, and what becomes of the rest.

import assert from "node:assert/strict";
import { test } from "node:test";
import { curveKeyPair } from "../curve-keys.js";
import type { FaultKind } from "../faults.js";
import { greetingBytes } from "../greeting.js";
import type { Authenticate } from "../mechanisms/handshake.js";
import type { ConnectSecurity, ListenSecurity, MechanismName } from "../mechanisms/security-option.js";
import { encodeMetadata } from "../metadata.js";
import type { StreamedBody } from "../streamed-body.js";
import { Inbox } from "../test-kit/inbox.js";
import { ManualClock } from "../test-kit/manual-clock.js";
import { command, greeting, message, RawPeer, ready } from "../test-kit/raw-peer.js";
import { Dealer } from "./dealer.js";
import type { GoneReason, Peer } from "./peer.js";
import { Pub } from "./pub.js";
import { Router, type RouterOptions } from "./router.js";
import { Sub } from "./sub.js";
import type { ZmtpSocket } from "./zmtp-socket.js";

const server = curveKeyPair();
const client = curveKeyPair();
const closeAll = (...sockets: ZmtpSocket[]) =>
  Promise.all(sockets.map((socket) => socket.close({ lingerMs: 100 })));
const curve: ConnectSecurity = { curve: { serverKey: server.publicKey, ...client } };
const plain = (username: string): ConnectSecurity => ({ plain: { username, password: "pass" } });

/** The principal is the user's name, or "curve" for a client with any key. */
const everyone: Authenticate = (shown) =>
  shown.mechanism === "PLAIN" ? shown.username : shown.mechanism === "CURVE" ? "curve" : "anonymous";

function listening(mechanisms: MechanismName[], authenticate = everyone): { security: ListenSecurity } {
  return { security: { mechanisms, secretKey: server.secretKey, authenticate } };
}

async function bound(mechanisms: MechanismName[], options: RouterOptions = {}) {
  const [peers, faults, gone] = [new Inbox<Peer>(), new Inbox<FaultKind>(), new Inbox<GoneReason>()];
  const got = new Inbox<{ peer: Peer; frames: string[] }>();
  const router = new Router({
    ...listening(mechanisms),
    heartbeat: { intervalMs: 0 },
    onPeer: peers.put,
    onFault: (_peer, kind) => faults.put(kind),
    onPeerGone: (_peer, reason) => gone.put(reason),
    onMessage: (peer, frames) => got.put({ peer, frames: frames.map(String) }),
    ...options,
  });
  return { router, peers, faults, gone, got, ...(await router.bind("tcp://127.0.0.1:0")) };
}

test("one socket takes all three mechanisms, and each peer has its principal", async () => {
  const { router, peers, endpoint } = await bound(["NULL", "PLAIN", "CURVE"]);
  const dealers: Dealer[] = [];
  for (const [security, mechanism, principal] of [
    [undefined, "NULL", "anonymous"],
    [plain("alice"), "PLAIN", "alice"],
    [curve, "CURVE", "curve"],
  ] as const) {
    const dealer = new Dealer({ ...(security && { security }) });
    dealers.push(dealer);
    dealer.connect(endpoint);
    const peer = await peers.next();
    assert.deepEqual([peer.mechanism, peer.principal], [mechanism, principal]);
  }
  await closeAll(router, ...dealers);
});

test("a socket that demands CURVE never talks NULL or PLAIN", async () => {
  for (const mechanisms of [["CURVE"], ["CURVE", "PLAIN"]] as MechanismName[][]) {
    const { router, faults, endpoint } = await bound(mechanisms);
    for (const name of ["NULL", "PLAIN"].filter((each) => !mechanisms.includes(each as MechanismName))) {
      const raw = await RawPeer.open(endpoint);
      raw.send(greeting(1, name), ready("DEALER"), message("job"));
      assert.equal(await faults.next(), "unknown_mechanism");
      await raw.closed;
    }
    // CURVE in the greeting, and then a handshake or a message in the clear.
    for (const [bytes, fault] of [
      [ready("DEALER"), "unexpected_command"],
      [message("job"), "message_in_handshake"],
    ] as const) {
      const raw = await RawPeer.open(endpoint);
      raw.send(greeting(1, "CURVE"), bytes);
      assert.equal(await faults.next(), fault);
      await raw.closed;
    }
    assert.deepEqual([...router.peers()], []);
    await closeAll(router);
  }
});

test("with a choice, our greeting waits for the peer's, which may come byte by byte", async () => {
  const { router, peers, endpoint } = await bound(["CURVE", "NULL"]);
  const raw = await RawPeer.open(endpoint);
  let received = Buffer.alloc(0);
  raw.stream.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
  });
  for (const byte of greeting(1, "NULL")) raw.send(Buffer.of(byte));
  raw.send(ready("DEALER"));
  assert.equal((await peers.next()).mechanism, "NULL");
  await raw.frames.next();
  assert.equal(received.toString("latin1", 12, 20), "NULL\0\0\0\0");
  assert.ok(received.length > greetingBytes);
  raw.stream.destroy();
  await closeAll(router);
});

test("a peer that is refused is answered by PLAIN and not by CURVE, and counted", async () => {
  const { router, faults, endpoint } = await bound(["PLAIN", "CURVE"], {
    ...listening(["PLAIN", "CURVE"], () => undefined),
  });
  const raw = await RawPeer.open(endpoint);
  raw.send(greeting(1, "PLAIN"), command("HELLO", Buffer.from("\x05alice\x04pass")));
  assert.equal((await raw.frames.next()).body.toString(), "^RROR\x03400");
  await raw.closed;
  const failures = new Inbox<string>();
  const onConnectFailed = (_endpoint: string, { message: why }: Error) => failures.put(why);
  for (const [security, reason] of [
    [plain("alice"), /refused/],
    [curve, /closed|reset/],
  ] as const) {
    const dealer = new Dealer({ security, onConnectFailed });
    dealer.connect(endpoint);
    assert.match(await failures.next(), reason);
    await closeAll(dealer);
  }
  assert.deepEqual(await faults.take(3), ["denied", "denied", "denied"]);
  assert.ok(router.faults.get("denied") >= 3);
  await closeAll(router);
});

test("revoke() ends all peers of a principal, handshakes too, and no others", async () => {
  const { router, peers, gone, endpoint } = await bound(["PLAIN"]);
  const reconnect = { firstMs: 60_000, maxMs: 60_000 };
  const dealers = ["alice", "bob", "alice"].map((name) => new Dealer({ security: plain(name), reconnect }));
  for (const dealer of dealers) {
    dealer.connect(endpoint);
    await peers.next();
  }
  // Known by now, and not yet a peer.
  const raw = await RawPeer.open(endpoint);
  raw.send(greeting(1, "PLAIN"), command("HELLO", Buffer.from("\x05alice\x04pass")));
  assert.equal((await raw.frames.next()).body.toString(), "\x07WELCOME");
  assert.equal(
    router.revoke((principal) => principal === "alice"),
    2,
  );
  assert.deepEqual(await gone.take(2), ["revoked", "revoked"]);
  await raw.closed;
  assert.deepEqual(
    [...router.peers()].map(({ principal }) => principal),
    ["bob"],
  );
  await closeAll(router, ...dealers);
});

test("a new server key is for new connections; open ones go on", async () => {
  const next = curveKeyPair();
  let secretKey = server.secretKey;
  const security = { mechanisms: ["CURVE"], secretKey: () => secretKey, authenticate: everyone } as const;
  const { router, peers, faults, got, endpoint } = await bound(["CURVE"], { security });
  const before = new Dealer({ security: curve });
  before.connect(endpoint);
  await peers.next();
  secretKey = next.secretKey;
  const after = new Dealer({ security: { curve: { serverKey: next.publicKey, ...client } } });
  after.connect(endpoint);
  await peers.next();
  const late = new Dealer({ security: curve });
  late.connect(endpoint);
  assert.equal(await faults.next(), "bad_handshake");
  for (const dealer of [before, after]) {
    dealer.send([Buffer.from("job")]);
    assert.deepEqual((await got.next()).frames, ["job"]);
  }
  await closeAll(router, before, after, late);
});

test("an identity is not taken over by another principal", async () => {
  const { router, peers, faults, gone, endpoint } = await bound(["PLAIN"], { handover: true });
  const dealers = ["alice", "bob", "alice"].map(
    (name) =>
      new Dealer({ identity: "w", security: plain(name), reconnect: { firstMs: 60_000, maxMs: 60_000 } }),
  );
  dealers[0]?.connect(endpoint);
  const first = await peers.next();
  dealers[1]?.connect(endpoint);
  assert.equal(await faults.next(), "identity_taken");
  assert.equal(router.find("w"), first);
  dealers[2]?.connect(endpoint);
  assert.equal(await gone.next(), "replaced");
  assert.equal(router.find("w"), await peers.next());
  await closeAll(router, ...dealers);
});

test("a handshake that stops has a deadline and counts as a peer", async () => {
  const { router, faults, endpoint } = await bound(["CURVE"], { limits: { handshakeMs: 200, peersMax: 2 } });
  const raws = [await RawPeer.open(endpoint), await RawPeer.open(endpoint)];
  for (const raw of raws) raw.send(greeting(1, "CURVE"));
  const third = await RawPeer.open(endpoint);
  assert.equal(await faults.next(), "too_many_peers");
  await third.closed;
  assert.deepEqual(await faults.take(2), ["handshake_timeout", "handshake_timeout"]);
  await Promise.all(raws.map((raw) => raw.closed));
  await closeAll(router);
});

test("a rush of CURVE handshakes is worked off a little in each turn, and all get in", async () => {
  // Every look at this clock takes longer than a turn may: one handshake is read in each.
  let elapsed = 0;
  const slow = Object.assign(new ManualClock(), {
    chance: 0,
    elapsed: () => {
      elapsed += 11;
      return elapsed;
    },
  });
  const { router, peers, got, endpoint } = await bound(["CURVE"], { clock: slow });
  const dealers = Array.from({ length: 20 }, () => new Dealer({ security: curve }));
  for (const dealer of dealers) dealer.connect(endpoint);
  const joined = await peers.take(20);
  assert.equal(new Set(joined).size, 20);
  for (const peer of joined) router.sendTo(peer, [Buffer.from("hello")]);
  dealers[7]?.send([Buffer.from("still here")]);
  assert.deepEqual((await got.next()).frames, ["still here"]);
  assert.deepEqual([...router.faults.entries()], []);
  await closeAll(router, ...dealers);
});

test("streamed bodies are sealed in their place, late pieces too; a missing piece ends the connection", async () => {
  const { router, peers, gone, endpoint } = await bound(["CURVE"]);
  const got = new Inbox<Buffer[]>();
  const dealer = new Dealer({ security: curve, onMessage: (_peer, frames) => got.put(frames) });
  dealer.connect(endpoint);
  const peer = await peers.next();
  const ended = new Inbox<string>();
  const streamed = (name: string, pieces: (Buffer | undefined)[]): StreamedBody => ({
    length: pieces.reduce((sum, piece) => sum + (piece?.length ?? 1), 0),
    pull(take) {
      const piece = pieces.shift();
      if (pieces.length % 2 === 0) take(piece);
      else setImmediate(() => take(piece));
    },
    end: () => ended.put(name),
  });
  const pieces = Array.from({ length: 300 }, (_, index) => Buffer.alloc(1_000, index));
  router.sendTo(peer, [Buffer.from("before")]);
  const large = streamed("large", [...pieces]);
  assert.equal(
    router.sendStreamed(peer, [Buffer.from("head"), large, streamed("empty", []), Buffer.from("tail")]),
    "sent",
  );
  router.sendTo(peer, [Buffer.from("after")]);
  assert.deepEqual((await got.next()).map(String), ["before"]);
  const [head, body, none, tail] = await got.next();
  assert.deepEqual([head, none, tail].map(String), ["head", "", "tail"]);
  assert.ok(body?.equals(Buffer.concat(pieces)));
  assert.deepEqual((await got.next()).map(String), ["after"]);
  assert.deepEqual(await ended.take(2), ["large", "empty"]);
  router.sendStreamed(peer, [streamed("cut", [Buffer.from("some"), undefined])]);
  assert.match(await gone.next(), /closed|reset/);
  assert.equal(await ended.next(), "cut");
  await closeAll(router, dealer);
});

test("streamed bodies for sealed peers are gathered within a limit, one after another", async () => {
  const limits = { sendTotalBytesMax: 100_000 };
  const { router, peers, endpoint } = await bound(["CURVE"], { limits });
  const got = new Inbox<number>();
  const dealers = Array.from(
    { length: 4 },
    () => new Dealer({ security: curve, onMessage: (_peer, frames) => got.put(frames[0]?.length ?? 0) }),
  );
  for (const dealer of dealers) dealer.connect(endpoint);
  let [begun, most] = [0, 0];
  const held = new Inbox<() => void>();
  for (const peer of await peers.take(4)) {
    router.sendStreamed(peer, [
      {
        length: 60_000,
        pull(take) {
          most = Math.max(most, ++begun);
          held.put(() => take(Buffer.alloc(60_000)));
        },
        end: () => {
          begun--;
        },
      },
    ]);
  }
  for (let count = 0; count < 4; count++) {
    (await held.next())();
    assert.equal(await got.next(), 60_000);
  }
  assert.equal(most, 1);
  await closeAll(router, ...dealers);
});

test("pings and subscriptions travel sealed, and a peer that answers stays", async () => {
  const changes = new Inbox<string>();
  const gone = new Inbox<GoneReason>();
  const clock = new ManualClock();
  const pub = new Pub({
    ...listening(["CURVE"]),
    clock,
    heartbeat: { intervalMs: 80, deadMs: 800 },
    onSubscription: (_peer, prefix, isWanted) => changes.put(`${isWanted} ${prefix}`),
    onPeerGone: (_peer, reason) => gone.put(reason),
  });
  const got = new Inbox<string[]>();
  const sub = new Sub({ security: curve, onMessage: (_peer, frames) => got.put(frames.map(String)) });
  sub.subscribe("a");
  sub.connect((await pub.bind("tcp://127.0.0.1:0")).endpoint);
  assert.equal(await changes.next(), "true a");
  // Three times as long as a silent peer has, with no message from the subscriber but its PONGs.
  for (let count = 0; count < 30; count++) {
    clock.advance(80);
    assert.equal(pub.send([Buffer.from("a"), Buffer.from(`${count}`)]), 1);
    assert.deepEqual(await got.next(), ["a", `${count}`]);
  }
  sub.unsubscribe("a");
  assert.equal(await changes.next(), "false a");
  assert.deepEqual([...pub.faults.entries(), ...sub.faults.entries()], []);
  assert.deepEqual(gone.items, []);
  await closeAll(pub, sub);
});

test("packed messages to a sealed peer, and from one to a socket that reads packed messages", async () => {
  const packed: string[] = [];
  const { router, peers, got, endpoint } = await bound(["CURVE"], {
    onPacked: () => {
      packed.push("packed");
      return true;
    },
  });
  const back = new Inbox<string[]>();
  const dealer = new Dealer({ security: curve, onMessage: (_peer, frames) => back.put(frames.map(String)) });
  dealer.connect(endpoint);
  const peer = await peers.next();
  router.sendPacked(peer, Buffer.from("\x01\0\0\x05heard"), 0, 9);
  assert.deepEqual(await back.next(), ["", "heard"]);
  dealer.send([Buffer.from("a"), Buffer.from("b")]);
  assert.deepEqual((await got.next()).frames, ["a", "b"]);
  assert.deepEqual(packed, []);
  await closeAll(router, dealer);
});

test("the address is known when a peer is judged, and an identity arrives by INITIATE", async () => {
  const asked = new Inbox<string>();
  const { router, peers, endpoint } = await bound(["PLAIN"], {
    ...listening(["PLAIN"], (_shown, address) => {
      asked.put(address);
      return "alice";
    }),
  });
  const raw = await RawPeer.open(endpoint);
  const properties = encodeMetadata([
    ["Socket-Type", Buffer.from("DEALER")],
    ["Identity", Buffer.from("me")],
  ]);
  raw.send(
    greeting(1, "PLAIN"),
    command("HELLO", Buffer.from("\x05alice\x04pass")),
    command("INITIATE", properties),
  );
  const peer = await peers.next();
  assert.equal(peer.identity.toString(), "me");
  assert.equal(peer.address, await asked.next());
  assert.match(peer.address, /^tcp:\/\/127\.0\.0\.1:\d+$/);
  raw.stream.destroy();
  await closeAll(router);
});

test("an address that is not admitted is cut off before a byte is sent", async () => {
  const asked = new Inbox<string>();
  let isAdmitted = false;
  const admits = (host: string) => {
    asked.put(host);
    return isAdmitted;
  };
  const { router, peers, faults, endpoint } = await bound(["NULL"], { admits });
  const dealer = new Dealer({ reconnect: { firstMs: 1, maxMs: 5 } });
  dealer.connect(endpoint);
  assert.deepEqual([await asked.next(), await faults.next()], ["127.0.0.1", "address_refused"]);
  isAdmitted = true;
  assert.equal((await peers.next()).principal, "anonymous");
  await closeAll(router, dealer);
});

test("settings that make no sense are refused with a reason", async () => {
  const { publicKey, secretKey } = client;
  const wrong: [object, RegExp][] = [
    [{ mechanisms: [], authenticate: everyone }, /at least one of NULL, PLAIN and CURVE/],
    [{ mechanisms: ["PLAIN", "PLAIN"], authenticate: everyone }, /each once/],
    [{ mechanisms: ["CURVE"], authenticate: everyone }, /CURVE needs security.secretKey/],
    [{ mechanisms: ["GSSAPI"], authenticate: everyone }, /no such security mechanism: GSSAPI/],
    [{ mechanisms: ["CURVE"], secretKey: "short", authenticate: everyone }, /secretKey is not a CURVE key/],
    [{ curve: { serverKey: "short", publicKey, secretKey } }, /serverKey is not a CURVE key/],
    [{ curve: { serverKey: publicKey, publicKey: server.publicKey, secretKey } }, /does not belong/],
    [{ plain: { username: "x".repeat(256), password: "" } }, /user name for PLAIN has 256 bytes/],
  ];
  for (const [security, reason] of wrong) {
    assert.throws(() => new Router({ security: security as ListenSecurity }), reason);
  }
  await assert.rejects(new Router({ security: curve }).bind("tcp://127.0.0.1:0"), /cannot bind/);
  assert.throws(() => new Router(listening(["PLAIN"])).connect("tcp://127.0.0.1:1"), /cannot connect/);
  // Nobody can own this key, so every handshake would fail.
  const failures = new Inbox<[string, number]>();
  const dealer = new Dealer({
    security: { curve: { serverKey: Buffer.alloc(32), secretKey } },
    onConnectFailed: (_endpoint, { message: why }, retryMs) => failures.put([why, retryMs]),
  });
  dealer.connect("tcp://127.0.0.1:1");
  const [why, retryMs] = await failures.next();
  assert.match(why, /serverKey is not a key/);
  assert.equal(retryMs, Number.POSITIVE_INFINITY);
  await closeAll(dealer);
});
