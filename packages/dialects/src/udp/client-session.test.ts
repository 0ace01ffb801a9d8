import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultUdpClientSettings, UdpClientSession } from "./client-session.js";
import type { Params, UdpTaskId } from "./messages.js";
import { packetOf } from "./testing/door-end.js";
import { PeerEnd } from "./testing/peer-end.js";

class ClientUnderTest extends PeerEnd {
  readonly heard: string[] = [];
  readonly session = new UdpClientSession(this.dispatcher, defaultUdpClientSettings, this.exchange);

  submit(params: Params = {}): UdpTaskId | undefined {
    const waiter = {
      accepted: () => this.heard.push("accepted"),
      unanswered: () => this.heard.push("unanswered"),
      ended: (status: string, { result }: Params) => this.heard.push(`${status} ${result}`),
    };
    return this.session.submit(params, waiter, this.moment);
  }

  told(taskId: UdpTaskId, status = "success", type: 0 | 1 = 1): void {
    this.session.receive(packetOf("notify_task", { task_id: taskId, status, result: 2 }, type, 70));
  }
}

test("a task is asked for, accepted, and told; the telling is acknowledged", () => {
  const client = new ClientUnderTest();
  assert.equal(client.submit({ x: 1 }), 1_000);
  client.acknowledgeLast();
  assert.deepEqual(client.takeSent(), ['add_task 1 {"x":1,"task_id":1000}']);
  client.told(1_000);
  assert.deepEqual(client.takeSent(), ['notify_task 2 {"task_id":1000,"status":"success","result":2}']);
  assert.deepEqual([client.heard, client.session.waiting], [["accepted", "success 2"], 0]);
});

test("[udp 2.6] what is told again is acknowledged again, and heard once; what is not ours is not acknowledged", () => {
  const client = new ClientUnderTest();
  client.submit();
  client.takeSent();
  client.told(1_000);
  client.told(1_000);
  client.told(77);
  assert.equal(client.takeSent().length, 2);
  assert.deepEqual(client.heard, ["accepted", "success 2"]);
});

test("[udp 2.8] an error wants no ack", () => {
  const client = new ClientUnderTest();
  client.submit();
  client.takeSent();
  client.told(1_000, "failed_post", 0);
  assert.deepEqual([client.takeSent(), client.heard], [[], ["accepted", "failed_post 2"]]);
});

test("an outcome ends the asking, where the ack was lost", () => {
  const client = new ClientUnderTest();
  client.submit();
  client.pass(60, client.session);
  client.told(1_000);
  client.takeSent();
  client.pass(60_000, client.session);
  assert.deepEqual([client.takeSent(), client.heard], [[], ["accepted", "success 2"]]);
});

test("[udp 2.4] an add_task that is not acknowledged is said again, and given up after ten seconds", () => {
  const client = new ClientUnderTest();
  client.submit();
  client.pass(699, client.session);
  assert.equal(client.takeSent().length, 4);
  client.pass(1, client.session);
  assert.deepEqual(client.takeSent(), ['add_task 1 {"task_id":1000}']);
  client.pass(10_500, client.session);
  assert.deepEqual([client.heard, client.session.waiting], [["unanswered"], 0]);
  client.takeSent();
  client.pass(60_000, client.session);
  assert.deepEqual(client.takeSent(), []);
});

test("[udp 2.2] task_ids grow with the clock, and within a millisecond by one", () => {
  const client = new ClientUnderTest();
  assert.deepEqual([client.submit(), client.submit()], [1_000, 1_001]);
  client.now = 5_000;
  assert.equal(client.submit(), 5_000);
  client.now = 4_000;
  assert.equal(client.submit(), 5_001);
});

test("what does not fit in a datagram is not asked for", () => {
  const client = new ClientUnderTest();
  assert.equal(client.submit({ text: "x".repeat(2_000) }), undefined);
  assert.deepEqual([client.sent, client.session.waiting], [[], 0]);
});

test("when nobody waits any more nothing is said any more", () => {
  const client = new ClientUnderTest();
  client.submit();
  client.submit();
  assert.equal(client.session.takeAll().length, 2);
  client.takeSent();
  client.pass(60_000, client.session);
  assert.deepEqual([client.takeSent(), client.heard], [[], []]);
});

test("[udp 2.1] a task_id that was given is the task's, and is waited for once", () => {
  const client = new ClientUnderTest();
  assert.equal(client.submit({ task_id: "mine" }), "mine");
  assert.deepEqual(client.takeSent(), ['add_task 1 {"task_id":"mine"}']);
  assert.throws(() => client.submit({ task_id: "mine" }), /waited for already/);
  assert.throws(() => client.submit({ task_id: {} }), /a task_id is/);
  client.told("mine");
  assert.deepEqual(client.heard, ["accepted", "success 2"]);
});
