// The scaler door behind a real socket: objects, graphs, nested tasks, balancing, and tasks for
// workers of other dialects.

import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { partsMediaType, partsOf } from "@yardmaster/dialects";
import { until } from "../testing/memory-runtime.js";
import { patience } from "../testing/patience.js";
import {
  ScalerYard,
  type ScalerYardOptions,
  type TestClient,
  type TestWorker,
} from "../testing/scaler-yard.js";

const opened: ScalerYard[] = [];

async function openYard(options: ScalerYardOptions = {}): Promise<ScalerYard> {
  const yard = await new ScalerYard(options).open();
  opened.push(yard);
  return yard;
}

async function trio(options: ScalerYardOptions = {}): Promise<[ScalerYard, TestClient, TestWorker]> {
  const yard = await openYard(options);
  return [yard, await yard.client("c"), await yard.worker("w")];
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((yard) => yard.close()));
});

const faults = (yard: ScalerYard, kind: string) => until(() => yard.door.faults.count(kind) || undefined);
const objects = (yard: ScalerYard, size: number) => until(() => yard.door.objects.size === size || undefined);
describe("objects", patience, () => {
  test("can be overwritten by their owner, and by nobody else", async () => {
    const [yard, client] = await trio();
    client.create({ o: "first" });
    client.create({ o: "second" });
    assert.deepEqual(await client.fetch("o"), ["second"]);
    const other = await yard.client("other");
    other.create({ o: "mine" });
    await faults(yard, "object_taken");
    assert.deepEqual(await other.fetch("o"), ["second"]);
  });

  test("are there as long as one owner is", async () => {
    const [yard, client, worker] = await trio();
    const other = await yard.client("other");
    client.create({ o: "shared" });
    await objects(yard, 1);
    other.say({
      ...{ type: "object-create", source: other.id, ids: [Buffer.from("o")] },
      ...{ names: [Buffer.from("name of o")], bytes: [Buffer.from("shared")], hasSplitCounts: false },
    });
    assert.deepEqual(await other.fetch("o"), ["shared"]);
    client.remove("o");
    client.cancel("nothing");
    await client.told();
    assert.deepEqual(await other.fetch("o"), ["shared"]);
    other.remove("o");
    assert.deepEqual((await worker.next("object-delete")).ids.map(String), ["o"]);
    assert.equal(yard.door.objects.size, 0);
  });

  test("cannot be created or deleted in another client's name", async () => {
    const [yard, client] = await trio();
    client.create({ o: "mine" });
    await objects(yard, 1);
    const thief = await yard.client("thief");
    const forged = { source: client.id, ids: [Buffer.from("o")], hasSplitCounts: false };
    thief.say({ type: "object-delete", ...forged });
    thief.say({ type: "object-create", ...forged, names: [Buffer.from("n")], bytes: [Buffer.from("no")] });
    await until(() => yard.door.faults.count("wrong_source") === 2 || undefined);
    assert.deepEqual(await client.fetch("o"), ["mine"]);
  });

  test("that a task needs outlive their owner's wish to delete them", async () => {
    const [yard, client, worker] = await trio();
    client.create({ f: "function", a: "argument" });
    client.task("t", { args: ["a"] });
    client.remove("f", "a");
    await worker.nextTask();
    worker.say({ type: "object-request", ids: ["f", "a"].map((id) => Buffer.from(id)) });
    assert.deepEqual((await worker.next("object-answer")).bytes.map(String), ["function", "argument"]);
    worker.create("c", { r: "x" });
    worker.result("t", "S", "r");
    await client.told();
    assert.deepEqual((await worker.next("object-delete")).ids.map(String).sort(), ["a", "f"]);
    await objects(yard, 1);
  });

  test("that are asked for before they are there are waited for", async () => {
    const [, client, worker] = await trio();
    worker.say({ type: "object-request", ids: ["a", "late", "a"].map((id) => Buffer.from(id)) });
    client.create({ a: "A" });
    client.create({ late: "L" });
    const { ids, bytes } = await worker.next("object-answer");
    assert.deepEqual(
      [ids.map(String), bytes.map(String)],
      [
        ["a", "late", "a"],
        ["A", "L", "A"],
      ],
    );
  });

  test("that never come are answered after a while, each form in its way, and no other is shifted", async () => {
    const [yard, client, worker] = await trio();
    const document = await yard.worker("d", "d");
    client.create({ a: "A", c: "C" });
    await objects(yard, 2);
    const ids = ["a", "missing", "c"].map((id) => Buffer.from(id));
    for (const peer of [worker, document]) peer.say({ type: "object-request", ids });
    client.say({ type: "object-request", ids });
    const answers = await Promise.all([worker, document].map((peer) => peer.next("object-answer")));
    for (const answer of answers) assert.deepEqual(answer.ids, ids);
    assert.deepEqual(
      answers.map(({ kind, bytes }) => [kind, bytes.map(String)]),
      [
        ["content", ["A"]],
        ["not-found", []],
      ],
    );
    assert.deepEqual((await client.next("object-answer")).bytes.map(String), ["A"]);
  });

  test("beyond the limit are refused, and a task that needs one fails with the reason", async () => {
    const [yard, client, worker] = await trio({ config: { objectBytes: 2000 } });
    client.create({ f: "small" });
    client.create({ a: Buffer.alloc(3000) });
    await faults(yard, "object_limit");
    client.task("t", { args: ["a"] });
    const told = await client.next("task-result");
    assert.equal(told.status, "F");
    assert.match((await client.fetch(told.results[0] as Buffer))[0] ?? "", /had no room/);
    client.task("u");
    await worker.nextTask();
    worker.create("c", { r: Buffer.alloc(3000) });
    worker.result("u", "S", "r");
    const failed = await client.next("task-result");
    assert.equal(failed.status, "F");
    assert.match((await client.fetch(failed.results[0] as Buffer))[0] ?? "", /Exception(.|\n)*had no room/);
    assert.ok(yard.door.objects.bytes < 3000);
  });

  test("that a lost worker made for a task it had not answered go with it", async () => {
    const [yard, client, worker] = await trio();
    client.task("t");
    await worker.nextTask();
    worker.create("c", { half: "done" });
    await until(() => yard.door.objects.bytes > 0 || undefined);
    await worker.peer.close();
    await until(() => yard.door.objects.bytes === 0 || undefined);
  });
});

describe("graphs", patience, () => {
  test("run in order, with results for arguments, targets told as they end and the graph last", async () => {
    const [yard, client, worker] = await trio();
    client.create({ f: "function" });
    client.graph("g", ["sum", "a"], { sum: ["b", "a"], a: [], b: [] });
    assert.deepEqual([await worker.work("A"), await worker.work("B")], ["a", "b"]);
    assert.equal(await client.told(), "a S r-a");
    const sum = await worker.next("task");
    assert.deepEqual(
      sum.arguments.map(({ kind, id }) => `${kind} ${id}`),
      ["R r-b", "R r-a"],
    );
    worker.create("c", { r: "AB" });
    worker.result("sum", "S", "r");
    assert.equal(await client.told(), "sum S r");
    assert.equal(await client.told(), "g S");
    // b was only an intermediate result. a is also a target and stays until its owner deletes it.
    await objects(yard, 3);
    assert.deepEqual(await client.fetch("r-a", "r"), ["A", "AB"]);
  });

  test("that fail tell every target that waited for it, and themselves with the error", async () => {
    const [, client, worker] = await trio();
    client.graph("g", ["last", "free"], { first: [], second: ["first"], last: ["second"], free: [] });
    assert.equal(await worker.nextTask(), "first");
    assert.equal(await worker.work(), "free");
    assert.equal(await client.told(), "free S r-free");
    worker.create("c", { e: "error" });
    worker.result("first", "F", "e");
    assert.equal(await client.told(), "last F e");
    assert.equal(await client.told(), "g F e");
  });

  test("in a circle, with an unknown task or target are refused, and nothing of them runs", async () => {
    const [yard, client, worker] = await trio();
    client.graph("circle", ["x"], { x: ["y"], y: ["x"], z: [] });
    client.graph("unknown", ["x"], { x: ["nobody"] });
    client.graph("target", ["nobody"], { x: [] });
    for (const [graph, why] of [
      ["circle", /in a circle/],
      ["unknown", /waits for/],
      ["target", /target/],
    ] as const) {
      const { task, status, results } = await client.next("task-result");
      assert.deepEqual([String(task), status], [graph, "F"]);
      assert.match((await client.fetch(results[0] as Buffer))[0] ?? "", why);
    }
    client.task("after");
    assert.equal(await worker.work(), "after");
    assert.deepEqual(yard.why(2), undefined);
  });

  test("can be cancelled at any time, and cancelling is answered", async () => {
    const [yard, client, worker] = await trio();
    client.create({ f: "function" });
    client.graph("g", ["last"], { first: [], last: ["first"] });
    await worker.nextTask();
    client.say({ type: "graph-cancel", graph: Buffer.from("g") });
    assert.equal(await client.told(), "last C");
    assert.equal(await client.told(), "g C");
    assert.equal(String((await worker.next("task-cancel")).task), "first");
    worker.result("first", "C");
    await yard.workerIs("w", "idle");
    client.say({ type: "graph-cancel", graph: Buffer.from("g") });
    assert.equal(await client.told(), "g N");
    client.remove("f");
    await objects(yard, 0);
  });

  test("of no task are done at once", async () => {
    const [, client] = await trio();
    client.graph("g", [], {});
    assert.equal(await client.told(), "g S");
  });

  test("go with their client", async () => {
    const [yard, client, worker] = await trio();
    client.create({ f: "function" });
    client.graph("g", ["last"], { first: [], last: ["first"] });
    await worker.nextTask();
    client.say({ type: "client-disconnect", kind: "disconnect" });
    assert.equal(String((await worker.next("task-cancel")).task), "first");
    worker.result("first", "C");
    await objects(yard, 0);
    await yard.workerIs("w", "idle");
  });
});

describe("nested tasks", patience, () => {
  test("run although their parents fill every slot", async () => {
    const [, client, worker] = await trio({ config: { perWorkerQueueSize: 1 } });
    client.task("parent", { priority: 0 });
    assert.equal(await worker.nextTask(), "parent");
    client.task("child", { priority: -1 });
    assert.equal(await worker.nextTask(), "child");
    client.task("grandchild", { priority: -2 });
    assert.equal(await worker.work(), "grandchild");
    assert.equal(await client.told(), "grandchild S r-grandchild");
    worker.create("c", { r: "x" });
    worker.result("child", "S", "r");
    worker.result("parent", "S", "r");
    assert.deepEqual([await client.told(), await client.told()], ["child S r", "parent S r"]);
  });
});

describe("balance", patience, () => {
  for (const wire of ["r", "d"] as const) {
    test(`takes from a worker of form ${wire} what it has not begun, once, and loses nothing`, async () => {
      const yard = await openYard();
      const client = await yard.client("c");
      const loaded = await yard.worker("loaded", wire);
      for (let index = 0; index < 6; index++) client.task(`t${index}`);
      for (let index = 0; index < 6; index++) await loaded.nextTask();
      loaded.beat(5);
      const idle = await yard.worker("idle");
      const given: string[] = [];
      if (wire === "r") {
        for (let count = 0; count < 3; count++) {
          const { task, flags } = await loaded.next("task-cancel");
          assert.deepEqual(flags, { force: false, retrieveTaskObject: false });
          loaded.result(task, "C");
          given.push(String(task));
        }
      } else {
        const { count } = await loaded.next("balance-request");
        assert.equal(count, 3);
        given.push("t5", "t4", "t3");
        loaded.say({ type: "balance-response", tasks: given.map((id) => Buffer.from(id)) });
      }
      assert.deepEqual(given, ["t5", "t4", "t3"]);
      const taken = [await idle.work(), await idle.work(), await idle.work()];
      assert.deepEqual(taken.sort(), ["t3", "t4", "t5"]);
      loaded.create("c", { r: "result" });
      for (const task of ["t0", "t1", "t2"]) loaded.result(task, "S", "r");
      const told = new Set<string>();
      for (let count = 0; count < 6; count++) told.add((await client.told()).slice(0, 4));
      assert.deepEqual([...told].sort(), ["t0 S", "t1 S", "t2 S", "t3 S", "t4 S", "t5 S"]);
      assert.deepEqual((await yard.task(6)).progress?.losses, 0);
    });
  }

  test("loses nothing when the worker dies in the middle of giving up", async () => {
    const yard = await openYard();
    const client = await yard.client("c");
    const loaded = await yard.worker("loaded");
    for (let index = 0; index < 4; index++) client.task(`t${index}`);
    for (let index = 0; index < 4; index++) await loaded.nextTask();
    loaded.beat(3);
    const idle = await yard.worker("idle");
    const { task } = await loaded.next("task-cancel");
    loaded.result(task, "C");
    assert.equal(await idle.work(), String(task));
    await loaded.peer.close();
    const rest = [await idle.work(), await idle.work(), await idle.work()];
    assert.deepEqual([...rest, String(task)].sort(), ["t0", "t1", "t2", "t3"]);
  });

  test("a task that has begun is not given back, and is not asked for again", async () => {
    const yard = await openYard();
    const client = await yard.client("c");
    const loaded = await yard.worker("loaded");
    for (let index = 0; index < 3; index++) client.task(`t${index}`);
    for (let index = 0; index < 3; index++) await loaded.nextTask();
    loaded.beat(2);
    await yard.worker("idle");
    await loaded.next("task-cancel");
    loaded.beat(2);
    await loaded.next("heartbeat-echo");
    loaded.create("c", { r: "result" });
    loaded.result("t2", "S", "r");
    assert.equal(await client.told(), "t2 S r");
    assert.deepEqual(
      loaded.peer.heard.map(([type]) => String(type)),
      ["HE"],
    );
  });
});

describe("other dialects", patience, () => {
  test("get a client's task as an array of its function and arguments, and their answer is its result", async () => {
    const yard = await openYard();
    const client = await yard.client("c");
    client.create({ f: "function", a: "argument" });
    client.task("t", { args: ["a"] });
    yard.hand.join("hand/w", "scaler");
    const held = await yard.hand.next("assign");
    assert.equal(held.task.payload.mediaType, partsMediaType);
    assert.deepEqual(partsOf(held.task.payload).map(String), ["function", "argument"]);
    yard.hand.done(held, { mediaType: "text/plain", size: 6, bytes: Buffer.from("answer") });
    const { status, results } = await client.next("task-result");
    assert.equal(status, "S");
    assert.deepEqual(await client.fetch(...results), ["answer"]);
  });

  test("say in words what went wrong, and the client finds an exception with them", async () => {
    const yard = await openYard();
    const client = await yard.client("c");
    client.create({ f: "function" });
    client.task("t");
    yard.hand.join("hand/w", "scaler");
    yard.hand.fail(await yard.hand.next("assign"), "broke", "no such file");
    const { status, results } = await client.next("task-result");
    assert.equal(status, "F");
    const [error] = await client.fetch(...results);
    assert.match(error ?? "", /builtins\nException\nX(.|\n){4}no such file/);
  });

  test("do not get a task whose objects are not there: it fails", async () => {
    const yard = await openYard();
    const client = await yard.client("c");
    client.task("t");
    yard.hand.join("hand/w", "scaler");
    assert.equal((await client.next("task-result")).status, "F");
  });

  test("give a node of a graph a result that the next can take", async () => {
    const yard = await openYard();
    const client = await yard.client("c");
    client.create({ f: "function" });
    client.graph("g", ["b"], { a: [], b: ["a"] });
    yard.hand.join("hand/w", "scaler");
    const first = await yard.hand.next("assign");
    yard.hand.done(first, { mediaType: "text/plain", size: 1, bytes: Buffer.from("A") });
    const second = await yard.hand.next("assign");
    assert.deepEqual(partsOf(second.task.payload).map(String), ["function", "A"]);
    yard.hand.done(second, { mediaType: "text/plain", size: 1, bytes: Buffer.from("B") });
    assert.equal((await client.told()).slice(0, 3), "b S");
    assert.equal(await client.told(), "g S");
  });
});
