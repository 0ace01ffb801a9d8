import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Instant, WallTime, WorkerId } from "@yardmaster/core";
import { Faults } from "./door-kit/faults.js";
import { Tap } from "./door-kit/tap.js";
import { Metrics } from "./metrics.js";
import { DoorYard } from "./testing/door-yard.js";
import { HandDoor } from "./testing/hand-door.js";
import { patience } from "./testing/patience.js";

describe("the metrics", patience, () => {
  const yard = new DoorYard("test", { workersMax: 2000 });
  const other = new HandDoor(yard.runtime.port("other"));
  const tap = new Tap();
  const metrics = new Metrics();
  before(async () => {
    yard.attach(other);
    metrics.watchRuntime(yard.runtime);
    metrics.watchTap(tap);
    metrics.watchFaults(
      "test",
      new Faults(
        () => {},
        () => ({ instant: 0 as Instant, wall: 0 as WallTime }),
      ),
    );
    await yard.runtime.start();
  });
  after(() => yard.runtime.stop(0));

  /** The values of a metric, without its name and help. */
  async function lines(name: string): Promise<string[]> {
    const text = await metrics.render();
    const prefix = `yardmaster_${name}`;
    return text.split("\n").flatMap((line) => (line.startsWith(prefix) ? [line.slice(prefix.length)] : []));
  }

  test("say how queues and workers stand", async () => {
    const first = await yard.hand.submit("q", "abc");
    assert.deepEqual(await lines("waiting{"), ['queue="q",reason="no_worker"} 1']);
    assert.deepEqual(await lines("waiting_bytes"), ['{queue="q"} 3']);
    assert.match(String(await lines("oldest_waiting_seconds")), /^\{queue="q"\} [\d.]+$/);
    yard.hand.join("hand/w", "q");
    const held = await yard.hand.next("assign");
    assert.equal(held.task.id, first);
    assert.deepEqual(await lines("running{"), ['queue="q"} 1']);
    assert.deepEqual(await lines("oldest_waiting_seconds"), []);
    assert.deepEqual(await lines("workers{"), ['door="hand",state="busy"} 1']);
    assert.deepEqual(await lines("worker_running{"), ['door="hand",worker="hand/w"} 1']);
    assert.deepEqual(await lines("worker_slots{"), ['door="hand",worker="hand/w"} 1']);
    assert.deepEqual(await lines("queue_workers{"), ['queue="q"} 1']);
    yard.hand.done(held, { mediaType: "text/plain", size: 0, bytes: new Uint8Array() });
    await yard.finished(first);
    assert.deepEqual(await lines("outcomes_total{"), ['queue="q",state="done"} 1']);
    assert.deepEqual(await lines("submitted_total{"), ['queue="q"} 1']);
    yard.hand.post({ type: "worker-left", worker: "hand/w" as WorkerId, reason: "goodbye" });
    assert.deepEqual(await lines("workers{"), ['door="hand",state="lost"} 1']);
    assert.deepEqual(await lines("worker_running{"), []);
  });

  test("count messages and their bytes", async () => {
    tap.count("udp", "in", "job", 10);
    tap.count("udp", "in", "job", 5);
    assert.deepEqual(await lines("messages_total{"), ['door="udp",direction="in",type="job"} 2']);
    assert.deepEqual(await lines("message_bytes_total{"), ['door="udp",direction="in",type="job"} 15']);
  });

  test("say how long commits take", async () => {
    for (const ms of [0.05, 0.05, 30, 60_000]) metrics.committed(ms);
    const text = await lines("commit_seconds");
    assert.ok(text.includes('_bucket{le="0.0001"} 2'), String(text));
    assert.ok(text.includes('_bucket{le="0.05"} 3'));
    assert.ok(text.includes('_bucket{le="5"} 3'));
    assert.ok(text.includes('_bucket{le="+Inf"} 4'));
    assert.ok(text.includes("_count 4"));
    assert.match(String(text.find((line) => line.startsWith("_sum"))), /^_sum 60\.03/);
  });

  test("a queue that is forgotten keeps its counts", async () => {
    const counts = async () => [await count("submitted_total", "q"), await count("outcomes_total", "q")];
    for (let n = 2; n <= 3; n++) {
      const task = await yard.hand.submit("q", "x");
      yard.hand.post({ type: "cancel-asked", task, by: "test" });
      await yard.finished(task);
      assert.ok(!yard.runtime.core.view.queues().some(({ name }) => name === "q"));
      assert.deepEqual(await counts(), [n, n]);
    }
  });

  test("name so many queues and workers and sum up the rest", async () => {
    for (let n = 0; n < 1005; n++) await yard.hand.submit(`queue-${n}`, "x");
    for (let n = 0; n < 1005; n++) yard.hand.join(`hand/${n}`, "busy");
    for (const name of ["waiting{", "running{", "submitted_total{", "worker_slots{", "waiting_bytes{"]) {
      const all = await lines(name);
      assert.ok(all.length <= 1001 && all.length >= 1000, `${name} ${all.length}`);
      assert.equal(all.filter((line) => line.includes('"(other)"')).length, 1, name);
    }
    const [rest] = (await lines("submitted_total{")).filter((line) => line.includes("other"));
    assert.match(String(rest), / [5-7]$/);
  });

  test("a queue beyond those named stays in the sum, and no count ever falls", async () => {
    const others = await count("submitted_total", "(other)");
    const named = await count("submitted_total", "queue-0");
    for (const queue of ["queue-0", "queue-1", "queue-2"]) await cancelAll(queue);
    const late = await yard.hand.submit("late", "x");
    assert.equal(await count("submitted_total", "late"), 0);
    assert.equal(await count("submitted_total", "(other)"), others + 1);
    assert.equal(await count("waiting", "late"), 0);
    yard.hand.post({ type: "cancel-asked", task: late, by: "test" });
    await yard.finished(late);
    assert.equal(await count("submitted_total", "(other)"), others + 1);
    assert.equal(await count("outcomes_total", "(other)"), 1);
    await yard.hand.submit("queue-0", "x");
    assert.equal(await count("submitted_total", "queue-0"), named + 1);
  });

  test("the oldest task of the queues without a name of their own has an age, too", async () => {
    const ages = await lines("oldest_waiting_seconds{");
    assert.equal(ages.filter((line) => line.startsWith('queue="(other)"')).length, 1);
    // The age of the oldest task, not the sum of ages.
    const age = Number(ages.find((line) => line.startsWith('queue="(other)"'))?.split(" ")[1]);
    const all = ages.map((line) => Number(line.split(" ")[1]));
    assert.ok(age <= Math.max(...all), `${age}`);
  });

  /** The sum of a metric's values for one queue. */
  async function count(name: string, queue: string): Promise<number> {
    const ofQueue = (await lines(`${name}{`)).filter((line) => line.startsWith(`queue="${queue}"`));
    return ofQueue.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  }

  async function cancelAll(queue: string): Promise<void> {
    const { items } = await yard.port.reads.find({ queue, state: "waiting", limit: 100 });
    for (const { head } of items) {
      yard.hand.post({ type: "cancel-asked", task: head.id, by: "test" });
      await yard.finished(head.id);
    }
  }
});
