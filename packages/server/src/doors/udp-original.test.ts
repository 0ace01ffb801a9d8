// The udp door with calculators that behave like the original program: clients get what the
// document promises.

import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { MemoryStore } from "@yardmaster/engines";
import { until } from "../testing/memory-runtime.js";
import { OriginalCalculator, type OriginalCalculatorOptions } from "../testing/udp-original.js";
import { UdpYard, type UdpYardOptions } from "../testing/udp-yard.js";

/** As in the original's sample configuration. No test waits for the next heartbeat. */
const heartbeatMs = 30_000;

let yard: UdpYard;
let calculators: OriginalCalculator[] = [];

async function openYard(options: UdpYardOptions = {}): Promise<void> {
  yard = await new UdpYard(options).open();
}

async function calculator(options: Partial<OriginalCalculatorOptions> = {}): Promise<OriginalCalculator> {
  const opened = await new OriginalCalculator({ port: yard.doorPort, heartbeatMs, ...options }).open();
  calculators.push(opened);
  await until(async () => (await isKnown(opened.name)) || undefined);
  return opened;
}

async function isKnown(name: string, status = "ready"): Promise<boolean> {
  const workers = await yard.workers();
  return workers.some(({ id, info }) => id === `udp/${name}` && info?.status === status);
}

afterEach(async () => {
  for (const each of calculators) each.close();
  calculators = [];
  await yard.close();
});

describe("placement", () => {
  test("six mute calculators and a live one: each is asked once, and the live one does it at no cost", async () => {
    await openYard();
    for (let count = 6; count > 0; count -= 1) await calculator({ isMute: true });
    const live = await calculator({ workMs: 1 });
    const client = await yard.peer();
    client.ask("add_task", { task_id: 5 });
    assert.deepEqual(await client.told(), { status: "success", task_id: 5 });
    assert.equal(live.asked.length, 1);
    const story = await yard.story(1);
    assert.deepEqual(story, [
      "submitted",
      ...Array.from({ length: 6 }, () => ["assigned", "returned: undelivered"]).flat(),
      "assigned",
      "done",
    ]);
    assert.equal((await yard.task(1)).progress?.losses, 0);
  });

  test("only mute ones: failed_post when the time for placing is over, however often they say they are ready", async () => {
    await openYard({ config: { timeout_task_placement: 1 } });
    for (let count = 2; count > 0; count -= 1) await calculator({ isMute: true, heartbeatMs: 100 });
    const client = await yard.peer();
    client.ask("add_task", { task_id: 5 });
    const { status, error } = await client.told();
    assert.equal(status, "failed_post");
    assert.match(String(error), /^No worker began the task before its time was over\./);
    const { progress } = await yard.finished(1);
    assert.deepEqual([progress?.state, progress?.losses], ["expired", 0]);
    assert.ok((await yard.story(1)).filter((cause) => cause === "returned: undelivered").length > 2);
  });

  test("a task that no datagram can hold: failed_post, and why", async () => {
    await openYard({ config: { timeout_task_placement: 0.1 } });
    await calculator();
    const client = await yard.peer();
    client.ask("add_task", { task_id: 5, text: "x".repeat(3_000) });
    const { status, error } = await client.told();
    assert.equal(status, "failed_post");
    assert.match(String(error), /It does not fit the workers of udp/);
    assert.ok((await yard.story(1)).includes("returned: does_not_fit"));
  });
});

test("guaranteed execution: one that is busy for ever loses its task to another", async () => {
  await openYard({ config: { timeout_task_execution: 0.3, activity_poll_sec: 0.1 } });
  const stuck = await calculator();
  const client = await yard.peer();
  client.ask("add_task", { task_id: 5 });
  await until(() => (stuck.asked.length > 0 ? true : undefined));
  await calculator({ workMs: 1 });
  assert.deepEqual(await client.told(), { status: "success", task_id: 5 });
  assert.ok((await yard.story(1)).includes("lost: time_limit"));
  await until(async () => (await isKnown(stuck.name, "busy")) || undefined);
});

describe("a restart of the dispatcher", () => {
  test("calculators are asked at once whether they are there, and need not wait for their next heartbeat", async () => {
    const store = new MemoryStore();
    await openYard({ store });
    const idle = await calculator({ workMs: 1 });
    const gone = await calculator();
    const goneName = gone.name;
    gone.close();
    calculators = [idle];
    await yard.runtime.stop(0);
    // The new process uses another port, so it can only know them from its memos.
    await openYard({ store });
    const client = await yard.peer();
    client.ask("add_task", { task_id: 5 });
    assert.deepEqual(await client.told(), { status: "success", task_id: 5 });
    assert.ok(idle.polls > 0);
    assert.equal(await isKnown(goneName), false);
  });
});
