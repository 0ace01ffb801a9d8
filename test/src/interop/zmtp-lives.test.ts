// Peers that restart, die, hang or are old: libzmq's, pyzmq's, and one with ZMTP 3.0.

import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import {
  COMMAND,
  Dealer,
  encodeCommand,
  encodeFrame,
  encodeGreeting,
  encodeMetadata,
  type GoneReason,
  type Peer,
  Pub,
  Pull,
  Push,
  Router,
} from "@yardmaster/zmtp";
import * as zmq from "zeromq";
import { ownLoopback } from "../own-loopback.js";
import { measured, patience } from "../patience.js";
import { startPython, withoutPyzmq } from "./foreign.js";
import { Inbox, messages } from "./inbox.js";

const bytes = (...texts: string[]) => texts.map((each) => Buffer.from(each));
const text = (frames: Buffer[]) => frames.map(String);
const quick = { reconnect: { firstMs: 5, maxMs: 50 } };

test("their ROUTER restarts: our DEALER is back by itself", async () => {
  const peers = new Inbox<Peer>();
  const gone = new Inbox<GoneReason>();
  const { got, onMessage } = messages();
  let theirs = new zmq.Router({ linger: 0 });
  await theirs.bind(`tcp://${ownLoopback}:*`);
  const endpoint = theirs.lastEndpoint as string;
  const ours = new Dealer({
    ...quick,
    identity: "me",
    onMessage,
    onPeer: peers.put,
    onPeerGone: (_p, why) => gone.put(why),
  });
  ours.connect(endpoint);
  await peers.next();
  theirs.close();
  assert.match(await gone.next(), /closed|reset/);
  theirs = new zmq.Router({ linger: 0 });
  await theirs.bind(endpoint);
  await peers.next();
  ours.send(bytes("again"));
  assert.deepEqual(text(await theirs.receive()), ["me", "again"]);
  await theirs.send(["me", "welcome"]);
  assert.deepEqual(await got.next(), ["welcome"]);
  theirs.close();
  await ours.close();
});

test("our ROUTER restarts: their DEALER is back by itself", async () => {
  const theirs = new zmq.Dealer({ linger: 0, routingId: "them", reconnectInterval: 5 });
  const first = messages();
  let ours = new Router({ onMessage: first.onMessage });
  const { endpoint } = await ours.bind(`tcp://${ownLoopback}:0`);
  theirs.connect(endpoint);
  await theirs.send("one");
  assert.deepEqual(await first.got.next(), ["one"]);
  await ours.close();
  const second = messages();
  const peers = new Inbox<Peer>();
  ours = new Router({ onMessage: second.onMessage, onPeer: peers.put });
  await ours.bind(endpoint);
  const peer = await peers.next();
  assert.equal(peer.identity.toString(), "them");
  await theirs.send("two");
  assert.deepEqual(await second.got.next(), ["two"]);
  theirs.close();
  await ours.close();
});

test("libzmq answers our pings, and we answer its", patience, async () => {
  // How late an answer may be: other work may have the processors for a while.
  const deadMs = 1_500;
  const gone = new Inbox<GoneReason>();
  const { got, onMessage } = messages();
  const ours = new Router({
    heartbeat: { intervalMs: 100, deadMs, ttlMs: deadMs },
    onMessage,
    onPeerGone: (_peer, why) => gone.put(why),
  });
  const { endpoint } = await ours.bind("tcp://127.0.0.1:0");
  const pinging = new zmq.Dealer({
    linger: 0,
    routingId: "pinging",
    heartbeatInterval: 100,
    heartbeatTimeout: deadMs,
  });
  const plain = new zmq.Dealer({ linger: 0, routingId: "plain" });
  for (const dealer of [pinging, plain]) dealer.connect(endpoint);
  for (const dealer of [pinging, plain]) await dealer.send("here");
  await Promise.all([got.next(), got.next()]);
  // There is no event to wait for, because nothing must happen. Well above the limit of either
  // side.
  const quiet = await Promise.race([
    gone.next(),
    new Promise((resolve) => setTimeout(resolve, 2 * deadMs, "quiet")),
  ]);
  assert.equal(quiet, "quiet");
  for (const dealer of [pinging, plain]) dealer.close();
  await ours.close();
});

test("a subscriber that speaks 3.0 subscribes with messages", async () => {
  const changes = new Inbox<string>();
  const pub = new Pub({
    onSubscription: (peer, prefix, isWanted) => changes.put(`${peer.version} ${isWanted} ${prefix}`),
  });
  const { endpoint } = await pub.bind("tcp://127.0.0.1:0");
  const stream = connect(Number(endpoint.split(":")[2]), "127.0.0.1");
  const received = new Inbox<Buffer>();
  stream.on("data", received.put);
  const properties = encodeMetadata([["Socket-Type", Buffer.from("SUB")]]);
  stream.write(
    Buffer.concat([
      encodeGreeting({ minor: 0, mechanism: "NULL", isServer: false }),
      encodeFrame(COMMAND, encodeCommand("READY", properties)),
      encodeFrame(0, Buffer.from("\x01news")),
    ]),
  );
  assert.equal(await changes.next(), "3.0 true news");
  assert.equal(pub.send(bytes("news.1")), 1);
  let seen = "";
  while (!seen.includes("news.1")) seen += (await received.next()).toString("latin1");
  stream.write(encodeFrame(0, Buffer.from("\x00news")));
  assert.equal(await changes.next(), "3.0 false news");
  assert.equal(pub.send(bytes("news.2")), 0);
  stream.destroy();
  await pub.close();
});

const worker = `
import sys, zmq
context = zmq.Context()
socket = context.socket(zmq.DEALER)
socket.setsockopt(zmq.IDENTITY, b"py")
socket.connect(sys.argv[1])
socket.send_multipart([b"READY"])
while True:
    frames = socket.recv_multipart()
    socket.send_multipart([b"done"] + frames)
`;

test("a pyzmq DEALER works for our ROUTER, hangs, and is found out", { skip: withoutPyzmq }, async () => {
  const gone = new Inbox<GoneReason>();
  const { got, onMessage } = messages();
  const router = new Router({
    heartbeat: { intervalMs: 50, deadMs: 300 },
    onMessage,
    onPeerGone: (_peer, why) => gone.put(why),
  });
  const python = startPython(worker, (await router.bind("tcp://127.0.0.1:0")).endpoint);
  assert.deepEqual(await got.next(), ["READY"]);
  assert.equal(router.sendToIdentity("py", bytes("job", "")), "sent");
  assert.deepEqual(await got.next(), ["done", "job", ""]);
  python.signal("SIGSTOP");
  assert.equal(await gone.next(), "silent");
  await python.stop();
  await router.close();
});

test("a pyzmq worker that is killed is gone at once", { skip: withoutPyzmq, ...patience }, async (t) => {
  const gone = new Inbox<GoneReason>();
  const { got, onMessage } = messages();
  const router = new Router({ onMessage, onPeerGone: (_peer, why) => gone.put(why) });
  const python = startPython(worker, (await router.bind("tcp://127.0.0.1:0")).endpoint);
  await got.next();
  const from = performance.now();
  python.signal("SIGKILL");
  assert.match(await gone.next(), /closed|reset/);
  measured(t, "from kill -9 to gone", performance.now() - from, 200);
  await router.close();
});

const puller = `
import sys, zmq
context = zmq.Context()
socket = context.socket(zmq.PULL)
socket.setsockopt(zmq.RCVHWM, 10)
socket.connect(sys.argv[1])
print("up")
sys.stdin.read(1)
total = 0
while True:
    frame = socket.recv()
    total += 1
    if frame == b"last":
        print(total)
`;

test("a pyzmq PULL that does not read holds our PUSH back, and loses nothing", {
  skip: withoutPyzmq,
}, async () => {
  const peers = new Inbox<Peer>();
  const room = new Inbox<Peer>();
  const push = new Push({ limits: { sendBytesMax: 1_000_000 }, onPeer: peers.put, onRoom: room.put });
  const python = startPython(puller, (await push.bind("tcp://127.0.0.1:0")).endpoint);
  assert.equal(await python.line(), "up");
  await peers.next();
  const block = Buffer.alloc(10_000);
  let sent = 0;
  while (push.send([block]) !== "full") if (++sent % 50 === 0) await new Promise(setImmediate);
  assert.ok(push.pendingBytes <= 1_020_000);
  python.write("x");
  await room.next();
  push.send(bytes("last"));
  assert.equal(Number(await python.line()), sent + 1);
  await python.stop();
  await push.close();
});

const publisher = `
import sys, zmq
context = zmq.Context()
push = context.socket(zmq.PUSH)
push.connect(sys.argv[1])
for n in range(20000):
    push.send_multipart([b"%d" % n, b"x" * (n % 300)])
push.close()
context.term()
print("sent")
`;

test("a pyzmq PUSH that sends and leaves: everything it sent arrives", { skip: withoutPyzmq }, async () => {
  let count = 0;
  const gone = new Inbox<GoneReason>();
  const pull = new Pull({
    onMessage: (_peer, frames) => {
      assert.equal(Number(String(frames[0])), count);
      assert.equal(frames[1]?.length, count % 300);
      count++;
    },
    onPeerGone: (_peer, why) => gone.put(why),
  });
  const python = startPython(publisher, (await pull.bind("tcp://127.0.0.1:0")).endpoint);
  assert.equal(await python.line(), "sent");
  await gone.next();
  assert.equal(count, 20_000);
  await python.stop();
  await pull.close();
});
