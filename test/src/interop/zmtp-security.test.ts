// PLAIN and CURVE against libzmq: every pair of types with either side as the server. And against
// pyzmq: credentials that are right and wrong, large messages, heartbeats, and peers that are
// killed and come back.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type ConnectSecurity,
  curveKeyPair,
  Dealer,
  type FaultKind,
  type ListenSecurity,
  type MechanismName,
  type Peer,
  Pub,
  Pull,
  Push,
  Rep,
  Req,
  Router,
  Sub,
  type ZmtpSocket,
} from "@yardmaster/zmtp";
import * as zmq from "zeromq";
import { ownLoopback } from "../own-loopback.js";
import { patience } from "../patience.js";
import { startPython, withoutPyzmq } from "./foreign.js";
import { Inbox, messages } from "./inbox.js";

const server = curveKeyPair();
const client = curveKeyPair();
const bytes = (...texts: string[]) => texts.map((each) => Buffer.from(each));
const text = (frames: Buffer[]) => frames.map(String);
const quick = { reconnect: { firstMs: 5, maxMs: 50 } };

/** Knows the user alice and the client's key. */
function listening(...mechanisms: MechanismName[]): { security: ListenSecurity } {
  return {
    security: {
      mechanisms,
      secretKey: server.secretKey,
      authenticate: (shown) => {
        if (shown.mechanism === "CURVE")
          return shown.publicKey === client.publicKey ? "the client" : undefined;
        if (shown.mechanism !== "PLAIN") return undefined;
        return shown.username === "alice" && shown.password.equals(Buffer.from("pass")) ? "alice" : undefined;
      },
    },
  };
}

const connecting: Record<"PLAIN" | "CURVE", { security: ConnectSecurity }> = {
  PLAIN: { security: { plain: { username: "alice", password: "pass" } } },
  CURVE: { security: { curve: { serverKey: server.publicKey, ...client } } },
};

const theirServer = {
  PLAIN: { plainServer: true },
  CURVE: { curveServer: true, curveSecretKey: server.secretKey, curvePublicKey: server.publicKey },
} as const;
const theirClient = {
  PLAIN: { plainUsername: "alice", plainPassword: "pass" },
  CURVE: {
    curveServerKey: server.publicKey,
    curvePublicKey: client.publicKey,
    curveSecretKey: client.secretKey,
  },
} as const;

/** libzmq's PLAIN server refuses every peer unless a program answers [27/ZAP]; this says yes. */
const authenticator = new zmq.Reply({ linger: 0 });
await authenticator.bind("inproc://zeromq.zap.01");
after(() => authenticator.close());
void (async () => {
  for await (const [version, id] of authenticator) {
    await authenticator.send([version as Buffer, id as Buffer, "200", "OK", "", ""]);
  }
})();

type Foreign = zmq.Socket & { bind(to: string): Promise<void>; connect(to: string): void };

async function link(ours: ZmtpSocket, theirs: Foreign, isOursBound: boolean): Promise<void> {
  if (isOursBound) theirs.connect((await ours.bind("tcp://127.0.0.1:0")).endpoint);
  else {
    await theirs.bind("tcp://127.0.0.1:*");
    ours.connect(theirs.lastEndpoint as string);
  }
}

for (const mechanism of ["PLAIN", "CURVE"] as const) {
  for (const isOursBound of [true, false]) {
    const name = `${mechanism}, ${isOursBound ? "we are" : "libzmq is"} the server`;
    const our = isOursBound ? listening(mechanism) : connecting[mechanism];
    const their = { linger: 0, ...(isOursBound ? theirClient : theirServer)[mechanism] };

    test(`${name}: ROUTER and DEALER, several frames, 5 MB`, patience, async () => {
      const { got, onMessage } = messages();
      const peers = new Inbox<Peer>();
      const ours = new Router({ ...our, onMessage, onPeer: peers.put });
      const theirs = new zmq.Dealer({ ...their, routingId: "them" });
      await link(ours, theirs, isOursBound);
      const peer = await peers.next();
      assert.equal(peer.mechanism, mechanism);
      assert.equal(
        peer.principal,
        isOursBound ? { PLAIN: "alice", CURVE: "the client" }[mechanism] : undefined,
      );
      const large = "x".repeat(5_000_000);
      await theirs.send(["one", "", large]);
      assert.deepEqual(await got.next(), ["one", "", large]);
      ours.sendTo(peer, bytes("", large, "end"));
      assert.deepEqual(text(await theirs.receive()), ["", large, "end"]);
      for (let i = 0; i < 100; i++) await theirs.send([`${i}`, "x".repeat(i * 13)]);
      for (let i = 0; i < 100; i++) assert.deepEqual(await got.next(), [`${i}`, "x".repeat(i * 13)]);
      theirs.close();
      await ours.close();
    });

    test(`${name}: DEALER and ROUTER`, patience, async () => {
      const { got, onMessage } = messages();
      const peers = new Inbox<Peer>();
      const ours = new Dealer({ ...our, identity: "us", onMessage, onPeer: peers.put });
      const theirs = new zmq.Router(their);
      await link(ours, theirs, isOursBound);
      await peers.next();
      ours.send(bytes("hello"));
      assert.deepEqual(text(await theirs.receive()), ["us", "hello"]);
      await theirs.send(["us", "back"]);
      assert.deepEqual(await got.next(), ["back"]);
      theirs.close();
      await ours.close();
    });

    test(`${name}: PUB to SUB, and the subscription is cancelled`, patience, async () => {
      const changes = new Inbox<string>();
      const ours = new Pub({
        ...our,
        onSubscription: (_p, prefix, isWanted) => changes.put(`${isWanted} ${prefix}`),
      });
      const theirs = new zmq.Subscriber(their);
      theirs.subscribe("news");
      await link(ours, theirs, isOursBound);
      // A libzmq socket that is bound subscribes when the program next calls it.
      const received = theirs.receive() as Promise<Buffer[]>;
      assert.equal(await changes.next(), "true news");
      assert.equal(ours.send(bytes("other")), 0);
      assert.equal(ours.send(bytes("news", "today")), 1);
      assert.deepEqual(text(await received), ["news", "today"]);
      theirs.unsubscribe("news");
      assert.equal(await changes.next(), "false news");
      theirs.close();
      await ours.close();
    });

    test(`${name}: SUB from PUB`, patience, async () => {
      const { got, onMessage } = messages();
      const ours = new Sub({ ...our, onMessage });
      ours.subscribe("news");
      const theirs = new zmq.XPublisher(their);
      await link(ours, theirs, isOursBound);
      assert.deepEqual(text((await theirs.receive()) as Buffer[]), ["\x01news"]);
      await theirs.send(["other"]);
      await theirs.send(["news", "today"]);
      assert.deepEqual(await got.next(), ["news", "today"]);
      theirs.close();
      await ours.close();
    });

    test(`${name}: PUSH to PULL, and PULL from PUSH`, patience, async () => {
      const { got, onMessage } = messages();
      const peers = new Inbox<Peer>();
      const ourPush = new Push({ ...our, onPeer: peers.put });
      const theirPull = new zmq.Pull(their);
      await link(ourPush, theirPull, isOursBound);
      await peers.next();
      ourPush.send(bytes("there"));
      assert.deepEqual(text(await theirPull.receive()), ["there"]);
      const ourPull = new Pull({ ...our, onMessage });
      const theirPush = new zmq.Push(their);
      await link(ourPull, theirPush, isOursBound);
      await theirPush.send("here");
      assert.deepEqual(await got.next(), ["here"]);
      for (const each of [theirPull, theirPush]) each.close();
      await Promise.all([ourPush.close(), ourPull.close()]);
    });

    test(`${name}: REQ to REP, and REP from REQ`, patience, async () => {
      const { got, onMessage } = messages();
      const peers = new Inbox<Peer>();
      const ourReq = new Req({ ...our, onMessage, onPeer: peers.put });
      const theirRep = new zmq.Reply(their);
      await link(ourReq, theirRep, isOursBound);
      await peers.next();
      ourReq.send(bytes("question"));
      assert.deepEqual(text(await theirRep.receive()), ["question"]);
      await theirRep.send("answer");
      assert.deepEqual(await got.next(), ["answer"]);
      const ourRep: Rep = new Rep({ ...our, onMessage: (peer, frames) => ourRep.sendTo(peer, frames) });
      const theirReq = new zmq.Request(their);
      await link(ourRep, theirReq, isOursBound);
      await theirReq.send("echo");
      assert.deepEqual(text(await theirReq.receive()), ["echo"]);
      for (const each of [theirRep, theirReq]) each.close();
      await Promise.all([ourReq.close(), ourRep.close()]);
    });
  }
}

/** A DEALER with the given credentials. It sends a message and echoes those it gets. */
const pyClient = `
import json, sys, zmq
endpoint, options = sys.argv[1], json.loads(sys.argv[2])
socket = zmq.Context().socket(zmq.DEALER)
socket.setsockopt(zmq.IDENTITY, b"py")
socket.setsockopt(zmq.RECONNECT_IVL, 10)
socket.setsockopt(zmq.HEARTBEAT_IVL, 100)
socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 20000)
if "username" in options:
    socket.plain_username = options["username"].encode()
    socket.plain_password = options["password"].encode()
if "serverKey" in options:
    socket.curve_serverkey = options["serverKey"].encode()
    socket.curve_publickey = options["publicKey"].encode()
    socket.curve_secretkey = options["secretKey"].encode()
monitor = socket.get_monitor_socket()
socket.connect(endpoint)
socket.send_multipart([b"here"])
print("up")
if options.get("expect") == "failure":
    from zmq.utils.monitor import recv_monitor_message
    names = {zmq.EVENT_HANDSHAKE_FAILED_AUTH: "auth", zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL: "closed",
             zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL: "protocol", zmq.EVENT_HANDSHAKE_SUCCEEDED: "succeeded"}
    while True:
        event = recv_monitor_message(monitor)
        if event["event"] in names:
            print(names[event["event"]], event["value"])
socket.disable_monitor()
while True:
    socket.send_multipart([b"echo"] + socket.recv_multipart())
`;

/** An echoing ROUTER with pyzmq's own authenticator, which knows alice and the client's key. */
const pyServer = `
import json, sys, zmq
from zmq.auth.thread import ThreadAuthenticator
endpoint, options = sys.argv[1], json.loads(sys.argv[2])
context = zmq.Context()
auth = ThreadAuthenticator(context)
auth.start()
auth.configure_plain(domain="*", passwords={"alice": "pass"})
class Keys:
    def callback(self, domain, key):
        return key.decode() == options["clientKey"]
auth.configure_curve_callback(domain="*", credentials_provider=Keys())
socket = context.socket(zmq.ROUTER)
socket.setsockopt(zmq.LINGER, 0)
if options["mechanism"] == "PLAIN":
    socket.plain_server = True
else:
    socket.curve_server = True
    socket.curve_secretkey = options["secretKey"].encode()
    socket.curve_publickey = options["publicKey"].encode()
socket.bind(endpoint)
print(socket.getsockopt(zmq.LAST_ENDPOINT).decode().strip("\\0"))
while True:
    socket.send_multipart(socket.recv_multipart())
`;

const curveOptions = { serverKey: server.publicKey, ...client };
const rightOptions = { PLAIN: { username: "alice", password: "pass" }, CURVE: curveOptions };

for (const mechanism of ["PLAIN", "CURVE"] as const) {
  test(`pyzmq with ${mechanism}: echoes 5 MB, is killed, and comes back`, {
    skip: withoutPyzmq,
    ...patience,
  }, async () => {
    const { got, onMessage } = messages();
    const peers = new Inbox<Peer>();
    const gone = new Inbox<string>();
    const router = new Router({
      ...listening("PLAIN", "CURVE"),
      heartbeat: { intervalMs: 50, deadMs: 20_000 },
      onMessage,
      onPeer: peers.put,
      onPeerGone: (_peer, why) => gone.put(why),
    });
    const { endpoint } = await router.bind("tcp://127.0.0.1:0");
    for (let life = 0; life < 2; life++) {
      const python = startPython(pyClient, endpoint, JSON.stringify(rightOptions[mechanism]));
      const peer = await peers.next();
      assert.equal(peer.mechanism, mechanism);
      assert.deepEqual(await got.next(), ["here"]);
      const large = "y".repeat(5_000_000);
      router.sendTo(peer, bytes("job", large));
      assert.deepEqual(await got.next(), ["echo", "job", large]);
      python.signal("SIGKILL");
      assert.match(await gone.next(), /closed|reset/);
      await python.stop();
    }
    assert.deepEqual([...router.faults.entries()], []);
    await router.close();
  });

  test(`our DEALER with ${mechanism} at pyzmq's server, which is killed and comes back`, {
    skip: withoutPyzmq,
    ...patience,
  }, async () => {
    const { got, onMessage } = messages();
    const peers = new Inbox<Peer>();
    const options = JSON.stringify({ mechanism, clientKey: client.publicKey, ...server });
    let python = startPython(pyServer, `tcp://${ownLoopback}:*`, options);
    const endpoint = await python.line();
    const dealer = new Dealer({
      ...connecting[mechanism],
      ...quick,
      heartbeat: { intervalMs: 50, deadMs: 20_000 },
      onMessage,
      onPeer: peers.put,
    });
    dealer.connect(endpoint);
    await peers.next();
    const large = "z".repeat(5_000_000);
    dealer.send(bytes("job", large));
    assert.deepEqual(await got.next(), ["job", large]);
    await python.stop();
    python = startPython(pyServer, endpoint, options);
    await peers.next();
    dealer.send(bytes("again"));
    assert.deepEqual(await got.next(), ["again"]);
    await python.stop();
    await dealer.close();
  });
}

const wrong: ReadonlyArray<[name: string, options: object, fault: FaultKind, told: RegExp]> = [
  ["PLAIN, wrong password", { username: "alice", password: "guess" }, "denied", /^auth 400/],
  ["PLAIN, unknown user", { username: "bob", password: "pass" }, "denied", /^auth 400/],
  ["CURVE, unknown client key", { ...curveOptions, ...curveKeyPair() }, "denied", /^closed/],
  [
    "CURVE, wrong server key",
    { ...curveOptions, serverKey: curveKeyPair().publicKey },
    "bad_handshake",
    /^closed/,
  ],
  ["NULL", {}, "unknown_mechanism", /^closed|^protocol/],
];
for (const [name, options, fault, told] of wrong) {
  test(`pyzmq is refused: ${name}`, { skip: withoutPyzmq, ...patience }, async () => {
    const faults = new Inbox<string>();
    const router = new Router({
      ...listening("PLAIN", "CURVE"),
      onFault: (_peer, kind) => faults.put(kind),
      onPeer: () => faults.put("it got in"),
    });
    const { endpoint } = await router.bind("tcp://127.0.0.1:0");
    const python = startPython(pyClient, endpoint, JSON.stringify({ ...options, expect: "failure" }));
    assert.equal(await faults.next(), fault);
    assert.equal(await python.line(), "up");
    assert.match(await python.line(), told);
    assert.ok(router.faults.get(fault) >= 1);
    await python.stop();
    await router.close();
  });
}

const wrongOfOurs: ReadonlyArray<[name: string, mechanism: "PLAIN" | "CURVE", security: ConnectSecurity]> = [
  ["PLAIN, wrong password", "PLAIN", { plain: { username: "alice", password: "guess" } }],
  ["CURVE, unknown client key", "CURVE", { curve: { ...curveOptions, ...curveKeyPair() } }],
  ["CURVE, wrong server key", "CURVE", { curve: { ...curveOptions, serverKey: curveKeyPair().publicKey } }],
];
for (const [name, mechanism, security] of wrongOfOurs) {
  test(`pyzmq refuses us: ${name}`, { skip: withoutPyzmq, ...patience }, async () => {
    const failures = new Inbox<string>();
    const options = JSON.stringify({ mechanism, clientKey: client.publicKey, ...server });
    const python = startPython(pyServer, "tcp://127.0.0.1:*", options);
    const dealer = new Dealer({
      ...quick,
      security,
      onPeer: () => failures.put("we got in"),
      onConnectFailed: (_endpoint, error) => failures.put(error.message),
    });
    dealer.connect(await python.line());
    assert.match(await failures.next(), /lost: (refused|closed|reset)/);
    await python.stop();
    await dealer.close();
  });
}
