import assert from "node:assert/strict";
import { test } from "node:test";
import type { Instant, Moment, WallTime } from "@yardmaster/core";
import { type Peer, Peers } from "./peers.js";

const at = (ms: number): Moment => ({ instant: ms as Instant, wall: ms as WallTime });

test("a peer is silent only when it has not been heard for its time", () => {
  const peers = new Peers<null>(10);
  const one = peers.add("one", null) as Peer<null>;
  const two = peers.add("two", null) as Peer<null>;
  peers.heard(one, at(0), 1000);
  peers.heard(two, at(0), 1000);
  peers.heard(one, at(900), 1000);
  assert.equal(peers.takeSilent(at(999)), undefined);
  assert.equal(peers.takeSilent(at(1000)), two);
  assert.equal(peers.takeSilent(at(1000)), undefined);
  assert.equal(peers.nextDeadline(), 1900);
  assert.equal(peers.takeSilent(at(1900)), one);
});

test("an excused peer is never silent, and a shorter limit counts at once", () => {
  const peers = new Peers<null>(10);
  const peer = peers.add("one", null) as Peer<null>;
  peers.heard(peer, at(0), 1000);
  peers.excuse(peer);
  assert.equal(peers.takeSilent(at(5000)), undefined);
  peers.heard(peer, at(5000), 60_000);
  peers.heard(peer, at(5001), 10);
  assert.equal(peers.takeSilent(at(5011)), peer);
});

test("one more than the limit is not taken in, until another goes", () => {
  const peers = new Peers<number>(1);
  const first = peers.add("one", 1) as Peer<number>;
  assert.equal(peers.add("two", 2), undefined);
  peers.remove(first);
  assert.notEqual(peers.add("two", 2), undefined);
  assert.equal(peers.size, 1);
});
