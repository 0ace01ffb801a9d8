import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyOf } from "../body.js";
import { jsonBody } from "./bridge.js";
import type { UdpDoorCalculator } from "./door-calculator.js";
import { addressOf, assignTo, DoorEnd, packetOf, taskHead } from "./testing/door-end.js";

const client = "10.9.9.9:99";
const five = taskHead({ id: 1, client, taskId: 5 });
const ids = '"task_id":5,"task_uuid":"10.9.9.9:99:5"';
const perform = `perform_task 1 {${ids}}`;
const granted = { type: "granted" } as const;
const refused = { type: "refused", code: "stale_attempt", message: "" } as const;

/** A calculator that has said it is ready. */
function readyCalculator(): { end: DoorEnd; calculator: UdpDoorCalculator } {
  const end = new DoorEnd();
  const calculator = end.calculator();
  calculator.heartbeat("ready", "document", end.moment);
  assert.deepEqual(end.takePosted(), ["joined 1", "is ready (document)"]);
  return { end, calculator };
}

/** A calculator that has task 5 and has said so. */
function busyCalculator() {
  const both = readyCalculator();
  const { end, calculator } = both;
  assignTo(calculator, five, end.moment);
  assert.equal(end.acknowledgeLast(calculator.address), true);
  assert.deepEqual([end.takeSent(), end.takePosted()], [[perform], ["is busy (document)"]]);
  return both;
}

function complete(end: DoorEnd, calculator: UdpDoorCalculator, params: object, transmission = 1): boolean {
  const packet = packetOf("completed_task", { ...params }, 1, transmission);
  const { task_uuid: uuid, task_id: taskId } = packet.params as { task_uuid?: string; task_id?: number };
  return calculator.completed({ uuid, taskId }, packet, end.moment);
}

test("[udp 3.1] a heartbeat makes a calculator known, once", () => {
  const { end, calculator } = readyCalculator();
  calculator.heartbeat("ready", "document", end.moment);
  assert.deepEqual(end.takePosted(), []);
  calculator.heartbeat("ready", "program", end.moment);
  assert.deepEqual(end.takePosted(), ["is ready (program)"]);
});

test("[udp 3.2] a task goes out with the client's params and both ids, which win", () => {
  const { end, calculator } = readyCalculator();
  const payload = jsonBody({ task_id: 5, task_uuid: "mine", x: [1] });
  assignTo(calculator, taskHead({ client, taskId: 5, payload }), end.moment);
  assert.deepEqual(end.takeSent(), ['perform_task 1 {"task_id":5,"task_uuid":"10.9.9.9:99:5","x":[1]}']);
});

test("[udp 1.7] it goes out four times, 50 ms apart, under one transmission_id", () => {
  const { end, calculator } = readyCalculator();
  assignTo(calculator, five, end.moment);
  for (const [ms, count] of [
    [49, 1],
    [1, 2],
    [50, 3],
    [50, 4],
    [49, 4],
  ] as const) {
    end.pass(ms, calculator);
    assert.equal(end.sent.length, count);
  }
  assert.equal(new Set(end.sent.map(({ packet }) => packet.transmission_id)).size, 1);
});

test("[udp 3.3] one that does not ack is unavailable, and the task goes to another at no cost", () => {
  const { end, calculator } = readyCalculator();
  assignTo(calculator, five, end.moment);
  end.pass(199, calculator);
  assert.deepEqual(end.takePosted(), ["is busy (document)"]);
  end.pass(1, calculator);
  assert.deepEqual(end.takePosted(), ["joined 0", "returned 1 undelivered", "is unavailable (document)"]);
  assert.equal(end.acknowledgeLast(calculator.address), true, "a late ack is no fault");
  assert.deepEqual(end.takePosted(), []);
  calculator.heartbeat("ready", "document", end.moment);
  assert.deepEqual(end.takePosted(), ["joined 1", "is ready (document)"]);
});

test("[udp 1.4] an ack counts only from whom it was asked of", () => {
  const { end, calculator } = readyCalculator();
  assignTo(calculator, five, end.moment);
  assert.equal(end.acknowledgeLast(addressOf(7001)), false);
  end.pass(200, calculator);
  assert.ok(end.takePosted().includes("returned 1 undelivered"));
});

for (const [form, params] of [
  ["its uuid", { task_uuid: "10.9.9.9:99:5" }],
  ["its task_id", { task_id: 5 }],
  ["both", { task_id: 5, task_uuid: "10.9.9.9:99:5" }],
] as const) {
  test(`[udp 3.4] an answer by ${form} is acknowledged when it is committed, and again when it is said again`, () => {
    const { end, calculator } = busyCalculator();
    assert.equal(complete(end, calculator, params, 1), true);
    assert.equal(complete(end, calculator, params, 1), true);
    assert.equal(complete(end, calculator, params, 2), true);
    assert.deepEqual([end.takePosted(), end.takeSent()], [["done 1 "], []]);
    end.answer(granted);
    const ack = `completed_task 2 ${JSON.stringify(params)}`;
    assert.deepEqual([end.takePosted(), end.takeSent()], [["is ready (document)"], [ack, ack]]);
    assert.equal(complete(end, calculator, params, 2), true);
    assert.deepEqual([end.takePosted(), end.takeSent()], [[], [ack]]);
  });
}

test("[udp 3.4] an answer to another calculator's task is ignored, whatever else it names", () => {
  const { end, calculator } = busyCalculator();
  assert.equal(complete(end, calculator, { task_id: 6 }), false);
  assert.equal(complete(end, calculator, { task_id: 5, task_uuid: "10.9.9.9:98:5" }), false);
  assert.deepEqual([end.takePosted(), end.takeSent()], [[], []]);
});

test("[udp 3.4] an answer that the core refuses is acknowledged: the calculator has done its part", () => {
  const { end, calculator } = busyCalculator();
  complete(end, calculator, { task_id: 5 });
  end.answer(refused);
  assert.deepEqual(end.takeSent(), ['completed_task 2 {"task_id":5}']);
});

test("[udp 3.4] the next task leaves after the ack of the last, and an answer tells that the task was taken", () => {
  const { end, calculator } = readyCalculator();
  assignTo(calculator, five, end.moment);
  complete(end, calculator, { task_id: 5 });
  assignTo(calculator, taskHead({ id: 2, client, taskId: 6 }), end.moment);
  assert.deepEqual(end.takeSent(), [perform]);
  end.answer(granted);
  assert.deepEqual(end.takeSent(), [
    'completed_task 2 {"task_id":5}',
    'perform_task 1 {"task_id":6,"task_uuid":"10.9.9.9:99:6"}',
  ]);
  assert.equal(end.exchange.open, 1, "the first perform_task is not sent again");
});

test("[udp 3.5] what an answer says", () => {
  for (const [params, posted] of [
    [{}, "done 1 "],
    [{ result: { a: 1 }, x: 2 }, 'done 1 {"a":1}'],
    [{ result: null }, "done 1 null"],
    [{ x: 2, y: [3] }, 'done 1 {"x":2,"y":[3]}'],
    [{ error: "boom", result: 1 }, "failed 1 boom"],
    [{ error: { code: 7 } }, 'failed 1 {"code":7}'],
    [{ error: null, result: 1 }, "done 1 1"],
    [{ error: null }, "done 1 "],
  ] as const) {
    const { end, calculator } = busyCalculator();
    complete(end, calculator, { task_uuid: "10.9.9.9:99:5", task_id: 5, ...params });
    assert.deepEqual(end.takePosted(), [posted]);
  }
});

test("[udp 3.6] a ready that crossed the task is ignored; later it means that the task is lost", () => {
  const { end, calculator } = busyCalculator();
  end.pass(999, calculator);
  calculator.heartbeat("ready", "document", end.moment);
  end.pass(5_000, calculator);
  assert.deepEqual(end.takePosted(), ["beat"]);
  calculator.heartbeat("ready", "document", end.moment);
  end.pass(299, calculator);
  assert.deepEqual(end.takePosted(), ["beat"]);
  end.pass(1, calculator);
  assert.deepEqual(end.takePosted(), ["lost 1 forgotten", "is ready (document)"]);
  assert.equal(end.lost[0]?.uuid, "10.9.9.9:99:5");
});

test("[udp 3.6] the answer, or a busy, behind a ready keeps the task", () => {
  const busy = busyCalculator();
  busy.end.pass(2_000, busy.calculator);
  busy.calculator.heartbeat("ready", "document", busy.end.moment);
  busy.calculator.heartbeat("busy", "document", busy.end.moment);
  busy.end.pass(1_000, busy.calculator);
  assert.deepEqual(busy.end.takePosted(), ["beat", "beat"]);

  const done = busyCalculator();
  done.end.pass(2_000, done.calculator);
  done.calculator.heartbeat("ready", "document", done.end.moment);
  done.end.pass(150, done.calculator);
  complete(done.end, done.calculator, { task_id: 5 });
  done.end.pass(1_000, done.calculator);
  assert.deepEqual(done.end.takePosted(), ["beat", "done 1 "]);
});

test("[udp 3.7] one in program form that is silent is polled, and gone when it does not answer", () => {
  const end = new DoorEnd();
  const calculator = end.calculator();
  calculator.heartbeat("ready", "program", end.moment);
  end.pass(9_999, calculator);
  assert.deepEqual(end.takeSent(), []);
  end.pass(1, calculator);
  assert.deepEqual(end.takeSent(), ["status 1 {}"]);
  end.takePosted();
  end.pass(10_000, calculator);
  assert.deepEqual([end.takePosted(), end.left], [["left silence"], 1]);
  assert.equal(end.sent.length, 7, "two polls of four sends, the first of them seen above");
});

test("[udp 3.7] a poll's answer is a sign of life, and its status counts", () => {
  const { end, calculator } = readyCalculator();
  end.pass(10_000, calculator);
  assert.equal(end.acknowledgeLast(calculator.address, { status: 1 }), true);
  assert.deepEqual(end.takePosted(), ["joined 0", "is busy (program)"]);
  end.takeSent();
  end.pass(9_999, calculator);
  assert.deepEqual([end.takeSent(), end.left], [[], 0]);
});

test("[udp 3.7] one in document form may know no polls: it is gone after the whole silence", () => {
  const { end, calculator } = busyCalculator();
  end.pass(59_999, calculator);
  assert.deepEqual([end.takePosted(), end.left], [[], 0]);
  end.pass(1, calculator);
  assert.deepEqual([end.takePosted(), end.left], [["left silence"], 1]);
  assert.equal(end.lost[0]?.task, 1);
});

test("[udp 3.7] one that was heard of while its poll was out is there", () => {
  const end = new DoorEnd();
  const calculator = end.calculator();
  calculator.heartbeat("ready", "program", end.moment);
  end.pass(10_100, calculator);
  calculator.heartbeat("ready", "program", end.moment);
  end.pass(9_000, calculator);
  assert.equal(end.left, 0);
});

test("[udp 3.8] a calculator that is busy with a foreign task is known, and given nothing", () => {
  const { end, calculator } = readyCalculator();
  calculator.heartbeat("busy", "document", end.moment);
  assert.deepEqual(end.takePosted(), ["joined 0", "is busy (document)"]);
  assignTo(calculator, five, end.moment);
  assert.deepEqual([end.takePosted(), end.takeSent()], [["returned 1 busy"], []]);
});

test("[udp 3.9] an answer about a task that is not on the books is put to the core", () => {
  const end = new DoorEnd();
  const calculator = end.calculator();
  const packet = packetOf("completed_task", { task_id: 5, result: 1 }, 1, 1);
  assert.equal(calculator.completed({ uuid: undefined, taskId: 5 }, packet, end.moment), false);
  let refusals = 0;
  const refuse = () => {
    refusals += 1;
    return false;
  };
  const held = { task: five.id, attempt: undefined, taskId: 5, uuid: "10.9.9.9:99:5" };
  calculator.completedUnheld(held, packet, refuse);
  assert.deepEqual(end.takePosted(), ["joined 0", "done 1 1 of before"]);
  end.answer(granted);
  assert.deepEqual(end.takePosted(), ["joined 1", "is ready (document)"]);
  calculator.completedUnheld(held, packet, refuse);
  end.answer(refused);
  assert.deepEqual([end.takeSent(), refusals], [['completed_task 2 {"task_id":5,"result":1}'], 1]);
});

test("[udp 4] what comes by other doors", () => {
  for (const [payload, sent] of [
    [jsonBody({ x: 1, task_id: 9 }), '{"x":1,"task_id":3,"task_uuid":"0.0.0.0:0:3"}'],
    [jsonBody([1]), '{"payload":"WzFd","task_id":3,"task_uuid":"0.0.0.0:0:3"}'],
    [bodyOf(Buffer.from("{}")), '{"payload":"e30=","task_id":3,"task_uuid":"0.0.0.0:0:3"}'],
    [
      bodyOf(Buffer.from("{"), "application/json"),
      '{"payload":"ew==","task_id":3,"task_uuid":"0.0.0.0:0:3"}',
    ],
    [bodyOf(Buffer.alloc(0)), '{"task_id":3,"task_uuid":"0.0.0.0:0:3"}'],
  ] as const) {
    const { end, calculator } = readyCalculator();
    assignTo(calculator, taskHead({ id: 3, door: "http", payload }), end.moment);
    const params = JSON.parse(end.takeSent()[0]?.slice("perform_task 1 ".length) ?? "");
    assert.deepEqual(params, JSON.parse(sent));
  }
});

test("[udp 4] what makes more than 1,024 bytes is not sent", () => {
  const overhead = Buffer.byteLength(
    '{"method":"perform_task","params":{"x":"","task_id":3,"task_uuid":"0.0.0.0:0:3"},"packet_type":1,"transmission_id":1000}',
  );
  for (const [length, isSent] of [
    [1_024 - overhead, true],
    [1_025 - overhead, false],
    [5_000, false],
  ] as const) {
    const { end, calculator } = readyCalculator();
    const payload = jsonBody({ x: "x".repeat(length) });
    assignTo(calculator, taskHead({ id: 3, door: "http", payload }), end.moment);
    assert.equal(end.sent.length, isSent ? 1 : 0);
    assert.equal(end.takePosted()[0], isSent ? "is busy (document)" : "returned 3 does_not_fit");
  }
});

test("a calculator for whom the core has no room asks again with its next heartbeat", () => {
  const { end, calculator } = readyCalculator();
  calculator.dismiss();
  assignTo(calculator, five, end.moment);
  assert.deepEqual([end.takeSent(), end.takePosted()], [[], []]);
  calculator.heartbeat("ready", "document", end.moment);
  assert.deepEqual(end.takePosted(), ["joined 1", "is ready (document)"]);
});

test("[udp 3.10] one that says busy for too long loses its task, and is given nothing until it is ready", () => {
  const end = new DoorEnd();
  const calculator = end.calculator(7000, { executionMs: 5_000 });
  calculator.heartbeat("ready", "program", end.moment);
  assignTo(calculator, five, end.moment);
  end.acknowledgeLast(calculator.address);
  end.takePosted();
  end.pass(4_000, calculator);
  calculator.heartbeat("busy", "program", end.moment);
  end.pass(999, calculator);
  assert.deepEqual(end.takePosted(), ["beat"]);
  end.pass(1, calculator);
  assert.deepEqual(end.takePosted(), ["joined 0", "lost 1 time_limit", "is busy (program)"]);
  calculator.heartbeat("ready", "program", end.moment);
  assert.deepEqual(end.takePosted(), ["joined 1", "is ready (program)"]);
});

test("[udp 3.10] a task with a time limit of its own has no other", () => {
  const end = new DoorEnd();
  const calculator = end.calculator(7000, { executionMs: 5_000, pollMs: 100_000 });
  calculator.heartbeat("ready", "program", end.moment);
  assignTo(calculator, taskHead({ client, taskId: 5, attemptTimeoutMs: 60_000 }), end.moment);
  end.acknowledgeLast(calculator.address);
  end.takePosted();
  end.pass(30_000, calculator);
  assert.deepEqual(end.takePosted(), []);
});

test("[udp 3.11] it is written down when it is known, and dropped when it is gone", () => {
  const { end, calculator } = readyCalculator();
  assert.deepEqual([...end.memos], [["calculator/10.0.0.1:7000", "document"]]);
  calculator.heartbeat("ready", "program", end.moment);
  assert.deepEqual([...end.memos], [["calculator/10.0.0.1:7000", "program"]]);
  end.pass(60_000, calculator);
  assert.deepEqual([end.memos.size, end.left], [0, 1]);
});

test("[udp 3.11] one from before a restart is asked at once, and given work when it says it is ready", () => {
  const end = new DoorEnd();
  const calculator = end.calculator();
  calculator.adopt("program", end.moment);
  assert.deepEqual([end.takePosted(), end.takeSent()], [[], []]);
  end.pass(0, calculator);
  assert.deepEqual([end.takePosted(), end.sent.length], [[], 1]);
  end.acknowledgeLast(calculator.address, { status: 0 });
  assert.deepEqual(end.takePosted(), ["joined 1", "is ready (program)"]);
});

test("[udp 3.11] one that is there no more is forgotten without a word to the yard, which never knew it", () => {
  const end = new DoorEnd();
  const calculator = end.calculator();
  calculator.adopt("program", end.moment);
  end.pass(2_000, calculator);
  assert.deepEqual([end.takePosted(), end.left], [[], 1]);
});
