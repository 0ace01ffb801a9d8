// Urgent tasks may exceed a full worker's slots, because the tasks it holds may wait for them.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { YardDriver } from "./testing/yard-driver.js";
import { UrgencyEntry, UrgencyOrder } from "./urgency-order.js";

const nested = { slots: 2, runsAtOnce: 1, acceptsUrgentOverflow: true };

describe("a full worker", () => {
  test("takes a task more urgent than all it holds, one for each priority, and no other", () => {
    const yard = new YardDriver();
    yard.join("w", nested);
    for (let count = 0; count < 3; count += 1) yard.submit();
    assert.deepEqual(yard.submit({ priority: 1 }), ["assign 4 to w as 1.3"]);
    assert.deepEqual(yard.submit({ priority: 1 }), []);
    assert.deepEqual(yard.submit({ priority: 2 }), ["assign 6 to w as 1.4"]);
    assert.equal(yard.worker("w")?.running, 4);
  });

  test("takes the next of them when the last is done, and ordinary ones only when it has room", () => {
    const yard = new YardDriver();
    yard.join("w", nested);
    for (let count = 0; count < 3; count += 1) yard.submit();
    yard.submit({ priority: 1 });
    yard.submit({ priority: 1 });
    assert.deepEqual(yard.done("w", 4), ["assign 5 to w as 1.4"]);
    assert.deepEqual(yard.done("w", 5), []);
    assert.deepEqual(yard.done("w", 1), ["assign 3 to w as 1.5"]);
  });

  test("is passed over while another has room, and the one with the least urgent goes first", () => {
    const yard = new YardDriver();
    yard.join("a", { ...nested, slots: 1 });
    yard.submit({ priority: 1 });
    yard.join("b", { ...nested, slots: 1 });
    yard.submit();
    yard.join("c", { slots: 1 });
    assert.deepEqual(yard.submit({ priority: 2 }), ["assign 3 to c as 1.3"]);
    assert.deepEqual(yard.submit({ priority: 2 }), ["assign 4 to b as 1.4"]);
    assert.deepEqual(yard.submit({ priority: 2 }), ["assign 5 to a as 1.5"]);
    assert.deepEqual(yard.submit({ priority: 2 }), []);
  });

  test("that did not ask for urgent tasks gets no more than its slots", () => {
    const yard = new YardDriver();
    yard.join("w", { slots: 1 });
    yard.submit();
    assert.deepEqual(yard.submit({ priority: 9 }), []);
  });

  test("gets nothing while its queue is paused, and then what waited", () => {
    const yard = new YardDriver();
    yard.join("w", { ...nested, slots: 1 });
    yard.submit();
    yard.post("x", { type: "queue-order-given", queue: "q", order: "pause" });
    assert.deepEqual(yard.submit({ priority: 1 }), []);
    assert.deepEqual(yard.post("x", { type: "queue-order-given", queue: "q", order: "resume" }), [
      "assign 2 to w as 1.2",
    ]);
  });
});

test("parents that fill every slot never keep their children from running, however deep", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 5 }), (workers, depth) => {
      const yard = new YardDriver();
      for (let index = 0; index < workers; index += 1) yard.join(`w${index}`, { ...nested, slots: 1 });
      // Each task waits for its own child; only the deepest can finish by itself.
      for (let level = 0; level < depth; level += 1)
        for (let index = 0; index < workers; index += 1) yard.submit({ priority: level });
      const holders = new Map<number, string>();
      for (let task = 1; task <= workers * depth; task += 1) {
        const worker = yard.stored(task).progress?.worker;
        assert.ok(worker, `task ${task} runs nowhere`);
        holders.set(task, worker.slice(2));
      }
    }),
  );
});

test("the order by urgency gives the least urgent first, as a sorted list would", () => {
  const operation = fc.record({
    entry: fc.nat({ max: 9 }),
    priority: fc.option(fc.integer({ min: -3, max: 3 })),
  });
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
      const order = new UrgencyOrder<number>();
      const entries = Array.from({ length: 10 }, (_, index) => new UrgencyEntry(index));
      const model = new Map<number, number>();
      for (const { entry: index, priority } of operations) {
        const entry = entries[index] as UrgencyEntry<number>;
        if (priority === null) {
          if (entry.order !== undefined) order.remove(entry);
          model.delete(index);
        } else {
          order.put(entry, priority);
          model.set(index, priority);
        }
        const lowest = Math.min(...model.values());
        for (let asked = -4; asked <= 4; asked += 1) {
          const found = order.below(asked);
          assert.equal(found !== undefined, lowest < asked);
          if (found !== undefined) assert.equal(model.get(found), lowest);
        }
      }
    }),
  );
});
