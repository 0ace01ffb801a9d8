// Bodies that an engine keeps outside their records leave memory while a task waits, and are back
// when it is assigned.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Body, defaultCoreOptions, type TaskId, type WorkerId } from "@yardmaster/core";
import { realClock } from "./clock.js";
import { Runtime } from "./runtime.js";
import { HandDoor } from "./testing/hand-door.js";
import { until } from "./testing/memory-runtime.js";
import { OutOfLineEngine } from "./testing/out-of-line-engine.js";

async function setUp() {
  const engine = new OutOfLineEngine(4);
  const core = { ...defaultCoreOptions, random: () => 0 };
  const onFatal = (fault: Error) => assert.fail(fault);
  const runtime = new Runtime({ engine, clock: realClock, core, onFatal, checksAlways: true });
  const door = new HandDoor(runtime.port("hand"));
  runtime.attach(door);
  await runtime.start();
  await runtime.openDoors();
  return { engine, runtime, door };
}

const textOf = (body: Body) => Buffer.from(body.bytes ?? []).toString();

test("a large payload is read from the engine for each attempt after its commit; a small one stays", async () => {
  const { engine, runtime, door } = await setUp();
  const large = await door.submit("q", "large payload");
  await door.submit("q", "tiny");
  const worker = door.join("hand/w", "q");
  for (const text of ["large payload", "tiny"]) {
    const { task, attempt } = await door.next("assign");
    assert.equal(textOf(task.payload), text);
    const result = { mediaType: "text/plain", size: 0, bytes: Buffer.alloc(0) };
    door.post({ type: "attempt-done", worker, task: task.id, attempt, result });
  }
  assert.deepEqual(engine.read, [large]);
  runtime.kill();
});

test("an attempt cancelled while its payload is read never leaves, and its worker is free for the next", async () => {
  const { engine, runtime, door } = await setUp();
  const large = await door.submit("q", "large payload");
  let cancel = () => {};
  engine.beforeRead = () =>
    new Promise((resolve) => {
      cancel = () => {
        door.post({ type: "cancel-asked", task: large, by: "test" });
        resolve();
      };
    });
  door.join("hand/w", "q");
  await new Promise((resolve) => setImmediate(resolve));
  cancel();
  const next = await door.submit("q", "tiny");
  const { task } = await door.next("assign");
  assert.equal(task.id, next);
  assert.equal(runtime.counters.staleResults.of("hand"), 0);
  runtime.kill();
});

test("a payload that cannot be read fails its task with the reason, and is never handed out", async () => {
  const { engine, runtime, door } = await setUp();
  const large = await door.submit("q", "large payload");
  engine.beforeRead = () => Promise.reject(new Error("the record is damaged"));
  door.join("hand/w", "q");
  const next = await door.submit("q", "tiny");
  const { task } = await door.next("assign");
  assert.equal(task.id, next);
  const { progress } = (await runtime.port("x").reads.task(large)) ?? {};
  assert.deepEqual(progress?.error, { code: "unreadable_payload", message: "the record is damaged" });
  runtime.kill();
});

test("what answers one request keeps its order while a payload is read; other requests do not wait", async () => {
  const { engine, runtime, door } = await setUp();
  const large = await door.submit("large", "large payload");
  await door.submit("small", "tiny");
  let release = () => {};
  engine.beforeRead = () =>
    new Promise((resolve) => {
      release = resolve;
    });
  const worker = "hand/w" as WorkerId;
  const order: string[] = [];
  door.onDeliver = (effects) => {
    for (const effect of effects)
      if (effect.type === "assign" || effect.type === "reply") order.push(`${effect.type} ${effect.request}`);
  };
  door.joinPulling(worker);
  door.want(worker, "large", 101);
  door.want(worker, "small", 102);
  await until(() => (order.includes("reply 102") ? true : undefined));
  assert.deepEqual(order, ["assign 102", "reply 102"]);
  assert.deepEqual(engine.read, [large]);
  release();
  await until(() => (order.includes("reply 101") ? true : undefined));
  assert.deepEqual(order.slice(2), ["assign 101", "reply 101"]);
  runtime.kill();
});

test("a worker's assignments keep their order while a payload is read; what ends the first frees the rest", async () => {
  const { engine, runtime, door } = await setUp();
  const large = await door.submit("q", "large payload");
  const tiny = await door.submit("q", "tiny");
  engine.beforeRead = () => new Promise(() => {});
  const given: (TaskId | string)[] = [];
  door.onDeliver = (effects) => {
    for (const effect of effects)
      if (effect.type === "assign") given.push(effect.task.id);
      else if (effect.type === "revoke") given.push(`revoke ${effect.task}`);
  };
  door.join("hand/w", "q", 2);
  door.join("hand/other", "other");
  const elsewhere = await door.submit("other", "tiny");
  await until(() => (given.length > 0 ? true : undefined));
  assert.deepEqual(given, [elsewhere]);
  door.post({ type: "cancel-asked", task: large, by: "test" });
  await until(() => (given.length > 2 ? true : undefined));
  assert.deepEqual(given, [elsewhere, tiny, `revoke ${large}`]);
  runtime.kill();
});

test("a claim whose only payload cannot be read is answered", async () => {
  const { engine, runtime, door } = await setUp();
  await door.submit("q", "large payload");
  engine.beforeRead = () => Promise.reject(new Error("the record is damaged"));
  const worker = "hand/w" as WorkerId;
  door.joinPulling(worker);
  door.want(worker, "q", 101);
  const { request } = await door.next("reply");
  assert.equal(request, 101);
  runtime.kill();
});
