import assert from "node:assert/strict";
import { test } from "node:test";
import { clientOf, hostOf } from "./clients.js";

test("a host is the same by all its names, and apart from others", () => {
  for (const address of ["127.0.0.1:7", "[::1]:7", "127.0.1.1:7", "localhost:7", "[::ffff:127.0.0.1]:7"])
    assert.equal(hostOf(`tcp://${address}`), "loopback", address);
  assert.equal(hostOf("tcp://10.1.2.3:7"), "10.1.2.3");
  assert.equal(hostOf("tcp://[::ffff:10.1.2.3]:7"), "10.1.2.3");
  assert.equal(hostOf("tcp://[2001:db8::1]:7"), "2001:db8::1");
});

test("a name of its own goes before the host; one that was made up for it is none", () => {
  const address = "tcp://10.1.2.3:7";
  assert.equal(clientOf({ identity: Buffer.from("me"), address }), "#me");
  assert.equal(clientOf({ identity: Buffer.alloc(0), address }), "10.1.2.3");
  assert.equal(clientOf({ identity: Buffer.of(0, 1), address }), "10.1.2.3");
});
