// Reconnecting, heartbeats and leftovers, on a clock that the test moves.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { encodeFrame } from "../frames.js";
import { Inbox } from "../test-kit/inbox.js";
import { ManualClock } from "../test-kit/manual-clock.js";
import { command, RawPeer } from "../test-kit/raw-peer.js";
import { Dealer } from "./dealer.js";
import { acceptLine, eventLine, type Line } from "./line.js";
import type { Peer } from "./peer.js";
import { Pull } from "./pull.js";
import { Router } from "./router.js";

test("connect() keeps trying with growing waits, and starts over after a good connection", async () => {
  const clock = new ManualClock();
  // A path and not a port: another program may take a free port at any time.
  const folder = mkdtempSync(join(tmpdir(), "zmtp-"));
  const endpoint = `ipc://${folder}/later.sock`;
  const failures = new Inbox<number>();
  const peers = new Inbox<Peer>();
  const dealer = new Dealer({
    clock,
    onPeer: peers.put,
    onConnectFailed: (_at, _error, ms) => failures.put(ms),
  });
  dealer.connect(endpoint);
  for (const expected of [100, 200, 400, 800]) {
    assert.equal(await failures.next(), expected);
    clock.advance(expected);
  }
  assert.equal(await failures.next(), 1_600);
  const router = new Router();
  await router.bind(endpoint);
  clock.advance(1_600);
  await peers.next();
  clock.advance(2_000);
  await router.close();
  assert.equal(await failures.next(), 100, "a connection that lived was a success");
  await dealer.close();
  rmSync(folder, { recursive: true });
});

test("a peer that comes back is a new peer with the same identity", async () => {
  const events = new Inbox<string>();
  const router = new Router({
    onPeer: (peer) => events.put(`came ${peer.identity} ${peer.id}`),
    onPeerGone: (peer) => events.put(`went ${peer.identity} ${peer.id}`),
  });
  const { endpoint } = await router.bind("tcp://127.0.0.1:0");
  const dealer = new Dealer({ identity: "w", reconnect: { firstMs: 1 } });
  dealer.connect(endpoint);
  assert.equal(await events.next(), "came w 1");
  router.disconnect(router.find("w") as Peer);
  assert.equal(await events.next(), "went w 1");
  assert.equal(await events.next(), "came w 2");
  await Promise.all([dealer.close(), router.close()]);
});

test("a silent 3.1 peer is pinged and given up; one that answers stays", async () => {
  const clock = new ManualClock();
  const gone = new Inbox<string>();
  const router = new Router({ clock, onPeerGone: (peer, reason) => gone.put(`${peer.identity} ${reason}`) });
  const { endpoint } = await router.bind("tcp://127.0.0.1:0");
  const mute = await RawPeer.join(endpoint, "DEALER", { identity: Buffer.from("mute") });
  const alive = await RawPeer.join(endpoint, "DEALER", { identity: Buffer.from("alive") });
  while ([...router.peers()].length < 2) await new Promise(setImmediate);
  for (let round = 0; round < 2; round++) {
    clock.advance(2_000);
    assert.equal((await alive.frames.next()).body.toString("latin1"), "\x04PING\0\0");
    alive.send(command("PONG"));
    await settle(alive);
  }
  clock.advance(2_000);
  assert.equal(await gone.next(), "mute silent");
  await mute.closed;
  assert.ok(router.find("alive"));
  await router.close();
});

/**
 * Waits until the other end has read everything, which it shows by answering a PING sent after it.
 */
async function settle(peer: RawPeer): Promise<void> {
  peer.send(command("PING", Buffer.from("\0\0mark")));
  while ((await peer.frames.next()).body.toString("latin1") !== "\x04PONGmark");
}

test("PINGs that come while a large message is written are answered behind it", async () => {
  const got = new Inbox<string>();
  const router = new Router({ onMessage: (_peer, [text]) => got.put(String(text)) });
  const { endpoint } = await router.bind("tcp://127.0.0.1:0");
  const peer = await RawPeer.join(endpoint, "DEALER", { identity: Buffer.from("slow") });
  peer.send(encodeFrame(0, Buffer.from("here")));
  assert.equal(await got.next(), "here");
  peer.stream.pause();
  const large = Buffer.alloc(20_000_000, "y");
  router.sendTo(router.find("slow") as Peer, [large]);
  for (const mark of ["one", "two"]) peer.send(command("PING", Buffer.from(`\0\0${mark}`)));
  peer.send(encodeFrame(0, Buffer.from("pinged")));
  assert.equal(await got.next(), "pinged");
  peer.stream.resume();
  assert.equal((await peer.frames.next()).body.length, large.length);
  for (const mark of ["one", "two"])
    assert.equal((await peer.frames.next()).body.toString("latin1"), `\x04PONG${mark}`);
  assert.deepEqual([...router.faults.entries()], []);
  await router.close();
});

test("a 3.0 peer is never pinged", async () => {
  const clock = new ManualClock();
  const router = new Router({ clock });
  const { endpoint } = await router.bind("tcp://127.0.0.1:0");
  await RawPeer.join(endpoint, "DEALER", { minor: 0, identity: Buffer.from("old") });
  while (!router.find("old")) await new Promise(setImmediate);
  clock.advance(600_000);
  assert.equal(router.find("old")?.version, "3.0");
  await router.close();
});

test("a peer's own time to live is kept", async () => {
  const clock = new ManualClock();
  const gone = new Inbox<string>();
  const pull = new Pull({ clock, onPeerGone: (_peer, reason) => gone.put(reason) });
  const { endpoint } = await pull.bind("tcp://127.0.0.1:0");
  const peer = await RawPeer.join(endpoint, "PUSH");
  peer.send(command("PING", Buffer.from("\0\x0aabc")));
  assert.equal((await peer.frames.next()).body.toString("latin1"), "\x04PONGabc");
  clock.advance(1_100);
  assert.equal(await gone.next(), "silent");
  await pull.close();
});

test("a socket file that a killed process left is taken over, one in use is not", async () => {
  const folder = mkdtempSync(join(tmpdir(), "zmtp-"));
  const path = join(folder, "a.sock");
  const script = `require("net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`;
  spawnSync(process.execPath, ["-e", script]);
  assert.ok(existsSync(path));
  const pull = new Pull();
  await pull.bind(`ipc://${path}`);
  await assert.rejects(new Pull().bind(`ipc://${path}`), { code: "EADDRINUSE" });
  await pull.close();
  assert.equal(existsSync(path), false);
  rmSync(folder, { recursive: true });
});

for (const [name, makeLine] of [
  ["a moved handle", acceptLine],
  ["data events", eventLine],
] as Array<[string, (stream: Socket) => Line]>) {
  test(`an accepted line by ${name} brings every byte, then its end`, async () => {
    const bytes: Buffer[] = [];
    const ended = new Promise((resolve) => {
      const server = createServer({ pauseOnConnect: true }, (accepted) => {
        const line = makeLine(accepted);
        line.open({
          // Half of what is lent is used up, the rest has to come another way.
          borrow: (lent, length) => bytes.push(Buffer.from(lent.subarray(0, length >> 1))) && length >> 1,
          receive: (chunk) => bytes.push(chunk),
          target: () => undefined,
          filled: () => {},
        });
        line.stream.on("end", () => server.close(resolve));
      });
      server.listen(0, "127.0.0.1", async () => {
        const peer = await RawPeer.open(`tcp://127.0.0.1:${(server.address() as { port: number }).port}`);
        peer.stream.end(Buffer.alloc(1_000_000, "z"));
      });
    });
    await ended;
    assert.ok(Buffer.concat(bytes).equals(Buffer.alloc(1_000_000, "z")));
  });
}
