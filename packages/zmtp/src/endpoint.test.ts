// Endpoints: what is accepted, what is refused, and that printing gives back what was parsed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { formatEndpoint, netAddress, parseEndpoint } from "./endpoint.js";

test("good ones", () => {
  for (const text of [
    "tcp://127.0.0.1:5555",
    "tcp://host.name:1",
    "tcp://[::1]:65535",
    "ipc:///run/a.sock",
  ]) {
    assert.equal(formatEndpoint(parseEndpoint(text)), text);
  }
  assert.deepEqual(parseEndpoint("tcp://*:*"), { transport: "tcp", host: "0.0.0.0", port: 0 });
  assert.deepEqual(netAddress(parseEndpoint("ipc://@name")), { path: "\0name" });
});

test("bad ones say what was expected", () => {
  for (const text of [
    "",
    "tcp://",
    "tcp://host",
    "tcp://host:65536",
    "tcp://a:b:1",
    "udp://host:1",
    "ipc://",
    "x",
  ]) {
    assert.throws(() => parseEndpoint(text), /not an endpoint.*tcp:\/\/host:port or ipc:\/\/path/);
  }
});
