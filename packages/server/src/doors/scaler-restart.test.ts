// The scaler door across restarts: accepted tasks run, and the objects that they need exist.

import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import type { StoredTask, TaskId } from "@yardmaster/core";
import { MemoryStore } from "@yardmaster/engines";
import { until } from "../testing/memory-runtime.js";
import { patience } from "../testing/patience.js";
import { ScalerYard, type TestClient } from "../testing/scaler-yard.js";

let yard: ScalerYard | undefined;
async function live(store: MemoryStore): Promise<ScalerYard> {
  yard = await new ScalerYard({
    store,
    config: { objectBytes: 100_000_000 },
    payloadBytesMax: 10_000_000,
  }).open();
  return yard;
}

afterEach(() => yard?.close());

/** The outcomes of the work below. */
const toldOnce = ["t S r-t", "n S r-n", "g S"];

/**
 * A restarted dispatcher, and a client that is back. The client had submitted a task and a graph
 * before.
 */
async function backWithWork(): Promise<{ second: ScalerYard; again: TestClient }> {
  const store = new MemoryStore();
  const first = await live(store);
  const client = await first.client("c");
  client.task("t");
  client.graph("g", ["n"], { n: [] });
  await first.task(2);
  await first.kill();
  const second = await live(store);
  return { second, again: await second.client("c") };
}

/** The second life of a dispatcher that was killed while worker w ran a task of client c. */
async function backFromRunning(): Promise<{ second: ScalerYard; client: TestClient }> {
  const store = new MemoryStore();
  const first = await live(store);
  const client = await first.client("c");
  const worker = await first.worker("w");
  client.task("t");
  await worker.nextTask();
  await first.task(1, ({ progress }) => progress?.state === "running");
  await first.kill();
  const second = await live(store);
  return { second, client: await second.client("c") };
}

describe("after a restart", patience, () => {
  test("a waiting task is run with its objects, however large, and its client is told when it is back", async () => {
    const store = new MemoryStore();
    const first = await live(store);
    const client = await first.client("c");
    const large = Buffer.alloc(3_500_000, "large");
    client.create({ f: "function", a: large });
    client.task("t", { args: ["a"] });
    await first.task(1);
    await first.kill();
    const second = await live(store);
    assert.equal(second.door.objects.size, 2);
    const worker = await second.worker("w");
    await worker.nextTask();
    worker.say({ type: "object-request", ids: ["f", "a"].map((id) => Buffer.from(id)) });
    const { bytes } = await worker.next("object-answer");
    assert.equal(String(bytes[0]), "function");
    assert.ok(bytes[1]?.equals(large));
    worker.create("c", { r: "result" });
    worker.result("t", "S", "r");
    await second.task(1, ({ progress }) => progress?.state === "done");
    const again = await second.client("c");
    assert.equal(await again.told(), "t S r");
    assert.deepEqual(await again.fetch("r"), ["result"]);
    again.say({ type: "client-disconnect", kind: "disconnect" });
    await until(() => second.door.objects.size === 0 || undefined);
  });

  test("an outcome that was not told is told, and its object is there", async () => {
    const store = new MemoryStore();
    const first = await live(store);
    const client = await first.client("c");
    const worker = await first.worker("w");
    client.task("t");
    await worker.nextTask();
    await client.peer.close();
    worker.create("c", { r: "result" });
    worker.result("t", "S", "r");
    await first.task(1, ({ progress }) => progress?.state === "done");
    await first.kill();
    const second = await live(store);
    const again = await second.client("c");
    assert.equal(await again.told(), "t S r");
    assert.deepEqual(await again.fetch("r"), ["result"]);
    await second.finished(1);
  });

  for (const status of ["S", "F"] as const) {
    test(`an outcome of an earlier release, with its ids in the media type, is told: ${status}`, async () => {
      const store = new MemoryStore();
      const first = await live(store);
      const client = await first.client("c");
      const worker = await first.worker("w");
      client.task("t");
      await worker.nextTask();
      await client.peer.close();
      worker.create("c", { r: "result" });
      worker.result("t", status, "r");
      await first.task(1, ({ progress }) => progress?.finishedAt !== undefined);
      await first.kill();
      const { progress } = store.task(1 as TaskId) as StoredTask;
      assert.equal(progress?.result?.mediaType, "application/octet-stream");
      const metadata = "0102030405060708090a0b0c";
      const mediaType = `application/octet-stream; scaler-result=72; scaler-metadata=${metadata}`;
      const result = { mediaType, size: 6, bytes: Buffer.from("result") };
      store.apply({ kind: "progress", progress: { ...progress, result } });
      const second = await live(store);
      const again = await second.client("c");
      const told = await again.next("task-result");
      assert.deepEqual([String(told.task), told.status, told.results.map(String)], ["t", status, ["r"]]);
      assert.equal(told.metadata.toString("hex"), metadata);
      for (let count = 0; count < 2; count++) again.beat();
      await second.finished(1);
    });
  }

  test("a task that the core gives up while the door opens is not taken up", async () => {
    const store = new MemoryStore();
    const first = await live(store);
    const client = await first.client("c");
    client.task("t");
    await first.task(1);
    await first.kill();
    yard = new ScalerYard({ store });
    const { port } = yard;
    const { openTasks } = port;
    let isFirst = true;
    const openOnce = () => {
      const tasks = isFirst ? openTasks() : [];
      isFirst = false;
      return tasks;
    };
    Object.assign(port, { openTasks: openOnce });
    await yard.open();
    assert.equal(yard.door.objects.size, 0, "nothing keeps a place for the function it needs");
  });

  // The engine holds the bytes of a large one by the time the worker names it as its result.
  for (const size of [0, 16, 70_000, 3_000_000])
    for (const first of ["answers", "beats"])
      test(`a worker that comes back with a result of ${size} bytes is believed: it ${first} first`, async () => {
        const result = Buffer.alloc(size, "worked all along ");
        const { second, client } = await backFromRunning();
        const back = await second.peer("w");
        const beat = () => back.say("HB", Buffer.alloc(33));
        if (first === "beats") beat();
        const counts = Buffer.from(Uint32Array.of(1, 1, 1).buffer);
        back.say("OI", "C", "c", counts, "r", "name", result);
        back.say("TR", "t", "S", "", "r");
        if (first === "answers") beat();
        assert.equal(await client.told(), "t S r");
        assert.deepEqual(await client.fetch("r"), [String(result)]);
        assert.deepEqual((await second.task(1)).progress?.losses, 0);
      });

  test("a client can cancel what it submitted before, and its death ends it", async () => {
    const store = new MemoryStore();
    const first = await live(store);
    const client = await first.client("c");
    client.create({ f: "function" });
    for (const id of ["t", "u"]) client.task(id);
    await first.task(2);
    await first.kill();
    const second = await live(store);
    const again = await second.client("c");
    again.cancel("t");
    assert.equal(await again.told(), "t C");
    again.remove("f");
    again.cancel("nothing");
    await again.told();
    // The object that u needs is kept, although u was accepted before the restart.
    assert.equal(second.door.objects.size, 1);
    again.say({ type: "client-disconnect", kind: "disconnect" });
    await second.task(2, ({ progress }) => progress?.state === "cancelled");
    await until(() => second.door.objects.size === 0 || undefined);
  });

  test("a graph goes on where it was", async () => {
    const store = new MemoryStore();
    const first = await live(store);
    const client = await first.client("c");
    const worker = await first.worker("w");
    client.create({ f: "function" });
    client.graph("g", ["last", "first"], { first: [], middle: ["first"], last: ["middle", "first"] });
    await worker.work("one");
    assert.equal(await client.told(), "first S r-first");
    assert.equal(await worker.nextTask(), "middle");
    await first.task(2, ({ progress }) => progress?.state === "running");
    await first.finished(1);
    await first.kill();
    const second = await live(store);
    const back = await second.worker("w");
    const again = await second.client("c");
    back.create("c", { m: "two" });
    back.result("middle", "S", "m");
    const last = await back.next("task");
    assert.deepEqual(
      last.arguments.map(({ id }) => String(id)),
      ["m", "r-first"],
    );
    back.create("c", { l: "three" });
    back.result("last", "S", "l");
    assert.equal(await again.told(), "last S l");
    assert.equal(await again.told(), "g S");
    assert.deepEqual(await again.fetch("r-first", "l"), ["one", "three"]);
    await until(() => (second.door.objects.size === 3 ? true : undefined));
    await second.finished(3);
    await second.kill();
    // Nothing of the graph is left to continue.
    const third = await live(store);
    const late = await third.client("c");
    late.cancel("g");
    assert.equal(await late.told(), "g N");
  });

  test("a task submitted again while its outcome is under way is answered with that outcome, and run once", async () => {
    const { second, again } = await backWithWork();
    const worker = await second.worker("w");
    for (let count = 0; count < 2; count++) await worker.work();
    assert.deepEqual([await again.told(), await again.told(), await again.told()], toldOnce);
    // A client that has not read the outcomes yet repeats its requests like this.
    again.task("t");
    again.graph("g", ["n"], { n: [] });
    assert.deepEqual([await again.told(), await again.told()], ["t S r-t", "g S"]);
    assert.equal(second.door.faults.count("repeated_task"), 1);
    assert.equal(second.door.faults.count("repeated_graph"), 1);
    // A request is repeated once per connection. After that it is a new task with the same name.
    again.task("t");
    assert.equal(await worker.work(), "t");
    assert.equal(await again.told(), "t S r-t");
    assert.equal((await second.task(3)).progress?.state, "done");
  });

  test("a task submitted again before it ended is told once, and may then be submitted as a new one", async () => {
    const { second, again } = await backWithWork();
    again.task("t");
    again.graph("g", ["n"], { n: [] });
    await until(() => second.door.faults.count("repeated_graph") || undefined);
    const worker = await second.worker("w");
    for (let count = 0; count < 2; count++) await worker.work();
    assert.deepEqual([await again.told(), await again.told(), await again.told()], toldOnce);
    again.task("t");
    assert.equal(await worker.work(), "t");
    assert.equal(await again.told(), "t S r-t");
  });
});
