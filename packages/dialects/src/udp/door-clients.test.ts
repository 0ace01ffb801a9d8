import assert from "node:assert/strict";
import { test } from "node:test";
import type { Body, FinishedStateName } from "@yardmaster/core";
import { bodyOf } from "../body.js";
import { jsonBody } from "./bridge.js";
import type { UdpDoorClients } from "./door-clients.js";
import { addressOf, DoorEnd, packetOf, taskHead } from "./testing/door-end.js";

const client = addressOf(99);
const accepted = { type: "accepted", task: 1 as never, existing: false } as const;

function tell(
  end: DoorEnd,
  clients: UdpDoorClients,
  state: FinishedStateName,
  result?: Body,
  taskId: number | string = 5,
) {
  const task = taskHead({ id: 1, client: client.name, taskId });
  clients.tell({ type: "tell", door: "udp", task, outcome: { state, result, error: undefined } }, end.moment);
}

test("[udp 2.1] an add_task becomes a task: its params are the payload, the placement timeout its patience", () => {
  const end = new DoorEnd();
  end.clients().addTask(client, 5, packetOf("add_task", { task_id: 5, x: 1 }, 1, 7));
  const [event] = end.posted;
  assert.ok(event?.type === "task-submitted");
  const { payload, envelope, ...submission } = event.submission;
  assert.deepEqual(submission, {
    queue: "q",
    waitingMsMax: 60_000,
    key: "udp:10.0.0.1:99:5",
    replyTo: { address: "10.0.0.1:99", diesWithConnection: false },
  });
  assert.deepEqual([payload, String(envelope)], [jsonBody({ task_id: 5, x: 1 }), "5"]);
});

test("[udp 2.3] it is acknowledged when it is committed; a retransmission meanwhile joins it", () => {
  const end = new DoorEnd();
  const clients = end.clients();
  for (const transmission of [7, 7, 8]) {
    clients.addTask(client, 5, packetOf("add_task", { task_id: 5 }, 1, transmission));
  }
  assert.deepEqual([end.takePosted(), end.sent], [["submitted udp:10.0.0.1:99:5"], []]);
  end.answer(accepted);
  assert.deepEqual(
    end.sent.map(({ packet }) => packet.transmission_id),
    [7, 8],
  );
  assert.equal(clients.pending, 0);
});

test("[udp 2.4] one that is there already is acknowledged alike; [udp 2.5] a refusal is silence", () => {
  const end = new DoorEnd();
  const clients = end.clients();
  clients.addTask(client, 5, packetOf("add_task", { task_id: 5 }, 1, 7));
  end.answer({ ...accepted, existing: true });
  assert.deepEqual(end.takeSent(), ['add_task 2 {"task_id":5}']);
  clients.addTask(client, 6, packetOf("add_task", { task_id: 6 }, 1, 8));
  end.answer({ type: "refused", code: "queue_full", message: "full" });
  assert.deepEqual([end.takeSent(), end.refusals, clients.pending], [[], ["10.0.0.1:99 full"], 0]);
});

test("[udp 1.3] one that wants no ack gets none", () => {
  const end = new DoorEnd();
  end.clients().addTask(client, 5, packetOf("add_task", { task_id: 5 }, 0));
  end.answer(accepted);
  assert.deepEqual([end.takeSent(), end.takePosted()], [[], ["submitted udp:10.0.0.1:99:5"]]);
});

test("[udp 2.6] success is told until it is acknowledged", () => {
  const end = new DoorEnd();
  const clients = end.clients();
  tell(end, clients, "done");
  end.pass(200);
  assert.deepEqual(end.takePosted(), ["undelivered 1 again"]);
  assert.deepEqual(new Set(end.takeSent()), new Set(['notify_task 1 {"status":"success","task_id":5}']));
  tell(end, clients, "done", undefined, "five");
  assert.equal(end.acknowledgeLast(addressOf(98)), false, "an ack from elsewhere is none");
  assert.equal(end.acknowledgeLast(client), true);
  assert.deepEqual(end.takeSent(), ['notify_task 1 {"status":"success","task_id":"five"}']);
  end.pass(1_000);
  assert.deepEqual([end.takePosted(), end.takeSent()], [["told 1"], []]);
});

test("[udp 2.7] a result goes with it where it fits, and otherwise its size", () => {
  const big = jsonBody({ x: "x".repeat(2_000) });
  const near = jsonBody("x".repeat(1_000));
  for (const [result, more] of [
    [jsonBody({ a: [1] }), { result: { a: [1] } }],
    [jsonBody(null), { result: null }],
    [bodyOf(Buffer.from([0xff, 0])), { result: "/wA=", encoding: "base64" }],
    [bodyOf(Buffer.from("{"), "application/json"), { result: "ew==", encoding: "base64" }],
    [bodyOf(Buffer.alloc(0)), {}],
    [near, { truncated: true, size: near.size }],
    [big, { truncated: true, size: big.size }],
    [
      { mediaType: "a/b", size: 5_000_000 },
      { truncated: true, size: 5_000_000 },
    ],
  ] as const) {
    const end = new DoorEnd();
    tell(end, end.clients(), "done", result);
    assert.deepEqual(end.sent[0]?.packet.params, { status: "success", task_id: 5, ...more });
    assert.ok(Buffer.byteLength(JSON.stringify(end.sent[0]?.packet)) <= 1_024);
  }
});

test("[udp 2.8] what failed is told once, and no ack is waited for", () => {
  for (const [state, status] of [
    ["failed", "error"],
    ["cancelled", "error"],
    ["expired", "failed_post"],
  ] as const) {
    const end = new DoorEnd();
    tell(end, end.clients(), state);
    end.pass(1_000);
    assert.deepEqual(end.takePosted(), ["told 1"]);
    assert.deepEqual(
      end.sent.map(({ packet }) => packet),
      [{ method: "notify_task", params: { status, task_id: 5 }, packet_type: 0 }],
    );
  }
});

test("[udp 2.8] why it failed is told with it, as far as a datagram has room", () => {
  for (const [taskId, message] of [
    [5, "boom"],
    [5, "x".repeat(10_000)],
    ["\u0001".repeat(128), "\u0001".repeat(10_000)],
  ] as const) {
    const end = new DoorEnd();
    const outcome = { state: "failed", result: undefined, error: { code: "e", message } } as const;
    const task = taskHead({ client: "10.9.9.9:99", taskId });
    end.clients().tell({ type: "tell", door: "udp", task, outcome }, end.moment);
    const { packet } = end.sent[0] ?? assert.fail();
    const { error } = packet.params as { error: string };
    assert.ok(error === message || (error.endsWith("…") && message.startsWith(error.slice(0, -1))));
    assert.ok(Buffer.byteLength(JSON.stringify(packet)) <= 1_024);
  }
});
