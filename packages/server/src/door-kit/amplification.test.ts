import assert from "node:assert/strict";
import { test } from "node:test";
import { AmplificationLimit } from "./amplification.js";

const peer = { name: "192.0.2.1:5000", host: "192.0.2.1" };

test("an address gets three times what it sent, until it acknowledges", () => {
  const limit = new AmplificationLimit(3);
  assert.ok(!limit.maySend(peer, 1));
  limit.received(peer.name, 100);
  assert.ok(limit.maySend(peer, 200));
  assert.ok(limit.maySend(peer, 100));
  assert.ok(!limit.maySend(peer, 1));
  limit.received(peer.name, 1);
  assert.ok(limit.maySend(peer, 3));
  limit.acknowledged(peer.name);
  assert.ok(limit.maySend(peer, 1_000_000));
});

test("another port of the same host is another address, and loopback has no limit", () => {
  const limit = new AmplificationLimit(3);
  limit.acknowledged(peer.name);
  assert.ok(!limit.maySend({ ...peer, name: "192.0.2.1:5001" }, 1));
  assert.ok(limit.maySend({ name: "127.0.0.1:9", host: "127.0.0.1" }, 1000));
});

test("a flood of addresses takes bounded memory and leaves proven ones alone", () => {
  const limit = new AmplificationLimit(3);
  limit.acknowledged(peer.name);
  for (let port = 0; port < 200_000; port++) limit.received(`198.51.100.1:${port}`, 10);
  assert.ok(limit.maySend(peer, 1_000_000));
  assert.ok(!limit.maySend({ name: "198.51.100.1:0", host: "198.51.100.1" }, 1), "evicted");
  assert.ok(limit.maySend({ name: "198.51.100.1:199999", host: "198.51.100.1" }, 30));
});
