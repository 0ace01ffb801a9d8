// The pulse door with workers that behave like the originals, on real sockets: BUSY forever,
// repeated TASK_FAILED, a pulse that reads as a REGISTER in the other numbering, and a socket that
// its worker left behind.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, describe, test } from "node:test";
import { until } from "../testing/memory-runtime.js";
import { PulseYard, type PulseYardOptions, type TestWorker } from "../testing/pulse-yard.js";

let yard: PulseYard;
async function openYard(options: PulseYardOptions = {}): Promise<PulseYard> {
  yard = await new PulseYard(options).open();
  return yard;
}
afterEach(() => yard.close());

/** Accepts one task and reports it as failed. */
async function failOnce(worker: TestWorker): Promise<void> {
  const task = await worker.take();
  await worker.pulse("FETCH_ME", task);
  (await worker.next()).answer("TASK_FAILED", { task, extra: "no licence" });
}

describe("the pulse door with the original workers' habits", { timeout: 20_000 }, () => {
  test("a task that failed at a worker waits for the busy one, although the first is idle", async () => {
    await openYard();
    const failing = await yard.worker();
    await yard.hand.submit("pulse", "one");
    const healthy = await yard.worker();
    await yard.hand.submit("pulse", "two");
    assert.equal(await healthy.take(), 2);
    await failOnce(failing);
    await yard.task(1, ({ progress }) => progress?.state === "waiting");
    // The first worker can still run all other tasks.
    await yard.hand.submit("pulse", "three");
    assert.equal(await failing.take(), 3);
    await failing.deliver(3, "done");
    await yard.finished(3);
    assert.equal(yard.why(1), "all_busy");
    assert.deepEqual(failing.asked, []);
    await healthy.deliver(2, "done");
    assert.equal(await healthy.take(), 1);
    await healthy.deliver(1, "done");
    await yard.finished(1);
  });

  test("a worker that says BUSY for good is shown busy", async () => {
    await openYard();
    const worker = await yard.worker();
    await yard.hand.submit("pulse", "one");
    (await worker.next()).answer("BUSY");
    await yard.task(1, ({ progress }) => progress?.state === "waiting");
    assert.deepEqual(await yard.workerStates(), ["pulse/1 busy"]);
    assert.equal(yard.why(1), "all_busy");
  });

  test("a document-form FETCH_ME without an id does not register a worker", async () => {
    await openYard();
    assert.equal(await yard.pulse("FETCH_ME", { id: 0n, task: 7 }), "UNKNOWN_ID");
    // Without a task it has the bytes of a REGISTER in main. The OK of that numbering is
    // UNKNOWN_TYPE in its own.
    assert.equal(await yard.pulse("FETCH_ME", { id: 0n }), "UNKNOWN_TYPE 1");
    await yard.hand.submit("pulse", "one");
    await yard.task(1);
    assert.deepEqual(await yard.workerStates(), []);
    assert.equal(yard.why(1), "no_worker");
    const worker = await yard.worker({ numbering: "main" });
    assert.equal(await worker.take(), 1);
  });

  test("a worker that is gone after our restart does not count as our mistake", async () => {
    yard = new PulseYard({ config: { numbering: "document" }, times: { connectMsMax: 100 } });
    mkdirSync(yard.dir);
    const gone = createServer().listen(join(yard.dir, "7.sock"));
    await new Promise((done) => gone.once("listening", done));
    gone.on("connection", (socket) => socket.destroy());
    await yard.open();
    await until(async () => (await yard.pulse("OK", { id: 7n })) === "UNKNOWN_ID" || undefined);
    gone.close();
    await yard.hand.submit("pulse", "one");
    await yard.task(1);
    assert.deepEqual([...yard.runtime.counters.senseless.entries()], []);
  });
});
