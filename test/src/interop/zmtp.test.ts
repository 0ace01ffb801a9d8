// Our sockets with libzmq: every pair of compatible types, in both directions, with either side
// bound.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Dealer, type Peer, Pub, Pull, Push, Rep, Req, Router, Sub, type ZmtpSocket } from "@yardmaster/zmtp";
import * as zmq from "zeromq";
import { Inbox, messages } from "./inbox.js";

type Foreign =
  | zmq.Dealer
  | zmq.Router
  | zmq.Request
  | zmq.Reply
  | zmq.Push
  | zmq.Pull
  | zmq.Publisher
  | zmq.Subscriber;
type Link = (ours: ZmtpSocket, theirs: Foreign) => Promise<void>;
const text = (frames: Buffer[]) => frames.map(String);
const bytes = (...texts: string[]) => texts.map((each) => Buffer.from(each));

const folder = mkdtempSync(join(tmpdir(), "zmtp-interop-"));
after(() => rmSync(folder, { recursive: true }));
let count = 0;
const ipc = () => `ipc://${folder}/${++count}.sock`;

const links: Record<string, Link> = {
  "ours bound, tcp": async (ours, theirs) => theirs.connect((await ours.bind("tcp://127.0.0.1:0")).endpoint),
  "theirs bound, tcp": async (ours, theirs) => {
    await theirs.bind("tcp://127.0.0.1:*");
    ours.connect(theirs.lastEndpoint as string);
  },
  "ours bound, ipc": async (ours, theirs) => theirs.connect((await ours.bind(ipc())).endpoint),
  "theirs bound, ipc": async (ours, theirs) => {
    const endpoint = ipc();
    await theirs.bind(endpoint);
    ours.connect(endpoint);
  },
};

/** Runs with our socket and theirs connected, and closes both. */
async function paired<Ours extends ZmtpSocket, Theirs extends Foreign>(
  link: Link,
  make: (handlers: { onPeer: (peer: Peer) => void }) => Ours,
  theirs: Theirs,
  run: (ours: Ours, theirs: Theirs, peer: Peer) => Promise<void>,
): Promise<void> {
  const peers = new Inbox<Peer>();
  const ours = make({ onPeer: peers.put });
  try {
    await link(ours, theirs);
    await run(ours, theirs, await peers.next());
  } finally {
    theirs.close();
    await ours.close();
  }
}

const unlingering = { linger: 0 };

for (const [name, link] of Object.entries(links)) {
  test(`ROUTER with DEALER: ${name}`, () => {
    const { got, onMessage } = messages();
    const dealer = new zmq.Dealer({ ...unlingering, routingId: "d1" });
    return paired(
      link,
      (handlers) => new Router({ ...handlers, onMessage }),
      dealer,
      async (ours, theirs, peer) => {
        assert.equal(peer.identity.toString(), "d1");
        assert.deepEqual([peer.socketType, peer.version], ["DEALER", "3.1"]);
        await theirs.send(["a", "", "b"]);
        assert.deepEqual(await got.next(), ["a", "", "b"]);
        assert.equal(ours.sendTo(peer, bytes("c", "")), "sent");
        assert.deepEqual(text(await theirs.receive()), ["c", ""]);
      },
    );
  });

  test(`ROUTER with REQ: ${name}`, () => {
    const { got, onMessage } = messages();
    const req = new zmq.Request(unlingering);
    return paired(
      link,
      (handlers) => new Router({ ...handlers, onMessage }),
      req,
      async (ours, theirs, peer) => {
        assert.equal(peer.identity[0], 0, "libzmq's REQ has no name of its own");
        await theirs.send("question");
        assert.deepEqual(await got.next(), ["", "question"]);
        ours.sendTo(peer, bytes("", "answer"));
        assert.deepEqual(text(await theirs.receive()), ["answer"]);
      },
    );
  });

  test(`ROUTER with ROUTER: ${name}`, () => {
    const { got, onMessage } = messages();
    const router = new zmq.Router({ ...unlingering, routingId: "them", mandatory: true });
    const make = (handlers: object) => new Router({ ...handlers, identity: "us", onMessage });
    return paired(link, make, router, async (ours, theirs, peer) => {
      assert.equal(peer.identity.toString(), "them");
      ours.sendTo(peer, bytes("hello"));
      assert.deepEqual(text(await theirs.receive()), ["us", "hello"]);
      await theirs.send(["us", "hello back"]);
      assert.deepEqual(await got.next(), ["hello back"]);
    });
  });

  test(`DEALER with ROUTER: ${name}`, () => {
    const { got, onMessage } = messages();
    const router = new zmq.Router(unlingering);
    const make = (handlers: object) => new Dealer({ ...handlers, identity: "me", onMessage });
    return paired(link, make, router, async (ours, theirs) => {
      ours.send(bytes("x", "y"));
      assert.deepEqual(text(await theirs.receive()), ["me", "x", "y"]);
      await theirs.send(["me", "z"]);
      assert.deepEqual(await got.next(), ["z"]);
    });
  });

  test(`DEALER with DEALER: ${name}`, () => {
    const { got, onMessage } = messages();
    const dealer = new zmq.Dealer(unlingering);
    return paired(
      link,
      (handlers) => new Dealer({ ...handlers, onMessage }),
      dealer,
      async (ours, theirs) => {
        ours.send(bytes("x"));
        assert.deepEqual(text(await theirs.receive()), ["x"]);
        await theirs.send("y");
        assert.deepEqual(await got.next(), ["y"]);
      },
    );
  });

  test(`DEALER with REP: ${name}`, () => {
    const { got, onMessage } = messages();
    const rep = new zmq.Reply(unlingering);
    return paired(
      link,
      (handlers) => new Dealer({ ...handlers, onMessage }),
      rep,
      async (ours, theirs) => {
        ours.send(bytes("way", "", "question"));
        assert.deepEqual(text(await theirs.receive()), ["question"]);
        await theirs.send("answer");
        assert.deepEqual(await got.next(), ["way", "", "answer"]);
      },
    );
  });

  test(`REQ with REP: ${name}`, () => {
    const { got, onMessage } = messages();
    const rep = new zmq.Reply(unlingering);
    return paired(
      link,
      (handlers) => new Req({ ...handlers, onMessage }),
      rep,
      async (ours, theirs) => {
        for (const round of ["1", "2"]) {
          assert.equal(ours.send(bytes(round)), "sent");
          assert.deepEqual(text(await theirs.receive()), [round]);
          await theirs.send(["answer", round]);
          assert.deepEqual(await got.next(), ["answer", round]);
        }
      },
    );
  });

  test(`REQ with ROUTER: ${name}`, () => {
    const { got, onMessage } = messages();
    const router = new zmq.Router(unlingering);
    const make = (handlers: object) => new Req({ ...handlers, identity: "asker", onMessage });
    return paired(link, make, router, async (ours, theirs) => {
      ours.send(bytes("question"));
      assert.deepEqual(text(await theirs.receive()), ["asker", "", "question"]);
      await theirs.send(["asker", "", "answer"]);
      assert.deepEqual(await got.next(), ["answer"]);
    });
  });

  test(`REP with REQ: ${name}`, () => {
    const { got, onMessage } = messages();
    const req = new zmq.Request(unlingering);
    return paired(
      link,
      (handlers) => new Rep({ ...handlers, onMessage }),
      req,
      async (ours, theirs, peer) => {
        for (const round of ["1", "2"]) {
          await theirs.send(["question", round]);
          assert.deepEqual(await got.next(), ["question", round]);
          assert.equal(ours.sendTo(peer, bytes("answer")), "sent");
          assert.deepEqual(text(await theirs.receive()), ["answer"]);
        }
      },
    );
  });

  test(`REP with DEALER: ${name}`, () => {
    const { got, onMessage } = messages();
    const dealer = new zmq.Dealer(unlingering);
    return paired(
      link,
      (handlers) => new Rep({ ...handlers, onMessage }),
      dealer,
      async (ours, theirs, peer) => {
        await theirs.send(["way", "", "question"]);
        assert.deepEqual(await got.next(), ["question"]);
        ours.sendTo(peer, bytes("answer"));
        assert.deepEqual(text(await theirs.receive()), ["way", "", "answer"]);
      },
    );
  });

  test(`PUSH with PULL: ${name}`, () => {
    const pull = new zmq.Pull(unlingering);
    return paired(
      link,
      (handlers) => new Push(handlers),
      pull,
      async (ours, theirs) => {
        for (let index = 0; index < 500; index++) ours.send(bytes(String(index), "part"));
        for (let index = 0; index < 500; index++)
          assert.deepEqual(text(await theirs.receive()), [String(index), "part"]);
      },
    );
  });

  test(`PULL with PUSH: ${name}`, () => {
    const { got, onMessage } = messages();
    const push = new zmq.Push(unlingering);
    return paired(
      link,
      (handlers) => new Pull({ ...handlers, onMessage }),
      push,
      async (_ours, theirs) => {
        for (let index = 0; index < 500; index++) await theirs.send([String(index), "part"]);
        for (let index = 0; index < 500; index++) assert.deepEqual(await got.next(), [String(index), "part"]);
      },
    );
  });

  test(`PUB with SUB, which speaks 3.1: ${name}`, () => {
    const changes = new Inbox<string>();
    const onSubscription = (_peer: Peer, prefix: Buffer, isWanted: boolean) =>
      changes.put(`${isWanted} ${prefix}`);
    const sub = new zmq.Subscriber(unlingering);
    sub.subscribe("a", "b.");
    return paired(
      link,
      (handlers) => new Pub({ ...handlers, onSubscription }),
      sub,
      async (ours, theirs) => {
        // A bound libzmq socket sends its subscriptions to a new peer when its program next calls
        // it.
        const first = theirs.receive();
        assert.deepEqual([await changes.next(), await changes.next()].sort(), ["true a", "true b."]);
        assert.equal(ours.send(bytes("b", "not wanted")), 0);
        assert.equal(ours.send(bytes("b.1", "wanted")), 1);
        assert.deepEqual(text(await first), ["b.1", "wanted"]);
        theirs.unsubscribe("b.");
        assert.equal(await changes.next(), "false b.");
        assert.equal(ours.send(bytes("b.2")), 0);
        ours.send(bytes("a"));
        assert.deepEqual(text(await theirs.receive()), ["a"]);
      },
    );
  });

  test(`SUB with PUB: ${name}`, async () => {
    const { got, onMessage } = messages();
    // An XPUB is a PUB that reports subscriptions, so the test knows when they have arrived.
    const xpub = new zmq.XPublisher(unlingering);
    const pubs = xpub as unknown as zmq.Publisher;
    const make = (handlers: object) => new Sub({ ...handlers, onMessage });
    await paired(link, make, pubs, async (ours) => {
      ours.subscribe("news");
      assert.deepEqual(text(await xpub.receive()), ["\x01news"]);
      await xpub.send(["weather", "no"]);
      await xpub.send(["news.1", "yes"]);
      assert.deepEqual(await got.next(), ["news.1", "yes"]);
      ours.subscribe("");
      assert.deepEqual(text(await xpub.receive()), ["\x01"]);
      ours.unsubscribe("news");
      assert.deepEqual(text(await xpub.receive()), ["\x00news"]);
      await xpub.send(["weather", "now yes"]);
      assert.deepEqual(await got.next(), ["weather", "now yes"]);
    });
  });
}

test("types that may not talk do not", async () => {
  const faults = new Inbox<string>();
  const pull = new Pull({ onFault: (_peer, kind) => faults.put(kind) });
  const dealer = new zmq.Dealer(unlingering);
  dealer.connect((await pull.bind("tcp://127.0.0.1:0")).endpoint);
  assert.match(await faults.next(), /wrong_socket_type|refused/);
  dealer.close();
  await pull.close();
});

test("messages of 0 bytes to 100 MB, there and back", async () => {
  const router: Router = new Router({ onMessage: (peer, frames) => void router.sendTo(peer, frames) });
  const dealer = new zmq.Dealer(unlingering);
  dealer.connect((await router.bind("tcp://127.0.0.1:0")).endpoint);
  for (const size of [
    0, 1, 255, 256, 8_191, 8_192, 65_535, 65_536, 1_048_576, 1_048_577, 10_000_000, 100_000_000,
  ]) {
    const body = Buffer.alloc(size, `${size} `);
    await dealer.send([body, "end"]);
    const [back, end] = await dealer.receive();
    assert.equal(back?.length, size);
    assert.ok(back?.equals(body));
    assert.equal(String(end), "end");
  }
  dealer.close();
  await router.close();
});
