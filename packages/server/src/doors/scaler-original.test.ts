// The scaler door with peers that behave like the programs of scaler 1.7.14: a worker that hangs
// for good when it receives a task that it already has, peers that repeat nothing, and connections
// and dispatchers that end at the worst moment.

import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { MemoryStore } from "@yardmaster/engines";
import type { RouterOptions } from "@yardmaster/zmtp";
import { realRouter } from "../door-kit/zmq.js";
import { until } from "../testing/memory-runtime.js";
import { OriginalClient, OriginalWorker } from "../testing/original-scaler.js";
import { ScalerYard, type ScalerYardOptions } from "../testing/scaler-yard.js";

let yard: ScalerYard | undefined;
const limit = { timeout: 30_000 };
const graceMs = 300;
/** Less than the minute that workers have to come back for their tasks. */
const quick = { recoveryMs: 2 * graceMs };

async function live(store = new MemoryStore(), options: ScalerYardOptions = {}): Promise<ScalerYard> {
  yard = await new ScalerYard({ store, graceMs, ...options }).open();
  return yard;
}

afterEach(async () => {
  for (const timer of timers.splice(0)) clearInterval(timer);
  await yard?.close();
});

const timers: NodeJS.Timeout[] = [];

/** Sends heartbeats as long as the test runs. */
function beating<Peer extends { beat(): void }>(peer: Peer): Peer {
  peer.beat();
  timers.push(setInterval(() => peer.beat(), 20));
  return peer;
}

async function workerAt(yard: ScalerYard, name = `1|w|${"a".repeat(32)}`): Promise<OriginalWorker> {
  return beating(await new OriginalWorker(name).connect(yard));
}

async function clientAt(yard: ScalerYard, name = `1|Client|${"a".repeat(32)}`): Promise<OriginalClient> {
  return beating(await new OriginalClient(name).connect(yard));
}

/** A client whose tasks are with one worker, which has the objects of the first. */
async function atWork(yard: ScalerYard, ...ids: string[]) {
  const client = await clientAt(yard);
  const worker = await workerAt(yard);
  for (const id of ids) client.submit(id);
  await until(() => worker.ids.length === ids.length || undefined);
  return { client, worker };
}

const resultsOf = (ids: readonly string[]) => ids.map((id) => `result of ${id}`);
const three = ["t1", "t2", "t3"];

describe("a worker that comes back", limit, () => {
  test("is asked for what it holds, and gets it again after it has given it back", async () => {
    const open = await live();
    const { client, worker } = await atWork(open, ...three);
    await worker.cut();
    await worker.connect(open);
    for (const _ of three) await worker.finish();
    assert.deepEqual(await client.gets(...three), resultsOf(three));
    assert.equal(worker.hasHung, false);
  });

  test("and that waits for an answer about objects which was lost goes on", async () => {
    const open = await live();
    const client = await clientAt(open);
    const worker = await workerAt(open);
    worker.losesObjects = true;
    for (const id of three) client.submit(id);
    await until(() => worker.ids.length === 3 || undefined);
    await worker.cut();
    worker.losesObjects = false;
    await worker.connect(open);
    for (const _ of three) await worker.finish();
    assert.deepEqual(await client.gets(...three), resultsOf(three));
  });

  test("brings a result that counts, if nobody has ended the task since", async () => {
    const open = await live();
    const { client, worker } = await atWork(open, "t1");
    await until(() => worker.isFetched || undefined);
    await worker.cut();
    await worker.finish();
    await worker.connect(open);
    assert.deepEqual(await client.gets("t1"), resultsOf(["t1"]));
    assert.deepEqual(worker.ran, ["t1"]);
  });

  test("gives nothing back that another has: that one's result counts", async () => {
    const open = await live();
    const { client, worker } = await atWork(open, "t1");
    await worker.cut();
    const other = await workerAt(open, "2|w|bb");
    await until(() => other.ids.length === 1 || undefined);
    await worker.connect(open);
    await until(() => worker.ids.length === 0 || undefined);
    await other.finish();
    assert.deepEqual(await client.gets("t1"), resultsOf(["t1"]));
    assert.deepEqual([worker.ran, other.ran], [[], ["t1"]]);
  });

  test("whose last heartbeat was lost is known again", async () => {
    const open = await live();
    const { client, worker } = await atWork(open, "t1");
    await worker.cut();
    worker.loseHeartbeat();
    await worker.connect(open);
    await worker.finish();
    assert.deepEqual(await client.gets("t1"), resultsOf(["t1"]));
  });
});

describe("a worker over a restart of the dispatcher", limit, () => {
  for (const end of ["kill", "close"] as const) {
    test(`gets no task that it holds (${end})`, async () => {
      const store = new MemoryStore();
      const first = await live(store);
      const { client, worker } = await atWork(first, ...three);
      await Promise.all([worker.cut(), client.cut()]);
      await first[end]();
      const second = await live(store);
      await worker.connect(second);
      await client.connect(second);
      // Tasks that it finished within the grace period are not repeated.
      while (client.results.size < three.length) {
        if (worker.running !== undefined && worker.isFetched) await worker.finish();
        await until(
          () => (worker.running !== undefined && worker.isFetched) || client.results.size > 2 || undefined,
        );
      }
      assert.deepEqual(await client.gets(...three), resultsOf(three));
      assert.equal(worker.hasHung, false);
    });
  }

  test("that waits for a lost answer is freed when its task is with another", async () => {
    const store = new MemoryStore();
    const first = await live(store);
    const client = await clientAt(first);
    const stuck = await workerAt(first);
    stuck.losesObjects = true;
    for (const id of three) client.submit(id);
    await until(() => stuck.ids.length === 3 || undefined);
    await Promise.all([stuck.cut(), client.cut()]);
    await first.kill();
    const second = await live(store);
    stuck.losesObjects = false;
    const other = await workerAt(second, "2|w|bb");
    await client.connect(second);
    await until(() => other.ids.length === 3 || undefined);
    // It reconnects with the same tasks and cannot continue the first.
    await stuck.connect(second);
    await until(() => stuck.ids.length === 0 || undefined);
    for (const _ of three) await other.finish();
    assert.deepEqual(await client.gets(...three), resultsOf(three));
  });

  test("that waits for a lost answer is freed when its task was cancelled", async () => {
    const store = new MemoryStore();
    const first = await live(store);
    const client = await clientAt(first);
    const stuck = await workerAt(first);
    stuck.losesObjects = true;
    client.submit("t1");
    await until(() => stuck.ids.length === 1 || undefined);
    await Promise.all([stuck.cut(), client.cut()]);
    await first.kill();
    const second = await live(store);
    stuck.losesObjects = false;
    await client.connect(second);
    client.cancel("t1");
    await until(() => !client.open.has("t1") || undefined);
    await stuck.connect(second);
    await until(() => stuck.ids.length === 0 || undefined);
    client.submit("t2");
    await stuck.finish();
    assert.deepEqual(await client.gets("t2"), resultsOf(["t2"]));
  });

  test("that waits for a lost answer is freed when its task ended in another life", async () => {
    const store = new MemoryStore();
    const first = await live(store);
    const client = await clientAt(first);
    const stuck = await workerAt(first);
    stuck.losesObjects = true;
    client.submit("t1");
    await until(() => stuck.ids.length === 1 || undefined);
    await Promise.all([stuck.cut(), client.cut()]);
    await first.kill();
    const second = await live(store);
    await client.connect(second);
    const other = await workerAt(second, "2|w|bb");
    await other.finish();
    assert.deepEqual(await client.gets("t1"), resultsOf(["t1"]));
    await Promise.all([other.cut(), client.cut()]);
    await second.kill();
    const third = await live(store, quick);
    stuck.losesObjects = false;
    await client.connect(third);
    await stuck.connect(third);
    client.submit("t2");
    await stuck.finish();
    assert.deepEqual(await client.gets("t2"), resultsOf(["t2"]));
    assert.deepEqual(stuck.ran, ["t2"]);
  });

  test("that waits for a lost answer is freed when another door's task was cancelled", async () => {
    const store = new MemoryStore();
    const first = await live(store);
    const stuck = await workerAt(first);
    stuck.losesObjects = true;
    const task = await first.hand.submit("scaler", "x");
    await until(() => stuck.ids.length === 1 || undefined);
    await stuck.cut();
    await first.kill();
    const second = await live(store, quick);
    stuck.losesObjects = false;
    second.hand.post({ type: "cancel-asked", request: 1, task, by: "a test" });
    await second.hand.next("reply");
    await stuck.connect(second);
    const client = await clientAt(second);
    client.submit("t2");
    await stuck.finish();
    assert.deepEqual(await client.gets("t2"), resultsOf(["t2"]));
    assert.deepEqual(stuck.ran, ["t2"]);
  });

  test("whose last heartbeat was lost is known again", { timeout: 20_000 }, async () => {
    const store = new MemoryStore();
    const first = await live(store);
    const { client, worker } = await atWork(first, "t1");
    await Promise.all([worker.cut(), client.cut()]);
    await first.kill();
    const second = await live(store);
    worker.loseHeartbeat();
    await client.connect(second);
    await worker.connect(second);
    await worker.finish();
    assert.deepEqual(await client.gets("t1"), resultsOf(["t1"]));
  });
});

describe("a client that says nothing twice", limit, () => {
  for (const what of ["outcomes", "objects"] as const) {
    test(`gets ${what} that were lost with its connection`, async () => {
      const open = await live();
      const { client, worker } = await atWork(open, "t1");
      client.loses = what;
      await worker.finish();
      await open.task(1, ({ progress }) => progress?.state === "done");
      if (what === "objects") await until(() => client.open.size === 0 || undefined);
      await client.cut();
      client.loses = "nothing";
      assert.equal(client.results.size, 0);
      await client.connect(open);
      assert.deepEqual(await client.gets("t1"), resultsOf(["t1"]));
    });

    test(`gets ${what} that were lost with the dispatcher`, async () => {
      const store = new MemoryStore();
      const first = await live(store);
      const { client, worker } = await atWork(first, "t1");
      client.loses = what;
      await worker.finish();
      await first.task(1, ({ progress }) => progress?.state === "done");
      if (what === "objects") await until(() => client.open.size === 0 || undefined);
      await client.cut();
      await first.kill();
      client.loses = "nothing";
      const second = await live(store);
      await client.connect(second);
      assert.deepEqual(await client.gets("t1"), resultsOf(["t1"]));
    });
  }

  test("counts as told when its heartbeats show that it has its outcome, not before", async () => {
    const open = await live();
    const client = await new OriginalClient("1|Client|aa").connect(open);
    const worker = await workerAt(open);
    client.beat();
    client.submit("t1");
    await worker.finish();
    assert.deepEqual(await client.gets("t1"), resultsOf(["t1"]));
    assert.equal((await open.task(1)).progress?.settled ?? 0, 0);
    client.beat();
    await until(() => !client.awaitsEcho || undefined);
    assert.equal((await open.task(1)).progress?.settled ?? 0, 0);
    client.beat();
    await open.finished(1);
  });
});

test("the transport's heartbeat does not end a worker that is only paused", limit, async () => {
  const made: RouterOptions[] = [];
  const makeRouter = (options: RouterOptions) => {
    made.push(options);
    return realRouter(options);
  };
  yard = await new ScalerYard({ makeRouter, config: { workerTimeoutSeconds: 60 } }).open();
  assert.equal(made[0]?.heartbeat?.deadMs, 60_000);
});
