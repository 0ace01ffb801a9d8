// Bodies that an engine keeps apart from their records: they leave memory while a task waits, and are there again when it
// is handed out.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Body, type Change, defaultCoreOptions, type TaskId } from "@yardmaster/core";
import { type Batch, type BodyPart, type CommitOutcome, MemoryEngine } from "@yardmaster/engines";
import { realClock } from "./clock.js";
import { Runtime } from "./runtime.js";
import { HandDoor } from "./testing/hand-door.js";

/** Keeps bodies of more than four bytes apart, as a disk does, and reads them when it is let. */
class ApartEngine extends MemoryEngine {
  override readonly inlineBytesMax: number = 4;
  readonly read: TaskId[] = [];
  beforeRead: () => Promise<void> = async () => {};

  override commit(batch: Batch): Promise<CommitOutcome> {
    return super.commit({ ...batch, changes: batch.changes.map(recordOf) });
  }

  override async body(task: TaskId, part: BodyPart): Promise<Body | undefined> {
    this.read.push(task);
    await this.beforeRead();
    return super.body(task, part);
  }
}

function recordOf(change: Change): Change {
  if (change.kind !== "head" || change.head.payload.size <= 4) return change;
  const { mediaType, size } = change.head.payload;
  return { kind: "head", head: { ...change.head, payload: { mediaType, size } } };
}

async function setUp() {
  const engine = new ApartEngine();
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
