import assert from "node:assert/strict";
import { test } from "node:test";
import { messageName } from "./wire-rows.js";

const packet = (type: string) => ({
  door: "udp",
  direction: "in" as const,
  type: "perform_task",
  content: null,
  fields: [{ name: "packet_type", at: 0, bytes: 1, value: type }],
});
const http = { door: "http", type: "submitTask", fields: [] };

test("an answer is told apart from its request", () => {
  assert.equal(messageName(packet("1")), "perform_task");
  assert.equal(messageName(packet("2")), "perform_task ack");
  assert.equal(messageName({ ...http, direction: "in", content: { method: "POST" } }), "submitTask");
  assert.equal(messageName({ ...http, direction: "out", content: { status: 201 } }), "201 submitTask");
  assert.equal(messageName({ ...http, direction: "out", content: null }), "submitTask");
  assert.equal(
    messageName({ ...http, door: "scaler", direction: "out", content: { status: 1 } }),
    "submitTask",
  );
});
