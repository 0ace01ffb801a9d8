import assert from "node:assert/strict";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { messageLine } from "./tap.js";

test("the arrow of a message points from its sender to its receiver", () => {
  const message = { door: "http", peer: "10.0.4.2", type: "submitTask", bytes: 44, content: null };
  const line = (direction: "in" | "out") =>
    stripVTControlCharacters(messageLine({ ...message, direction }, 200));
  assert.match(line("in"), /http ← 10\.0\.4\.2 submitTask 44 B/);
  assert.match(line("out"), /http → 10\.0\.4\.2 submitTask 44 B/);
});
