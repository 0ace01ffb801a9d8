import assert from "node:assert/strict";
import { test } from "node:test";
import { PeerFilter, readNetwork } from "./peer-filter.js";

test("addresses inside the networks are allowed, in every way the system shows them", () => {
  const filter = new PeerFilter(["10.0.0.0/8", "192.168.1.7", "2001:db8::/32", "fe80::/10"]);
  for (const host of [
    "10.0.0.1",
    "10.255.255.255",
    "192.168.1.7",
    "::ffff:10.1.2.3",
    "2001:db8:ffff::1",
    "fe80::1%eth0",
  ]) {
    assert.ok(filter.allows(host), host);
  }
  for (const host of [
    "11.0.0.1",
    "9.255.255.255",
    "192.168.1.8",
    "::ffff:11.0.0.1",
    "2001:db9::1",
    "::1",
    "127.0.0.1",
    "?",
    "",
    "localhost",
  ]) {
    assert.ok(!filter.allows(host), host);
  }
});

test("a whole address family, and an empty list", () => {
  assert.ok(new PeerFilter(["0.0.0.0/0"]).allows("203.0.113.9"));
  assert.ok(new PeerFilter(["0.0.0.0/0"]).allows("::ffff:203.0.113.9"));
  assert.ok(!new PeerFilter(["0.0.0.0/0"]).allows("2001:db8::1"));
  assert.ok(new PeerFilter(["::/0"]).allows("2001:db8::1"));
  assert.ok(!new PeerFilter([]).allows("127.0.0.1"));
});

test("text that is not a network", () => {
  for (const text of [
    "",
    "10.0.0.0/33",
    "10.0.0/8",
    "::/129",
    "10.0.0.0/08",
    "10.0.0.0/8/8",
    "host",
    "fe80::1%lo",
    "10.0.0.0/-1",
    "1/",
  ]) {
    assert.equal(readNetwork(text), undefined, text);
  }
});
