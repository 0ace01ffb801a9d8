import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultUdpCalculatorSettings, UdpCalculatorSession } from "./calculator-session.js";
import type { Params, UdpForm } from "./messages.js";
import { packetOf } from "./testing/door-end.js";
import { PeerEnd } from "./testing/peer-end.js";

const task = { task_id: 5, task_uuid: "10.0.0.1:99:5" };
const [named, ids] = [JSON.stringify({ ...task, x: 1 }), JSON.stringify(task).slice(0, -1)];
const [ready, busy] = ['heartbeat 0 {"status":"ready"}', 'heartbeat 0 {"status":"busy"}'];

class CalculatorUnderTest extends PeerEnd {
  readonly given: Params[] = [];
  readonly session: UdpCalculatorSession;

  constructor(form: UdpForm = "document", isKnown = true) {
    super();
    this.session = new UdpCalculatorSession(
      this.dispatcher,
      { ...defaultUdpCalculatorSettings, form },
      { exchange: this.exchange, work: (params) => this.given.push(params) },
    );
    this.session.start(this.moment);
    if (isKnown) this.acknowledgeLast();
  }

  perform(params: Params = { ...task, x: 1 }, transmission = 7): string[] {
    this.session.receive(packetOf("perform_task", params, 1, transmission), this.moment);
    return this.takeSent();
  }
}

test("[udp 3.1] it beats when it starts and again in time, in its form", () => {
  for (const [form, status] of [
    ["document", '"ready"'],
    ["program", "0"],
  ] as const) {
    const calculator = new CalculatorUnderTest(form);
    assert.deepEqual(calculator.takeSent(), [`heartbeat 1 {"status":${status}}`]);
    calculator.pass(4_999, calculator.session);
    assert.deepEqual(calculator.takeSent(), []);
    calculator.pass(1, calculator.session);
    assert.deepEqual(calculator.takeSent(), [`heartbeat 0 {"status":${status}}`]);
  }
});

test("[udp 3.1] its heartbeats request an ack until the dispatcher has answered", () => {
  const calculator = new CalculatorUnderTest("document", false);
  const introduction = 'heartbeat 1 {"status":"ready"}';
  calculator.pass(5_000, calculator.session);
  assert.deepEqual(calculator.takeSent(), Array(5).fill(introduction));
  calculator.perform();
  calculator.pass(4_999, calculator.session);
  assert.deepEqual(calculator.takeSent(), [], "a busy one does not say again that it is ready");
  calculator.pass(1, calculator.session);
  assert.deepEqual(calculator.takeSent(), [busy]);
});

test("it takes a task, says so, and says so again when it is asked again; it works once", () => {
  const calculator = new CalculatorUnderTest();
  calculator.takeSent();
  assert.deepEqual(calculator.perform(), [`perform_task 2 ${named}`]);
  assert.deepEqual(calculator.perform(), [`perform_task 2 ${named}`]);
  assert.equal(calculator.given.length, 1);
  calculator.pass(5_000, calculator.session);
  assert.deepEqual(calculator.takeSent(), [busy]);
});

test("[udp 1.6] a second task is refused by silence", () => {
  const calculator = new CalculatorUnderTest();
  calculator.perform();
  assert.deepEqual(calculator.perform({ task_id: 6 }, 8), []);
  assert.equal(calculator.given.length, 1);
});

test("its answer is told until it is acknowledged; then it is ready, and an old perform_task starts nothing", () => {
  const calculator = new CalculatorUnderTest();
  calculator.perform();
  calculator.session.finish({ result: 2 }, calculator.moment);
  const answer = `completed_task 1 ${ids},"result":2}`;
  assert.deepEqual(calculator.takeSent(), [answer]);
  calculator.pass(200, calculator.session);
  assert.deepEqual(calculator.takeSent(), [answer, answer, answer]);
  // The exchange gave up, and the session sends it again a second later.
  calculator.pass(1_000, calculator.session);
  assert.deepEqual(calculator.sent.length, 1);
  calculator.acknowledgeLast();
  assert.deepEqual(calculator.takeSent(), [answer, ready]);
  assert.deepEqual(calculator.perform(), [`perform_task 2 ${named}`]);
  assert.deepEqual([calculator.given.length, calculator.session.isBusy], [1, false]);
});

test("the same task under another transmission is another try", () => {
  const calculator = new CalculatorUnderTest();
  calculator.perform();
  calculator.session.finish({ result: 2 }, calculator.moment);
  calculator.acknowledgeLast();
  calculator.takeSent();
  assert.deepEqual(calculator.perform({ ...task, x: 1 }, 8), [`perform_task 2 ${named}`]);
  assert.equal(calculator.given.length, 2);
});

test("an answer that nobody acknowledges is given up after a minute", () => {
  const calculator = new CalculatorUnderTest();
  calculator.perform();
  calculator.session.finish({ result: 2 }, calculator.moment);
  calculator.pass(59_000, calculator.session);
  assert.equal(calculator.session.isBusy, true);
  calculator.pass(3_000, calculator.session);
  assert.equal(calculator.session.isBusy, false);
});

test("a result that fits in no datagram is told as an error, and an error as one", () => {
  const calculator = new CalculatorUnderTest();
  calculator.perform();
  calculator.takeSent();
  calculator.session.finish({ result: "x".repeat(2_000) }, calculator.moment);
  assert.deepEqual(calculator.takeSent(), [
    `completed_task 1 ${ids},"error":"The result does not fit in a datagram."}`,
  ]);
  const other = new CalculatorUnderTest();
  other.perform();
  other.session.finish({ error: "no" }, other.moment);
  assert.equal(other.takeSent().at(-1), `completed_task 1 ${ids},"error":"no"}`);
});

test("[udp 3.7] a poll is answered with its status; one that leaves takes nothing more", () => {
  const calculator = new CalculatorUnderTest("program");
  const poll = () => calculator.session.receive(packetOf("status", {}, 1, 9), calculator.moment);
  poll();
  assert.deepEqual(calculator.sent.at(-1)?.result, { status: 0 });
  calculator.session.leave(calculator.moment);
  assert.equal(calculator.takeSent().at(-1), 'heartbeat 0 {"status":2}');
  assert.deepEqual(calculator.perform(), []);
  poll();
  assert.deepEqual(calculator.sent.at(-1)?.result, { status: 2 });
});

test("messages that it cannot read, or that are for clients, change nothing", () => {
  const calculator = new CalculatorUnderTest();
  calculator.takeSent();
  for (const [method, params] of [
    ["perform_task", {}],
    ["notify_task", { task_id: 5, status: "success" }],
    ["dance", {}],
  ] as const)
    calculator.session.receive(packetOf(method, params, 1, 9), calculator.moment);
  assert.deepEqual([calculator.takeSent(), calculator.given], [[], []]);
});
