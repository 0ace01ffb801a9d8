// Every pattern between our own sockets, over tcp and ipc, with either side bound.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Inbox } from "../test-kit/inbox.js";
import { maskSecurity } from "../test-kit/mask-security.js";
import { Dealer } from "./dealer.js";
import type { Peer } from "./peer.js";
import { Pub } from "./pub.js";
import { Pull } from "./pull.js";
import { Push } from "./push.js";
import { Rep } from "./rep.js";
import { Req } from "./req.js";
import { Router } from "./router.js";
import { Sub } from "./sub.js";
import type { ZmtpSocket } from "./zmtp-socket.js";

const folder = mkdtempSync(join(tmpdir(), "zmtp-"));
after(() => rmSync(folder, { recursive: true }));
let ipcCount = 0;
const transports = { tcp: () => "tcp://127.0.0.1:0", ipc: () => `ipc://${folder}/${++ipcCount}.sock` };

async function link(bound: ZmtpSocket, connected: ZmtpSocket, endpoint: string): Promise<void> {
  const binding = await bound.bind(endpoint);
  connected.connect(binding.endpoint);
}

const closeAll = (...sockets: ZmtpSocket[]) => Promise.all(sockets.map((socket) => socket.close()));
const buffers = (...texts: string[]) => texts.map((text) => Buffer.from(text));
type Arrival = { peer: Peer; frames: string[] };
const arrivals = () => {
  const inbox = new Inbox<Arrival>();
  return {
    inbox,
    onMessage: (peer: Peer, frames: Buffer[]) => inbox.put({ peer, frames: frames.map(String) }),
  };
};

for (const [transport, endpoint] of Object.entries(transports)) {
  for (const isFirstBound of [true, false]) {
    const name = `${transport}, ${isFirstBound ? "first" : "second"} bound`;
    const linkBoth = (first: ZmtpSocket, second: ZmtpSocket) =>
      isFirstBound ? link(first, second, endpoint()) : link(second, first, endpoint());

    test(`ROUTER and DEALER: ${name}`, async () => {
      const atRouter = arrivals();
      const atDealer = arrivals();
      const peers = new Inbox<Peer>();
      const router = new Router(atRouter);
      const dealer = new Dealer({ ...atDealer, identity: "d1", onPeer: peers.put });
      await linkBoth(router, dealer);
      await peers.next();
      assert.equal(dealer.send(buffers("a", "", "b")), "sent");
      const { peer, frames } = await atRouter.inbox.next();
      assert.deepEqual(frames, ["a", "", "b"]);
      assert.equal(peer.identity.toString(), "d1");
      assert.equal(peer.socketType, "DEALER");
      assert.equal(router.find("d1"), peer);
      assert.equal(router.sendTo(peer, buffers("by peer")), "sent");
      assert.equal(router.sendToIdentity("d1", buffers("by name")), "sent");
      assert.equal(router.sendToIdentity("nobody", buffers("x")), "gone");
      assert.deepEqual(
        (await atDealer.inbox.take(2)).map((each) => each.frames[0]),
        ["by peer", "by name"],
      );
      await closeAll(router, dealer);
    });

    test(`ROUTER and DEALER, messages as they are on the wire: ${name}`, async () => {
      const atRouter = arrivals();
      const atDealer = arrivals();
      const packed = new Inbox<{ peer: Peer; text: string }>();
      const peers = new Inbox<Peer>();
      const router = new Router({
        onMessage: atRouter.onMessage,
        onPacked: (peer, bytes, from, to) => {
          if (bytes[from + 2] !== 0x61) return false;
          packed.put({ peer, text: bytes.toString("latin1", from, to) });
          return true;
        },
      });
      const dealer = new Dealer({ ...atDealer, onPeer: peers.put });
      await linkBoth(router, dealer);
      await peers.next();
      dealer.send(buffers("a", "", "b"));
      dealer.send(buffers("no", ""));
      dealer.send(buffers("a", "x".repeat(256)));
      const { peer, text } = await packed.next();
      assert.equal(text, "\x01\x01a\x01\0\0\x01b");
      assert.deepEqual(
        (await atRouter.inbox.take(2)).map(({ frames }) => frames),
        [
          ["no", ""],
          ["a", "x".repeat(256)],
        ],
      );
      const bytes = Buffer.from(`..${text}..`, "latin1");
      assert.equal(router.sendPacked(peer, bytes, 2, bytes.length - 2), "sent");
      assert.deepEqual((await atDealer.inbox.next()).frames, ["a", "", "b"]);
      await closeAll(router, dealer);
      assert.equal(router.sendPacked(peer, bytes, 2, bytes.length - 2), "gone");
    });

    test(`REQ and REP: ${name}`, async () => {
      const requests = arrivals();
      const replies = arrivals();
      const peers = new Inbox<Peer>();
      const rep = new Rep(requests);
      const req = new Req({ ...replies, onPeer: peers.put });
      await linkBoth(rep, req);
      await peers.next();
      assert.equal(req.send(buffers("question")), "sent");
      assert.equal(req.send(buffers("too early")), "busy");
      const { peer, frames } = await requests.inbox.next();
      assert.deepEqual(frames, ["question"]);
      assert.equal(rep.sendTo(peer, buffers("answer", "and more")), "sent");
      assert.equal(rep.sendTo(peer, buffers("twice")), "unasked");
      assert.deepEqual((await replies.inbox.next()).frames, ["answer", "and more"]);
      assert.equal(req.send(buffers("again")), "sent");
      await requests.inbox.next();
      await closeAll(rep, req);
    });

    test(`PUSH and PULL: ${name}`, async () => {
      const got = arrivals();
      const peers = new Inbox<Peer>();
      const push = new Push({ onPeer: peers.put });
      const pull = new Pull(got);
      await linkBoth(pull, push);
      await peers.next();
      for (let index = 0; index < 1_000; index++) push.send(buffers(String(index)));
      const all = await got.inbox.take(1_000);
      assert.deepEqual(
        all.map(({ frames }) => Number(frames[0])),
        [...Array(1_000).keys()],
      );
      await closeAll(push, pull);
    });

    test(`PUB and SUB: ${name}`, async () => {
      const got = arrivals();
      const changes = new Inbox<string>();
      const pub = new Pub({
        onSubscription: (_peer, prefix, isWanted) => changes.put(`${isWanted} ${prefix}`),
      });
      const sub = new Sub(got);
      sub.subscribe("news.");
      sub.subscribe("news.sport");
      await linkBoth(pub, sub);
      assert.deepEqual(await changes.take(2), ["true news.", "true news.sport"]);
      assert.equal(pub.send(buffers("weather", "rain")), 0);
      assert.equal(pub.send(buffers("news.sport", "1:0")), 1);
      assert.deepEqual(
        (await got.inbox.next()).frames,
        ["news.sport", "1:0"],
        "once, though two prefixes match",
      );
      sub.unsubscribe("news.");
      assert.equal(await changes.next(), "false news.");
      assert.equal(pub.send(buffers("news.local")), 0);
      assert.equal(pub.send(buffers("news.sport")), 1);
      assert.deepEqual((await got.inbox.next()).frames, ["news.sport"]);
      await closeAll(pub, sub);
    });
  }
}

test("a PUSH gives its PULLs turns, and sends to the one it chooses", async () => {
  const peers = new Inbox<Peer>();
  const push = new Push({ onPeer: peers.put });
  const { endpoint } = await push.bind("tcp://127.0.0.1:0");
  const pulls = [arrivals(), arrivals(), arrivals()].map((got) => ({ got, socket: new Pull(got) }));
  for (const { socket } of pulls) socket.connect(endpoint);
  const [first] = await peers.take(3);
  for (let index = 0; index < 9; index++) push.send(buffers("shared"));
  for (const { got } of pulls) assert.equal((await got.inbox.take(3)).length, 3);
  for (let index = 0; index < 5; index++) assert.equal(push.sendTo(first as Peer, buffers("chosen")), "sent");
  const counts = await Promise.race(pulls.map(async ({ got }) => (await got.inbox.take(5)).length));
  assert.equal(counts, 5);
  await closeAll(push, ...pulls.map(({ socket }) => socket));
});

test("a REP answers several requests of a DEALER along their own envelopes", async () => {
  const requests = arrivals();
  const replies = arrivals();
  const peers = new Inbox<Peer>();
  const rep = new Rep(requests);
  const dealer = new Dealer({ ...replies, onPeer: peers.put });
  await link(rep, dealer, "tcp://127.0.0.1:0");
  await peers.next();
  dealer.send(buffers("way", "back", "", "q1"));
  dealer.send(buffers("", "q2"));
  dealer.send(buffers("no delimiter"));
  const [one] = await requests.inbox.take(2);
  rep.sendTo((one as Arrival).peer, buffers("a1"));
  rep.sendTo((one as Arrival).peer, buffers("a2"));
  assert.deepEqual(
    (await replies.inbox.take(2)).map(({ frames }) => frames),
    [
      ["way", "back", "", "a1"],
      ["", "a2"],
    ],
  );
  assert.equal(rep.faults.get("bad_envelope"), 1);
  await closeAll(rep, dealer);
});

test("without a peer a send says so and keeps nothing", async () => {
  const dealer = new Dealer();
  assert.equal(dealer.send(buffers("x")), "gone");
  assert.equal(dealer.pendingBytes, 0);
  await dealer.close();
});

test("arrivals and departures are seen on both sides", async () => {
  const events = new Inbox<string>();
  const router = new Router({
    onPeer: (peer) => events.put(`came ${peer.identity}`),
    onPeerGone: (peer, reason) => events.put(`went ${peer.identity} ${reason}`),
  });
  const { endpoint } = await router.bind("tcp://127.0.0.1:0");
  const gone = new Inbox<string>();
  const dealer = new Dealer({ identity: "d", onPeerGone: (_peer, reason) => gone.put(reason) });
  const dialing = dealer.connect(endpoint);
  assert.equal(await events.next(), "came d");
  assert.deepEqual(
    [...router.peers()].map((peer) => peer.identity.toString()),
    ["d"],
  );
  dialing.close();
  for (const peer of router.peers()) router.disconnect(peer);
  assert.equal(await events.next(), "went d disconnected");
  assert.equal(await gone.next(), "closed");
  await closeAll(router, dealer);
});

test("what was sent before close() still arrives", async () => {
  const got = arrivals();
  const peers = new Inbox<Peer>();
  const pull = new Pull(got);
  const push = new Push({ onPeer: peers.put });
  await link(pull, push, "tcp://127.0.0.1:0");
  await peers.next();
  const large = Buffer.alloc(3_000_000, "x");
  push.send([large]);
  push.send(buffers("last"));
  await push.close();
  assert.equal((await got.inbox.next()).frames[0]?.length, large.length);
  assert.deepEqual((await got.inbox.next()).frames, ["last"]);
  await pull.close();
});

test("a binding closes while its peers stay, and an endpoint in use is refused", async () => {
  const got = arrivals();
  const peers = new Inbox<Peer>();
  const pull = new Pull(got);
  const binding = await pull.bind("tcp://127.0.0.1:0");
  await assert.rejects(new Pull().bind(binding.endpoint), { code: "EADDRINUSE" });
  const push = new Push({ onPeer: peers.put });
  push.connect(binding.endpoint);
  await peers.next();
  await binding.close();
  push.send(buffers("still here"));
  assert.deepEqual((await got.inbox.next()).frames, ["still here"]);
  await closeAll(pull, push);
});

test("sockets with another mechanism talk to each other, and to nobody without it", async () => {
  const atRouter = arrivals();
  const atDealer = arrivals();
  const peers = new Inbox<Peer>();
  const faults = new Inbox<string>();
  const router = new Router({
    ...atRouter,
    security: maskSecurity(true),
    onFault: (_peer, kind) => faults.put(kind),
  });
  const { endpoint } = await router.bind("tcp://127.0.0.1:0");
  const dealer = new Dealer({ ...atDealer, security: maskSecurity(false), identity: "m", onPeer: peers.put });
  dealer.connect(endpoint);
  await peers.next();
  const large = "x".repeat(300_000);
  dealer.send(buffers("secret", large));
  const { peer, frames } = await atRouter.inbox.next();
  assert.deepEqual([peer.identity.toString(), ...frames], ["m", "secret", large]);
  router.sendTo(peer, buffers("", "heard"));
  assert.deepEqual((await atDealer.inbox.next()).frames, ["", "heard"]);
  router.sendPacked(peer, Buffer.from("\x01\0\0\x05heard"), 0, 9);
  assert.deepEqual((await atDealer.inbox.next()).frames, ["", "heard"]);
  const plain = new Dealer();
  plain.connect(endpoint);
  assert.equal(await faults.next(), "unknown_mechanism");
  await closeAll(router, dealer, plain);
});
