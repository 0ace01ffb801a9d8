// The udp door on real sockets, with the real runtime and the memory engine behind it.

import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { datagramSockets, type OnDatagram } from "../door-kit/datagrams.js";
import { Tap, type TappedMessage } from "../door-kit/tap.js";
import type { ListenAddress } from "../listen-address.js";
import { until } from "../testing/memory-runtime.js";
import { patience } from "../testing/patience.js";
import { type Json, UdpYard, type UdpYardOptions } from "../testing/udp-yard.js";

let yard: UdpYard;
async function openYard(options: UdpYardOptions = {}): Promise<UdpYard> {
  yard = await new UdpYard(options).open();
  return yard;
}
afterEach(() => yard.close());

describe("the udp door: a task's way", patience, () => {
  for (const host of ["127.0.0.1", "::1"]) {
    test(`from add_task to the client's ack, on ${host}`, async () => {
      await openYard({ config: { client_address: { host, port: 0 } } });
      const client = await yard.peer();
      const calculator = await yard.calculator();
      const asked = client.ask("add_task", { task_id: 5, x: 1 });
      assert.deepEqual(await client.next("add_task", 2), {
        method: "add_task",
        params: { task_id: 5, x: 1 },
        packet_type: 2,
        transmission_id: asked,
      });
      const params = await calculator.take();
      assert.deepEqual(params, { x: 1, task_id: 5, task_uuid: `${client.name}:5` });
      calculator.ask("completed_task", { ...params, result: { y: 2 } });
      await calculator.next("completed_task", 2);
      assert.deepEqual(await client.told(), { status: "success", task_id: 5, result: { y: 2 } });
      const { progress } = await yard.finished(1);
      assert.deepEqual([progress?.state, progress?.told], ["done", true]);
      assert.deepEqual(await yard.story(1), ["submitted", "assigned", "done"]);
      await yard.workerIs(calculator, ({ info }) => info?.status === "ready");
    });
  }

  test("a duplicate add_task is acked and not run again; the same id of another client is another task", async () => {
    await openYard();
    const [one, other] = [await yard.peer(), await yard.peer()];
    for (const client of [one, one, other]) {
      client.ask("add_task", { task_id: 5 });
      await client.next("add_task", 2);
    }
    assert.equal((await yard.task(2)).head.key, `udp:${other.name}:5`);
    const calculator = await yard.calculator();
    for (const client of [one, other]) {
      const { task_uuid } = await calculator.take();
      assert.equal(task_uuid, `${client.name}:5`);
      calculator.ask("completed_task", { task_uuid });
      assert.deepEqual(await client.told(), { status: "success", task_id: 5 });
    }
    one.ask("add_task", { task_id: 5 });
    await one.next("add_task", 2);
    assert.equal(yard.why(3), undefined);
  });

  test("no calculator in time: failed_post, and the task is never sent", async () => {
    await openYard({ config: { timeout_task_placement: 0.05 } });
    const client = await yard.peer();
    client.ask("add_task", { task_id: 5 });
    const packet = await client.next("notify_task");
    assert.deepEqual(packet, {
      method: "notify_task",
      params: {
        status: "failed_post",
        task_id: 5,
        error: "No worker began the task before its time was over. No worker serves queue udp.",
      },
      packet_type: 0,
    });
    assert.equal((await yard.finished(1)).progress?.state, "expired");
  });

  test("an error fails the task, and is told", async () => {
    await openYard();
    const client = await yard.peer();
    const calculator = await yard.calculator(0);
    client.ask("add_task", { task_id: 5 });
    calculator.ask("completed_task", { ...(await calculator.take()), error: "boom" });
    assert.deepEqual(await client.told(), { status: "error", task_id: 5, error: "boom" });
    assert.equal((await yard.finished(1)).progress?.error?.message, "boom");
  });

  test("a client that does not ack is told again, the same, until it does", async () => {
    await openYard();
    const client = await yard.peer();
    const calculator = await yard.calculator();
    client.ask("add_task", { task_id: 5 });
    calculator.ask("completed_task", { ...(await calculator.take()), result: 7 });
    const first = await client.next("notify_task", 1);
    for (let sends = 2; sends <= 4; sends += 1) {
      assert.deepEqual(await client.next("notify_task", 1), first);
    }
    const again = await client.next("notify_task", 1);
    assert.deepEqual(again.params, first.params);
    assert.notEqual(again.transmission_id, first.transmission_id);
    assert.equal((await yard.task(1)).progress?.told, false);
    client.acknowledge(again);
    assert.equal((await yard.finished(1)).progress?.told, true);
  });

  test("a result that is too large is told by its size, and readable elsewhere", async () => {
    await openYard();
    const client = await yard.peer();
    const calculator = await yard.calculator();
    client.ask("add_task", { task_id: 5 });
    const result = "x".repeat(3_000);
    calculator.ask("completed_task", { ...(await calculator.take()), result });
    assert.deepEqual(await client.told(), { status: "success", task_id: 5, truncated: true, size: 3_002 });
    assert.equal(await yard.resultText(1), JSON.stringify(result));
  });

  test("peers that have sent more than 1,024 bytes are sent more: acks, outcomes and tasks", async () => {
    await openYard();
    const client = await yard.peer();
    const calculator = await yard.calculator();
    const text = "x".repeat(3_000);
    client.ask("add_task", { task_id: 5 });
    calculator.ask("completed_task", { ...(await calculator.take()), result: text });
    assert.equal(((await calculator.next("completed_task", 2)).params as Json).result, text);
    // This task came in a short datagram, so its outcome is short.
    assert.deepEqual(await client.told(), { status: "success", task_id: 5, truncated: true, size: 3_002 });
    client.ask("add_task", { task_id: 6, text });
    assert.deepEqual((await client.next("add_task", 2)).params, { task_id: 6, text });
    const params = await calculator.take();
    assert.deepEqual([params.task_id, params.text], [6, text]);
    calculator.ask("completed_task", { task_id: 6, result: text.slice(1) });
    assert.deepEqual(await client.told(), { status: "success", task_id: 6, result: text.slice(1) });
    // A calculator that has not shown a larger limit does not get such a task.
    const other = await yard.calculator();
    other.say("heartbeat", { status: "ready" });
    calculator.say("heartbeat", { status: "busy" });
    await yard.workerIs(calculator, ({ slots }) => slots === 0);
    client.ask("add_task", { task_id: 7, text });
    assert.equal(await until(() => yard.why(3)), "does_not_fit");
  });

  test("what would wait too long to be sent is lost, and counted", async () => {
    await openYard({ makeSocket: datagramSockets(200) });
    const client = await yard.peer();
    client.ask("add_task", { task_id: 5, text: "x".repeat(150) });
    await yard.faults("send_queue_full", 1);
    assert.deepEqual(client.heard, []);
    // Others are served, because their messages are shorter.
    client.ask("add_task", { task_id: 6 });
    assert.deepEqual((await client.next("add_task", 2)).params, { task_id: 6 });
  });

  test("a full queue is silence", async () => {
    await openYard({ queues: { udp: { maxWaiting: 1 } } });
    const client = await yard.peer();
    client.ask("add_task", { task_id: 1 });
    client.ask("add_task", { task_id: 2 });
    await yard.faults("refused", 1);
    await client.next("add_task", 2);
    assert.deepEqual(client.heard, []);
  });

  test("tasks of other doors, and their results", async () => {
    await openYard();
    const calculator = await yard.calculator();
    const id = await yard.hand.submit("udp", "hello");
    assert.deepEqual(await calculator.next("perform_task").then(({ params }) => params), {
      payload: Buffer.from("hello").toString("base64"),
      task_id: id,
      task_uuid: `0.0.0.0:0:${id}`,
    });
    calculator.ask("completed_task", { task_id: id, result: "hi" });
    await yard.finished(id);
    assert.equal(await yard.resultText(id), '"hi"');
    const large = await yard.hand.submit("udp", "x".repeat(1_000));
    await until(() => (yard.why(large) === "does_not_fit" ? true : undefined));
  });

  test("a task of a udp client that another door's worker does", async () => {
    await openYard();
    const client = await yard.peer();
    yard.hand.join("hand/w", "udp");
    client.ask("add_task", { task_id: "named", x: 1 });
    const held = await yard.hand.next("assign");
    assert.equal(Buffer.from(held.task.payload.bytes ?? []).toString(), '{"task_id":"named","x":1}');
    const bytes = Buffer.from([1, 2]);
    yard.hand.done(held, { mediaType: "application/octet-stream", size: 2, bytes });
    assert.deepEqual(await client.told(), {
      status: "success",
      task_id: "named",
      result: "AQI=",
      encoding: "base64",
    });
  });

  test("the wire can be watched", async () => {
    const tap = new Tap();
    const seen: TappedMessage[] = [];
    tap.listen((message) => seen.push(message));
    await openYard({ tap });
    const client = await yard.peer();
    client.ask("add_task", { task_id: 5 });
    await client.next("add_task", 2);
    assert.deepEqual(
      seen.map(({ direction, peer, type }) => [direction, peer, type]),
      [
        ["in", client.name, "add_task"],
        ["out", client.name, "add_task"],
      ],
    );
  });
});

describe("the udp door: calculators that fail", patience, () => {
  test("one that does not ack: unavailable, and the task goes to another", async () => {
    await openYard();
    const client = await yard.peer();
    const deaf = await yard.calculator();
    client.ask("add_task", { task_id: 5 });
    await deaf.next("perform_task");
    const able = await yard.calculator();
    assert.equal((await able.take()).task_id, 5);
    const { slots, info } = await yard.workerIs(deaf, ({ slots: its }) => its === 0);
    assert.deepEqual([slots, info?.status], [0, "unavailable"]);
    // Its answer comes too late. It is acknowledged, so that it stops, but does not count.
    deaf.ask("completed_task", { task_id: 5, result: "late" });
    await deaf.next("completed_task", 2);
    able.ask("completed_task", { task_id: 5, result: "in time" });
    assert.equal((await client.told()).result, "in time");
    assert.deepEqual((await yard.story(1)).slice(0, 4), [
      "submitted",
      "assigned",
      "returned: undelivered",
      "assigned",
    ]);
  });

  test("[udp 1.7] nothing is sent again, and nobody given up, while its ack may lie unread", async () => {
    const sent: { readonly at: number; readonly text: string }[] = [];
    let receive: OnDatagram = () => {};
    const makeSocket = (onDatagram: OnDatagram) => {
      receive = onDatagram;
      return {
        bind: async (address: ListenAddress) => address,
        send: (bytes: Buffer) => sent.push({ at: performance.now(), text: bytes.toString() }) > 0,
        close: async () => {},
      };
    };
    await openYard({ makeSocket });
    const say = (text: string) => receive(Buffer.from(text), "10.0.0.1", 7);
    say('{"method":"heartbeat","params":{"status":"ready"},"packet_type":0}');
    say('{"method":"add_task","params":{"task_id":5},"packet_type":0}');
    const performs = () => sent.filter(({ text }) => text.startsWith('{"method":"perform_task"'));
    const first = await until(() => performs()[0]);
    // Every turn receives as much as one turn reads, for longer than it takes to give up a
    // calculator.
    const floodMs = 300;
    while (performance.now() < first.at + floodMs) {
      for (let reads = 0; reads < 40; reads += 1) say("hello");
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(performs().length, 1);
    // Everything is read and no ack came, so now it counts as silence.
    const again = await until(() => performs()[1]);
    assert.equal(again.text, first.text);
  });

  test("one that acks and dies: polled, and its task goes to another", async () => {
    await openYard({ config: { activity_poll_sec: 0.1 } });
    const client = await yard.peer();
    const dead = await yard.calculator(0);
    client.ask("add_task", { task_id: 5 });
    await dead.take();
    assert.deepEqual((await dead.next("status")).params, {});
    await yard.workerIs(dead, ({ lostReason }) => lostReason === "silence");
    const able = await yard.calculator("0");
    able.ask("completed_task", await able.take());
    assert.equal((await client.told()).status, "success");
    assert.ok((await yard.story(1)).includes("lost: silence"));
  });

  test("one that answers its polls keeps its task", async () => {
    await openYard({ config: { activity_poll_sec: 0.05 } });
    const client = await yard.peer();
    const quiet = await yard.calculator(0);
    client.ask("add_task", { task_id: 5 });
    const params = await quiet.take();
    for (let polls = 0; polls < 3; polls += 1) quiet.acknowledge(await quiet.next("status"), { status: 1 });
    quiet.ask("completed_task", params);
    assert.equal((await client.told()).status, "success");
    assert.deepEqual(await yard.story(1), ["submitted", "assigned", "done"]);
  });

  test("one that comes back busy is given nothing until it is ready", async () => {
    await openYard();
    const client = await yard.peer();
    const busy = await yard.peer();
    busy.say("heartbeat", { status: 1 });
    await yard.workerIs(busy, ({ info, slots }) => info?.status === "busy" && slots === 0);
    client.ask("add_task", { task_id: 5 });
    await client.next("add_task", 2);
    assert.equal(yard.why(1), "all_busy");
    busy.say("heartbeat", { status: "0" });
    await busy.take();
  });
});

describe("the udp door: bad input", patience, () => {
  test("a datagram that is not a packet is counted, logged once, and not answered", async () => {
    await openYard();
    const peer = await yard.peer();
    const wrong: readonly [string, string][] = [
      ["hello", "not_json"],
      ['"a string"', "not_an_object"],
      ['{"method":"add_task","params":{},"packet_type":9}', "bad_packet_type"],
      ['{"method":"add_task","params":{"task_id":1},"packet_type":1}', "bad_transmission_id"],
      ['{"params":{},"packet_type":0}', "bad_method"],
      ['{"method":"add_task","params":7,"packet_type":0}', "bad_params"],
      ['{"method":"frob","params":{},"packet_type":0}', "unknown_method"],
      ['{"method":"add_task","params":{"task_id":[]},"packet_type":0}', "bad_task_id"],
      ['{"method":"heartbeat","params":{"status":"?"},"packet_type":0}', "bad_status"],
      ['{"method":"perform_task","params":{},"packet_type":2,"transmission_id":1}', "unexpected_ack"],
      [
        '{"method":"completed_task","params":{"task_id":1},"packet_type":1,"transmission_id":1}',
        "not_its_task",
      ],
    ];
    for (const [text, kind] of wrong) {
      peer.raw(text);
      peer.raw(text);
      await yard.faults(kind, 2);
    }
    assert.deepEqual(
      yard.logged,
      wrong.map(([, kind]) => `${kind} ${peer.name}`),
    );
    assert.deepEqual(peer.heard, []);
  });

  test("a spoofed ack and a forged answer change nothing", async () => {
    await openYard();
    const client = await yard.peer();
    const holder = await yard.calculator();
    client.ask("add_task", { task_id: 5 });
    const packet = await holder.next("perform_task");
    const forger = await yard.peer();
    forger.acknowledge(packet);
    forger.ask("completed_task", packet.params as Record<string, unknown>);
    forger.ask("completed_task", { task_id: 5 });
    await yard.faults("not_its_task", 2);
    await yard.faults("unexpected_ack", 1);
    assert.equal((await yard.task(1)).progress?.state, "running");
    holder.acknowledge(packet);
    holder.ask("completed_task", { task_id: 5, result: "true" });
    assert.equal((await client.told()).result, "true");
    assert.deepEqual(
      forger.heard.filter(({ packet_type }) => packet_type === 2),
      [],
    );
  });

  test("one calculator too many is not taken in", async () => {
    await openYard({ peersMax: 1 });
    await yard.calculator();
    (await yard.peer()).say("heartbeat", { status: 0 });
    await yard.faults("too_many_calculators", 1);
  });

  test("a burst of 100,000 datagrams, in which everybody else keeps working", async () => {
    await openYard();
    const flooder = await yard.peer();
    const client = await yard.peer();
    const calculator = await yard.calculator();
    const state = { isFlooded: false, isOver: false };
    const beating = setInterval(() => calculator.say("heartbeat", { status: "ready" }), 100);
    // Accepts and answers every perform_task, as often as it comes.
    const working = (async () => {
      while (!state.isOver) calculator.ask("completed_task", await calculator.take());
    })();
    const flood = (async () => {
      for (let sent = 0; sent < 100_000; ) {
        for (let turn = 0; turn < 200; turn += 1, sent += 1) flooder.raw(sent % 2 === 0 ? "junk" : "[]");
        await new Promise((resolve) => setImmediate(resolve));
      }
      state.isFlooded = true;
    })();
    let done = 0;
    for (; !state.isFlooded || done < 3; done += 1) {
      client.ask("add_task", { task_id: done });
      const again = setInterval(() => client.ask("add_task", { task_id: done }), 50);
      // An outcome is sent again if its ack was lost.
      while ((await client.told()).task_id !== done);
      clearInterval(again);
    }
    // The next task that is accepted is the last one.
    state.isOver = true;
    client.ask("add_task", { task_id: "last" });
    await working;
    clearInterval(beating);
    await flood;
    assert.ok(done >= 3, `${done} tasks`);
    assert.ok(yard.door.faults.count("not_json") > 1_000);
    assert.equal(yard.logged.filter((line) => line.startsWith("not_json")).length, 1);
  });
});
