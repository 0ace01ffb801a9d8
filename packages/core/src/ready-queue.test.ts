// The ready queue alone: order, removal from anywhere, and priorities that are used once and must
// not accumulate.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { defaultQueueSettings } from "./limits.js";
import type { TaskId } from "./names.js";
import { Queue } from "./queue.js";
import { QueueLabels } from "./queue-labels.js";
import { laneOf, ReadyQueue } from "./ready-queue.js";
import type { TaskHead } from "./records.js";
import { Task } from "./task.js";
import { bodyOf } from "./testing/yard-driver.js";
import type { WallTime } from "./time.js";

const queue = new Queue("q", defaultQueueSettings, new QueueLabels([]));

function taskOf(id: number, priority: number): Task {
  const head: TaskHead = {
    id: id as TaskId,
    queue: "q",
    priority,
    door: "x",
    submittedAt: 0 as WallTime,
    payload: bodyOf(0),
    policy: queue.policy,
    key: undefined,
    fingerprint: undefined,
    replyTo: undefined,
    envelope: undefined,
    notBefore: 0,
    expiresAt: 0,
    relations: undefined,
  };
  return new Task(head, queue);
}

describe("a ready queue", () => {
  test("has the order of a list sorted by priority, whatever is pushed at either end or removed", () => {
    const anyMove = fc.record({
      what: fc.constantFrom("last", "last", "first", "remove", "take"),
      priority: fc.integer({ min: -3, max: 3 }),
      which: fc.nat(),
    });
    fc.assert(
      fc.property(fc.array(anyMove, { maxLength: 100, size: "max" }), (moves) => {
        const ready = new ReadyQueue();
        const model: Task[] = [];
        moves.forEach(({ what, priority, which }, id) => {
          const task = taskOf(id, priority);
          const before = model.findIndex(({ head }) => head.priority <= priority);
          const after = model.findIndex(({ head }) => head.priority < priority);
          if (what === "first") {
            ready.pushFirst(task);
            model.splice(before < 0 ? model.length : before, 0, task);
          } else if (what === "last") {
            ready.pushLast(task);
            model.splice(after < 0 ? model.length : after, 0, task);
          } else {
            const [gone] = model.splice(what === "take" ? 0 : which % Math.max(1, model.length), 1);
            if (gone !== undefined) laneOf(gone)?.leave(gone, false);
          }
          assert.equal(ready.size, model.length);
          assert.equal(ready.first(), model[0]);
        });
      }),
    );
  });

  test("keeps no list for every priority that ever passed", () => {
    const ready = new ReadyQueue();
    ready.pushLast(taskOf(0, 1_000_000));
    for (let id = 1; id < 10_000; id += 1) {
      const task = taskOf(id, id);
      ready.pushLast(task);
      laneOf(task)?.leave(task, false);
    }
    assert.ok(ready.priorities < 100, `${ready.priorities} lists for one task`);
    assert.equal(ready.first()?.head.id, 0);
  });
});
