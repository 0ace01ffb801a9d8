// The table of transitions: an illegal one throws with the task's whole story.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defaultCoreOptions, defaultQueueSettings } from "./limits.js";
import type { TaskId, WorkerId } from "./names.js";
import { Queue } from "./queue.js";
import { QueueLabels } from "./queue-labels.js";
import type { TaskStateName } from "./records.js";
import { Task } from "./task.js";
import { moveTask } from "./task-states.js";
import { bodyOf } from "./testing/yard-driver.js";
import type { WallTime } from "./time.js";
import { Yard } from "./yard.js";

function taskIn(state: TaskStateName): Task {
  const queue = new Queue("q", defaultQueueSettings, new QueueLabels([]));
  const head = {
    id: 7 as TaskId,
    queue: "q",
    priority: 0,
    door: "x",
    submittedAt: 0 as WallTime,
    payload: bodyOf(0),
    policy: queue.policy,
    key: undefined,
    fingerprint: undefined,
    replyTo: undefined,
    envelope: undefined,
    notBefore: 0 as const,
    expiresAt: 0 as const,
    relations: undefined,
  };
  const task = new Task(head, queue);
  task.state = state;
  return task;
}

const states: TaskStateName[] = ["waiting", "running", "done", "failed", "cancelled", "expired"];
const legal: Readonly<Record<TaskStateName, readonly TaskStateName[]>> = {
  waiting: ["running", "done", "failed", "cancelled", "expired"],
  running: ["waiting", "done", "failed", "cancelled"],
  done: [],
  failed: [],
  cancelled: [],
  expired: [],
};

describe("a task's state", () => {
  const yard = new Yard({ ...defaultCoreOptions, random: () => 0 }, 1);

  for (const from of states) {
    test(`goes from ${from} to ${legal[from].join(", ") || "nowhere"}`, () => {
      for (const to of states) {
        const task = taskIn(from);
        const move = () => moveTask(yard, task, to, "a reason");
        if (legal[from].includes(to)) {
          move();
          assert.equal(task.state, to);
        } else {
          assert.throws(
            move,
            new RegExp(`task 7 cannot go from ${from} to ${to} \\(a reason\\); its story: .*submitted`),
          );
          assert.equal(task.state, from);
        }
      }
    });
  }

  test("is recorded as a story from the first unusual event on", () => {
    const task = taskIn("waiting");
    moveTask(yard, task, "running", "assigned", { attempt: undefined, workerId: "x/w" as WorkerId });
    assert.equal(task.progress().story, undefined);
    moveTask(yard, task, "waiting", "lost: silence");
    moveTask(yard, task, "running", "assigned");
    assert.deepEqual(
      task.story?.map(({ cause }) => cause),
      ["submitted", "lost: silence", "assigned"],
    );
  });
});
