// Large objects at the scaler door are kept in the engine, and messages that name them wait until
// they are committed.

import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { until } from "../testing/memory-runtime.js";
import { patience } from "../testing/patience.js";
import { ScalerYard } from "../testing/scaler-yard.js";
import { Gate, WatchedEngine } from "../testing/watched-engine.js";

let yard: ScalerYard | undefined;
/** Four pieces, the last of which is shorter. */
const large = Buffer.alloc(3_500_000, "large object ");

async function openYard(engine = new WatchedEngine(), largestObjectBytes = 10_000_000) {
  const config = { objectBytes: 10 * largestObjectBytes, largestObjectBytes };
  yard = await new ScalerYard({ engine, config }).open();
  return { yard, engine };
}

/** A client whose large object is stored. */
async function stored(name = "a") {
  const opened = await openYard();
  const client = await opened.yard.client("c");
  client.create({ f: "function", [name]: large });
  client.beat();
  await client.next("client-heartbeat-echo");
  return { ...opened, client };
}

afterEach(() => yard?.close());

describe("a large object", patience, () => {
  test("is read from the engine for every answer, piece by piece, and arrives as it was created", async () => {
    const { yard, engine, client } = await stored();
    const worker = await yard.worker("w");
    for (let time = 1; time <= 2; time++) {
      worker.say({ type: "object-request", ids: ["f", "a", "f"].map((id) => Buffer.from(id)) });
      const { names, bytes } = await worker.next("object-answer");
      assert.deepEqual(names.map(String), ["name of f", "name of a", "name of f"]);
      assert.deepEqual([String(bytes[0]), String(bytes[2])], ["function", "function"]);
      assert.ok(bytes[1]?.equals(large));
      assert.equal(engine.reads.length, 4 * time);
    }
    client.remove("a", "f");
    await until(() => yard.door.objects.size === 0 || undefined);
    await until(() => engine.memoNames.length === 0 || undefined);
  });

  test("is committed before a task that its client submits after it, a few pieces at a time", async () => {
    const { yard, engine } = await openYard();
    const client = await yard.client("c");
    client.create({ a: Buffer.alloc(9_000_000, "a") });
    client.task("t", { args: ["a"] });
    await yard.task(1);
    const order = engine.commits.flat().map((change) => {
      return change.kind === "memo" ? change.memo.name.slice(0, 2) : change.kind;
    });
    assert.ok(order.indexOf("head") > order.lastIndexOf("o."), order.join(" "));
    assert.ok(order.indexOf("o.") > order.lastIndexOf("p."), "the memo of the object comes last");
    for (const changes of engine.commits) {
      const pieces = changes.filter(({ kind }) => kind === "memo");
      assert.ok(pieces.length <= 4, `${pieces.length} pieces in one commit`);
    }
  });

  test("that is created again with the same content is left as it is", async () => {
    const { engine, client } = await stored();
    const before = engine.commits.length;
    client.create({ a: large });
    client.beat();
    await client.next("client-heartbeat-echo");
    assert.equal(engine.commits.slice(before).flat().length, 0);
    client.create({ a: Buffer.concat([large.subarray(1), Buffer.from("x")]) });
    const [fetched] = await client.fetch("a");
    assert.ok(fetched?.endsWith("x"));
    assert.equal(engine.memoNames.filter((name) => name.startsWith("p.")).length, 4);
  });

  test("that is deleted while it is sent arrives whole, and is gone after that", async () => {
    const { yard, engine, client } = await stored();
    const gate = new Gate();
    engine.beforeRead = async (name) => (name.endsWith(".2") ? gate.opened : undefined);
    const worker = await yard.worker("w");
    worker.say({ type: "object-request", ids: [Buffer.from("a")] });
    await until(() => engine.reads.length === 3 || undefined);
    client.remove("a", "f");
    client.beat();
    await client.next("client-heartbeat-echo");
    gate.open();
    assert.ok((await worker.next("object-answer")).bytes[0]?.equals(large));
    await until(() => engine.memoNames.length === 0 || undefined);
  });

  test("is not held by a peer that has left while it was read", async () => {
    const { yard, engine, client } = await stored();
    const gate = new Gate();
    engine.beforeRead = () => gate.opened;
    const worker = await yard.worker("w");
    worker.say({ type: "object-request", ids: [Buffer.from("a")] });
    worker.say({ type: "object-request", ids: [Buffer.from("a")] });
    await until(() => engine.reads.length === 1 || undefined);
    await worker.peer.close();
    client.remove("a", "f");
    await until(() => yard.door.objects.size === 0 || undefined);
    gate.open();
    await until(() => engine.memoNames.length === 0 || undefined);
    assert.equal(engine.reads.length, 1, "nothing more is read");
  });

  test("that cannot be read costs its reader the connection, and nobody else", async () => {
    const { yard, engine, client } = await stored();
    engine.beforeRead = async () => {
      throw new Error("EIO");
    };
    const worker = await yard.worker("w");
    worker.say({ type: "object-request", ids: [Buffer.from("a")] });
    await yard.workerIs("w", "lost");
    assert.equal(yard.door.faults.count("unreadable_object"), 1);
    assert.deepEqual(await client.fetch("f"), ["function"]);
  });

  test("whose storing a crash cut off leaves nothing behind", async () => {
    const { yard: first, engine } = await openYard();
    const client = await first.client("c");
    const gate = new Gate();
    engine.beforeCommit = async (changes) => {
      const isSecond = changes.some((change) => change.kind === "memo" && change.memo.name.endsWith(".4"));
      if (isSecond) await gate.opened;
    };
    client.create({ a: Buffer.alloc(9_000_000, "a") });
    await until(() => engine.memoNames.length === 4 || undefined);
    await first.kill();
    const { engine: next } = await openYard(new WatchedEngine(engine.store));
    await until(() => next.memoNames.length === 0 || undefined);
  });

  test("reaches a worker of another dialect whole", async () => {
    const { yard, client } = await stored();
    client.task("t", { args: ["a"] });
    yard.hand.join("hand/w", "scaler");
    const { payload } = (await yard.hand.next("assign")).task;
    const bytes = Buffer.from(payload.bytes ?? []);
    assert.ok(bytes.includes("function") && bytes.subarray(-large.length).equals(large));
  });
});

describe("a large result", patience, () => {
  test("is what the core and the client get", async () => {
    const { yard, engine, client } = await stored();
    client.task("t");
    const worker = await yard.worker("w");
    const task = await worker.nextTask();
    worker.create("c", { r: large });
    worker.result(task, "S", "r");
    assert.equal(await client.told(), "t S r");
    assert.deepEqual(engine.reads, [], "its bytes were still in memory");
    assert.ok(Buffer.from((await yard.body(1, "result"))?.bytes ?? []).equals(large));
    assert.equal((await client.fetch("r"))[0], String(large));
    assert.equal(engine.reads.length, 4);
  });

  test("that is not the newest of its worker is read back", async () => {
    const { yard, engine, client } = await stored();
    client.task("t");
    const worker = await yard.worker("w");
    const task = await worker.nextTask();
    worker.create("c", { r: large, other: Buffer.alloc(100_000, "other") });
    worker.result(task, "S", "r");
    assert.equal(await client.told(), "t S r");
    assert.equal(engine.reads.length, 4);
    assert.ok(Buffer.from((await yard.body(1, "result"))?.bytes ?? []).equals(large));
  });
});

describe("an object that is refused", patience, () => {
  test("beyond every limit costs no connection: the task that needs it says why", async () => {
    const { yard } = await openYard(new WatchedEngine(), 1_000_000);
    const client = await yard.client("c");
    client.create({ f: "function", a: Buffer.alloc(12_000_000), b: "after it" });
    client.task("t", { args: ["a"] });
    const { status, results } = await client.next("task-result");
    assert.equal(status, "F");
    assert.match(String(await client.fetch(results[0] as Buffer)), /has 12000000 bytes.*largestObjectBytes/);
    assert.deepEqual(await client.fetch("f", "b"), ["function", "after it"]);
  });

  test("as a result fails the attempt with the reason", async () => {
    const { yard } = await openYard(new WatchedEngine(), 1_000_000);
    const client = await yard.client("c");
    const worker = await yard.worker("w");
    client.task("t");
    const task = await worker.nextTask();
    worker.create("c", { r: Buffer.alloc(12_000_000) });
    worker.result(task, "S", "r");
    const { results } = await client.next("task-result");
    assert.match(String(await client.fetch(results[0] as Buffer)), /has 12000000 bytes/);
  });

  test("while memory is short is a client's, and never a result", async () => {
    const { yard } = await openYard();
    const client = await yard.client("c");
    const worker = await yard.worker("w");
    client.create({ f: "function" });
    client.task("t");
    const task = await worker.nextTask();
    yard.runtime.noteMemory(true);
    client.create({ a: "one more" });
    worker.create("c", { r: "result" });
    worker.result(task, "S", "r");
    assert.equal(await client.told(), "t S r");
    yard.runtime.noteMemory(false);
    client.task("u", { args: ["a"] });
    const { results } = await client.next("task-result");
    assert.match(String(await client.fetch(results[0] as Buffer)), /short of memory \(limits.memoryBytes\)/);
    assert.deepEqual(await client.fetch("r"), ["result"]);
  });
});
