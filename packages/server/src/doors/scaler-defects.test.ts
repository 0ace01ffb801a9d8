// Each defect of the 1.7.14 scheduler, with a test that this one does not have it [scaler 9].

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until } from "../testing/memory-runtime.js";
import { patience } from "../testing/patience.js";
import { ScalerYard, type TestClient, type TestWorker } from "../testing/scaler-yard.js";
import { SkippingClock } from "../testing/skipping-clock.js";

let yard: ScalerYard;
let client: TestClient;
let worker: TestWorker;
let names = 0;
const clock = new SkippingClock();
const balanceMs = 20;
before(async () => {
  yard = await new ScalerYard({ balanceMs, clock }).open();
});
after(() => yard.close());

async function anew(): Promise<void> {
  await worker?.peer.close();
  names += 1;
  client = await yard.client(`client-${names}`);
  worker = await yard.worker(`worker-${names}`);
}

/** The door still accepts a task and delivers its result. */
async function serves(): Promise<void> {
  names += 1;
  client.task(`after-${names}`);
  await worker.work();
  assert.equal(await client.told(), `after-${names} S r-after-${names}`);
}

test("malformed frames do not end it", patience, async () => {
  await anew();
  const types = "HB HE TK TC TR OI OR OA BQ BR DR DP CS CR CB CE GT GC XX".split(" ");
  for (const peer of [client.peer, worker.peer]) {
    for (const type of types) {
      peer.say(type);
      for (const frame of ["", "x", Buffer.alloc(12, 0xff), Buffer.alloc(300)]) peer.say(type, frame, frame);
    }
  }
  await serves();
});

test("a graph that runs can be cancelled", patience, async () => {
  await anew();
  client.graph("live", ["b"], { a: [], b: ["a"] });
  await worker.nextTask();
  client.say({ type: "graph-cancel", graph: Buffer.from("live") });
  assert.deepEqual([await client.told(), await client.told()], ["b C", "live C"]);
  worker.result("a", "C");
  await serves();
});

test("a graph in a circle is refused", patience, async () => {
  await anew();
  client.graph("circle", ["a"], { a: ["b"], b: ["a"] });
  assert.match(await client.told(), /^circle F /);
  await serves();
});

test("a task submitted twice is run once and told once", patience, async () => {
  await anew();
  client.task("twice");
  client.task("twice");
  assert.equal(await worker.work(), "twice");
  assert.equal(await client.told(), "twice S r-twice");
  await serves();
  assert.ok(yard.door.faults.count("repeated_task") > 0);
  // Another client's task with the same name is a different task.
  client.task("shared");
  const { source } = await worker.next("task");
  const other = await yard.client("other");
  other.task("shared");
  assert.match(await other.told(), /^shared F /);
  worker.create(source, { r: "x" });
  worker.result("shared", "S", "r");
  assert.equal(await client.told(), "shared S r");
});

test("cancelling a running task is answered, and leaves nothing behind", patience, async () => {
  await anew();
  const left = yard.door.objects.bytes;
  client.create({ f: "function" });
  client.task("running");
  await worker.nextTask();
  client.cancel("running");
  assert.equal(await client.told(), "running C");
  await worker.next("task-cancel");
  worker.create(client.id, { late: "result" });
  worker.result("running", "S", "late");
  await serves();
  client.remove("f", `r-after-${names}`);
  await until(() => yard.door.objects.bytes === left || undefined);
});

test("cancelling an unknown task is answered", patience, async () => {
  await anew();
  client.cancel("nobody");
  assert.equal(await client.told(), "nobody N");
});

test("the first task is cancelled although there is no worker", patience, async () => {
  await anew();
  await worker.peer.close();
  await yard.workerIs(`worker-${names}`, "lost");
  client.task("lonely");
  client.cancel("lonely");
  assert.equal(await client.told(), "lonely C");
});

test("balancing neither kills what runs nor asks twice", patience, async () => {
  await anew();
  for (const id of ["b0", "b1", "b2", "b3"]) client.task(id);
  for (let count = 0; count < 4; count++) await worker.nextTask();
  worker.beat(3);
  const idle = await yard.worker("idle");
  const asked = [await worker.next("task-cancel"), await worker.next("task-cancel")];
  for (const { flags } of asked) assert.equal(flags?.force, false);
  assert.deepEqual(
    asked.map(({ task }) => String(task)),
    ["b3", "b2"],
  );
  // The worker does not answer, as if both tasks had begun. Several checks pass meanwhile, and
  // nothing is requested again.
  for (let check = 0; check < 10; check++) {
    worker.beat(3);
    await worker.next("heartbeat-echo");
    await clock.skip(balanceMs, () => yard.port.now().instant);
  }
  assert.ok(!worker.peer.heard.some(([type]) => String(type) === "TC"));
  for (const id of ["b0", "b1", "b2", "b3"]) worker.result(id, "S", "r");
  for (let count = 0; count < 4; count++) assert.match(await client.told(), / S r$/);
  await idle.peer.close();
});

test("a target that is also on the way to another is there to be fetched", patience, async () => {
  await anew();
  client.graph("both", ["a", "b"], { a: [], b: ["a"] });
  await worker.work("A");
  await worker.work("B");
  assert.deepEqual([await client.told(), await client.told()], ["a S r-a", "b S r-b"]);
  assert.equal(await client.told(), "both S");
  assert.deepEqual(await client.fetch("r-a"), ["A"]);
});

test("an object that is missing does not shift the others", patience, async () => {
  await anew();
  client.create({ one: "1", three: "3" });
  const ids = ["one", "two", "three"].map((id) => Buffer.from(id));
  worker.say({ type: "object-request", ids });
  const answer = await worker.next("object-answer");
  assert.deepEqual(answer.ids, ids);
  assert.deepEqual(answer.bytes.map(String), ["1"]);
});

test("a result counts only from the worker that has the task", patience, async () => {
  await anew();
  client.task("mine");
  await worker.nextTask();
  const thief = await yard.worker("thief");
  thief.result("mine", "S", "forged");
  await until(() => yard.door.faults.count("not_its_task") || undefined);
  worker.create(client.id, { r: "x" });
  worker.result("mine", "S", "r");
  assert.equal(await client.told(), "mine S r");
  await thief.peer.close();
});

test("numbers as large as their fields do not overflow", patience, async () => {
  await anew();
  worker.peer.say("HB", Buffer.alloc(33, 0xff), Buffer.alloc(24, 0xff));
  await worker.next("heartbeat-echo");
  const workers = await yard.port.reads.workers();
  const shown = workers.find(({ id }) => id === `scaler/worker-${names}`);
  assert.equal(shown?.info?.queued, 65_535);
  await serves();
});
