// The scaler door behind a real socket, from the peers' point of view.

import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { until } from "../testing/memory-runtime.js";
import { patience } from "../testing/patience.js";
import { ScalerYard, type ScalerYardOptions } from "../testing/scaler-yard.js";

const opened: ScalerYard[] = [];

async function openYard(options: ScalerYardOptions = {}): Promise<ScalerYard> {
  const yard = await new ScalerYard(options).open();
  opened.push(yard);
  return yard;
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((yard) => yard.close()));
});

const faults = (yard: ScalerYard, kind: string) => until(() => yard.door.faults.count(kind) || undefined);

describe("a task", patience, () => {
  for (const wire of ["r", "r-packed", "d", "d-packed", "d-split"] as const) {
    test(`goes to a worker of form ${wire} with its objects, and its result back to the client`, async () => {
      const yard = await openYard();
      const worker = await yard.worker("w", wire);
      const client = await yard.client("c");
      client.create({ f: "function", a: "one", b: "two" });
      client.task("t", { args: ["a", "b"] });
      const task = await worker.next("task");
      assert.deepEqual([String(task.source), String(task.function)], ["c", "f"]);
      worker.say({ type: "object-request", ids: [task.function, ...task.arguments.map(({ id }) => id)] });
      const { ids, names, bytes, hasSplitCounts } = await worker.next("object-answer");
      assert.deepEqual(ids.map(String), ["f", "a", "b"]);
      assert.deepEqual(names.map(String), ["name of f", "name of a", "name of b"]);
      assert.deepEqual(bytes.map(String), ["function", "one", "two"]);
      assert.equal(hasSplitCounts, wire === "d-split");
      worker.create("c", { r: "three" });
      worker.result("t", "S", "r");
      assert.equal(await client.told(), "t S r");
      assert.deepEqual(await client.fetch("r"), ["three"]);
      const { progress } = await yard.finished(1);
      assert.deepEqual([progress?.state, progress?.told], ["done", true]);
      assert.equal(String((await yard.body(1, "result"))?.bytes), "three");
    });
  }

  test("that fails is told with what the worker left", async () => {
    const yard = await openYard();
    const worker = await yard.worker("w");
    const client = await yard.client("c");
    client.task("t");
    await worker.nextTask();
    worker.create("c", { e: "a pickled exception" });
    worker.result("t", "F", "e");
    assert.equal(await client.told(), "t F e");
    assert.deepEqual(await client.fetch("e"), ["a pickled exception"]);
    assert.equal((await yard.finished(1)).progress?.state, "failed");
  });

  test("with the lower number goes first", async () => {
    const yard = await openYard({ config: { perWorkerQueueSize: 1 } });
    const client = await yard.client("c");
    for (const [id, priority] of [
      ["low", 1],
      ["none", 0],
      ["high", -1],
    ] as const) {
      client.task(id, { priority });
    }
    await yard.task(3);
    const worker = await yard.worker("w");
    assert.deepEqual(
      [await worker.work(), await worker.work(), await worker.work()],
      ["high", "none", "low"],
    );
  });

  test("that came in by another door is a function's name and one argument, and its result those bytes", async () => {
    const yard = await openYard({ config: { function: "double" } });
    const worker = await yard.worker("w");
    yard.hand.post({
      type: "task-submitted",
      submission: {
        queue: "scaler",
        payload: { mediaType: "text/plain", size: 2, bytes: Buffer.from("21") },
      },
    });
    const { task, source, function: functionId, arguments: args } = await worker.next("task");
    worker.say({ type: "object-request", ids: [functionId, ...args.map(({ id }) => id)] });
    assert.deepEqual((await worker.next("object-answer")).bytes.map(String), ["double", "21"]);
    worker.create(source, { r: "42" });
    worker.result(task, "S", "r");
    await yard.finished(1);
    assert.equal(String((await yard.body(1, "result"))?.bytes), "42");
    assert.deepEqual((await worker.next("object-delete")).ids, [args[0]?.id]);
    assert.deepEqual((await worker.next("object-delete")).ids.map(String), ["r"]);
    assert.equal(yard.door.objects.size, 0);
  });
});

describe("workers", patience, () => {
  test("are shown with what they say of themselves", async () => {
    const yard = await openYard();
    await yard.worker("w", "d");
    const [worker] = await yard.port.reads.workers();
    assert.deepEqual([worker?.id, worker?.dialect, worker?.slots], ["scaler/w", "scaler", 1000]);
    assert.equal(worker?.info?.freeBytes, 2);
  });

  test("that close their connection lose their tasks to another at once", async () => {
    const yard = await openYard();
    const one = await yard.worker("one");
    const client = await yard.client("c");
    client.task("t");
    await one.nextTask();
    const other = await yard.worker("other");
    await one.peer.close();
    assert.equal(await other.work(), "t");
    assert.equal(await client.told(), "t S r-t");
  });

  test("cannot answer what they do not hold", async () => {
    const yard = await openYard();
    const worker = await yard.worker("holder");
    const client = await yard.client("c");
    client.task("t");
    await worker.nextTask();
    const thief = await yard.worker("thief");
    thief.create("c", { forged: "no" });
    thief.result("t", "S", "forged");
    await faults(yard, "not_its_task");
    await until(() => yard.door.objects.bytes === 0 || undefined);
    worker.create("c", { r: "yes" });
    worker.result("t", "S", "r");
    assert.equal(await client.told(), "t S r");
  });
});

describe("clients", patience, () => {
  test("cancel what waits, what runs and what is unknown, and are answered each time", async () => {
    const yard = await openYard();
    const client = await yard.client("c");
    client.task("waiting");
    client.cancel("waiting");
    assert.equal(await client.told(), "waiting C");
    client.cancel("waiting");
    assert.equal(await client.told(), "waiting N");
    const worker = await yard.worker("w");
    client.task("running");
    await worker.nextTask();
    client.cancel("running");
    assert.equal(await client.told(), "running C");
    const { task, flags } = await worker.next("task-cancel");
    assert.deepEqual([String(task), flags], ["running", { force: true, retrieveTaskObject: false }]);
    worker.result("running", "C");
    await yard.workerIs("w", "idle");
  });

  test("that say goodbye take their tasks and objects with them", async () => {
    const yard = await openYard();
    const worker = await yard.worker("w");
    const client = await yard.client("c");
    client.create({ f: "x", a: "y" });
    client.task("t", { args: ["a"] });
    await worker.nextTask();
    client.say({ type: "client-disconnect", kind: "disconnect" });
    client.remove("f", "a");
    assert.equal(String((await worker.next("task-cancel")).task), "t");
    worker.result("t", "C");
    const gone = await worker.next("object-delete");
    assert.deepEqual(gone.ids.map(String).sort(), ["a", "f"]);
    assert.equal(yard.door.objects.size, 0);
    assert.equal((await yard.task(1)).progress?.state, "cancelled");
  });

  test("that come back under their name are told what they missed", async () => {
    const yard = await openYard();
    const worker = await yard.worker("w");
    const client = await yard.client("c");
    client.task("t");
    const { source } = await worker.next("task");
    await client.peer.close();
    worker.create(source, { r: "kept" });
    worker.result("t", "S", "r");
    await yard.task(1, ({ progress }) => progress?.state === "done");
    const again = await yard.client("c");
    assert.equal(await again.told(), "t S r");
    assert.deepEqual(await again.fetch("r"), ["kept"]);
    await yard.finished(1);
  });

  test("that are silent for too long are dead", async () => {
    const yard = await openYard({ config: { clientTimeoutSeconds: 0.1 } });
    const client = await yard.client("c");
    client.create({ f: "x" });
    client.task("t");
    assert.equal(
      (await yard.task(1, ({ progress }) => progress?.state === "cancelled")).progress?.told,
      false,
    );
    await until(() => yard.door.objects.size === 0 || undefined);
  });

  test("cannot shut the workers down, unless they may", async () => {
    const yard = await openYard();
    const client = await yard.client("c");
    client.say({ type: "client-disconnect", kind: "shutdown" });
    assert.equal((await client.next("shutdown-response")).isAccepted, false);
    const open = await openYard({ config: { protected: false } });
    const worker = await open.worker("w");
    const other = await open.client("c");
    other.say({ type: "client-disconnect", kind: "shutdown" });
    assert.equal((await other.next("shutdown-response")).isAccepted, true);
    assert.equal((await worker.next("client-disconnect")).kind, "shutdown");
    worker.say({ type: "disconnect-request", worker: Buffer.from("w") });
    assert.equal(String((await worker.next("disconnect-response")).worker), "w");
    await open.workerIs("w", "lost");
  });
});
