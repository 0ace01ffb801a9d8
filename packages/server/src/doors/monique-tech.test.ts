// The technical channel: kill, and monitoring.

import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import type { WorkerId } from "@yardmaster/core";
import { until } from "../testing/memory-runtime.js";
import {
  MoniqueYard,
  type MoniqueYardOptions,
  type Pusher,
  type ReceivedMessage,
} from "../testing/monique-yard.js";

const yards: MoniqueYard[] = [];
afterEach(async () => {
  await Promise.all(yards.splice(0).map((yard) => yard.close()));
});

const withEcho: MoniqueYardOptions = { config: { controllers: { test_echo: 0 } } };

async function yardWith(options: MoniqueYardOptions = withEcho): Promise<MoniqueYard> {
  const yard = new MoniqueYard(options);
  yards.push(yard);
  return yard.open();
}

const kill = (tech: Pusher, id: string) => tech.say({ spec: "kill", data: JSON.stringify({ task_id: id }) });
const report = (tech: Pusher, name: string, isAlive: boolean, message = "") =>
  tech.say({
    type: "data",
    spec: "monitoring",
    data: JSON.stringify({ sync_time: 7, name, is_alive: isAlive, message }),
  });
const killed = { code: 301, message: "task killed" };

function assertKilled(error: ReceivedMessage, pid: string): void {
  assert.deepEqual(
    [error.type, error.spec, error.pid, JSON.parse(error.data)],
    ["error", "error", pid, killed],
  );
}

describe("kill", () => {
  test("cancels a task that waits, and its client is answered, in its own form", async () => {
    const yard = await yardWith();
    const all = await yard.listener();
    const heard = await yard.listener("", "techOut");
    const pusher = await yard.pusher();
    const tech = await yard.pusher("killer", "techIn");
    for (const form of ["d3", "d1"] as const) {
      const { id } = pusher.say({ form });
      await all.next();
      const said = kill(tech, id);
      assert.equal((await heard.next()).id, said.id);
      const error = await all.next();
      assertKilled(error, id);
      assert.equal(error.form, form);
    }
    assert.equal((await yard.finished(2)).progress?.state, "cancelled");
  });

  test("cancels a task that is being worked on; what its worker says later is dropped", async () => {
    const yard = await yardWith();
    const all = await yard.listener("error");
    const results = await yard.listener("result");
    const heard = await yard.listener("", "techOut");
    const pusher = await yard.pusher();
    const tech = await yard.pusher("killer", "techIn");
    const worker = await yard.worker("test_echo");
    const { id } = pusher.say();
    const given = await worker.next();
    kill(tech, id);
    assertKilled(await all.next(), id);
    pusher.say({ data: "next" });
    pusher.answer(given, "late");
    pusher.answer(await worker.next(), "next");
    assert.equal((await results.next()).data, "next");
    // The message was published unchanged, and not a second time in our own form.
    assert.equal(heard.heard.length, 1);
    assert.equal(yard.door.faults.count("second_answer"), 0);
  });

  test("of an unknown task is answered as the program does; of a finished one not at all", async () => {
    const yard = await yardWith();
    const all = await yard.listener();
    const pusher = await yard.pusher();
    const tech = await yard.pusher("killer", "techIn");
    kill(tech, "never-asked");
    assertKilled(await all.next(), "never-asked");
    const plain = pusher.say({ spec: "test_plain" });
    await all.next();
    kill(tech, plain.id);
    assertKilled(await all.next(), plain.id);
    const { id } = pusher.say();
    pusher.answer(await all.next(), "done");
    await all.next();
    kill(tech, id);
    kill(tech, "marker");
    assertKilled(await all.next(), "marker");
  });

  test("that comes before its question is the answer to it", async () => {
    const yard = await yardWith();
    const all = await yard.listener();
    const pusher = await yard.pusher();
    const tech = await yard.pusher("killer", "techIn");
    kill(tech, "early");
    assertKilled(await all.next(), "early");
    pusher.say({ id: "early" });
    pusher.say({ id: "early", spec: "test_plain" });
    await yard.faulted("killed_question", 2);
    assert.deepEqual(await yard.port.reads.queues(), []);
    assert.deepEqual(all.heard, []);
  });

  test("that names nothing is counted", async () => {
    const yard = await yardWith();
    const tech = await yard.pusher("killer", "techIn");
    for (const data of ["", "[]", "{}", '{"task_id":7}', '{"task_id":""}', "x".repeat(100_000)])
      tech.say({ spec: "kill", data });
    tech.raw("config:kill:1::me", "sealed");
    await yard.faulted("bad_kill", 7);
  });

  test("is told to workers when the task is cancelled by another door", async () => {
    const yard = await yardWith();
    const heard = await yard.listener("config:kill:", "techOut");
    const pusher = await yard.pusher();
    const all = await yard.listener("error");
    const worker = await yard.worker("test_echo");
    const { id } = pusher.say();
    await worker.next();
    yard.hand.post({ type: "cancel-asked", task: 1 as never, by: "somebody" });
    assert.deepEqual(JSON.parse((await heard.next()).data), { task_id: id });
    const error = await all.next();
    assert.deepEqual([error.pid, JSON.parse(error.data).code], [id, 301]);
  });
});

describe("monitoring", () => {
  const workerNamed = (yard: MoniqueYard, name: string, state: string) =>
    until(async () => {
      const workers = await yard.port.reads.workers();
      return workers.find(({ info, state: is }) => info?.name === name && is === state);
    });

  test("is published, and shows who is there", async () => {
    const yard = await yardWith();
    const heard = await yard.listener("", "techOut");
    const com = await yard.listener("data:monitoring");
    const tech = await yard.pusher("me", "techIn");
    const said = report(tech, "clock", true, "all is well");
    assert.equal((await heard.next()).id, said.id);
    const { info, id } = await workerNamed(yard, "clock", "idle");
    assert.equal(id, "monique/component.clock" as WorkerId);
    assert.deepEqual(info, {
      creator: "me",
      name: "clock",
      alive: true,
      message: "all is well",
      lastSync: 7,
    });
    report(tech, "clock", false, "broken");
    await until(
      async () => (await workerNamed(yard, "clock", "idle")).info?.message === "broken" || undefined,
    );
    // One library sends this to the other channel, so both are read. The older form calls it a
    // question.
    const pusher = await yard.pusher("java");
    report(pusher, "bank", true);
    assert.equal((await com.next()).creator, "java");
    tech.say({ spec: "monitor", data: '{"name":"old","is_alive":true}' });
    await workerNamed(yard, "bank", "idle");
    await workerNamed(yard, "old", "idle");
  });

  test("says of a worker that it is not alive: its task goes to another until it is again", async () => {
    const yard = await yardWith();
    const tech = await yard.pusher("w1", "techIn");
    const pusher = await yard.pusher("w1");
    const one = await yard.worker("test_echo");
    pusher.say();
    pusher.answer(await one.next(), "now it has a name");
    await yard.task(1, ({ progress }) => progress?.state === "done");
    const { id } = pusher.say();
    await one.next();
    report(tech, "worker one", false, "out of memory");
    const lost = await yard.task(2, ({ progress }) => progress?.state === "waiting" && progress.losses === 1);
    assert.ok(lost.progress?.story?.some(({ cause }) => cause === "lost: reported: out of memory"));
    const other = await yard.worker("test_echo");
    assert.equal((await other.next()).id, id);
    pusher.say();
    await yard.task(3);
    assert.deepEqual(one.heard, []);
    report(tech, "worker one", true);
    assert.equal((await one.next()).id, (await yard.task(3)).head.replyTo?.address);
    assert.equal((await workerNamed(yard, "worker one", "busy")).info?.creator, "w1");
  });

  test("that cannot be read is published and counted", async () => {
    const yard = await yardWith();
    const heard = await yard.listener("", "techOut");
    const tech = await yard.pusher("me", "techIn");
    for (const data of [
      "",
      "{}",
      '{"name":"x"}',
      '{"name":"","is_alive":true}',
      '{"name":7,"is_alive":true}',
    ])
      tech.say({ type: "data", spec: "monitoring", data });
    await yard.faulted("bad_monitoring", 5);
    await until(() => heard.heard.length === 5 || undefined);
    assert.deepEqual(await yard.workerStates(), []);
  });

  test("of more components than can be shown is counted", async () => {
    const yard = await yardWith();
    const tech = await yard.pusher("me", "techIn");
    for (let number = 0; number < 1_010; number += 1) report(tech, `c${number}`, true);
    await yard.faulted("too_many_components", 10);
    assert.equal((await yard.workerStates()).length, 1_000);
  });
});
