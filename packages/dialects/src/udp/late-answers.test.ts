import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskHead } from "@yardmaster/core";
import { LateAnswers, type TaskSearch } from "./late-answers.js";
import type { TaskNames } from "./messages.js";
import { DoorEnd, packetOf, taskHead } from "./testing/door-end.js";

const minuteMs = 60_000;
const five = taskHead({ id: 3, client: "10.9.9.9:99", taskId: 5 });

/** A door's end with late answers, whose store has these tasks. */
function lateAnswers(...stored: readonly TaskHead[]) {
  const end = new DoorEnd();
  const asked: (TaskSearch | number)[] = [];
  const faults: string[] = [];
  const late = new LateAnswers(
    { door: "udp", queue: "q" },
    {
      readTask: (id, take) => {
        asked.push(id);
        take(stored.find((head) => head.id === id));
      },
      findTasks: (search, take) => {
        asked.push(search);
        take(stored);
      },
      fault: (kind, peer) => faults.push(`${kind} ${peer}`),
    },
  );
  late.opened(end.moment);
  const calculator = end.calculator();
  const complete = (names: TaskNames) =>
    late.completed(calculator, names, packetOf("completed_task", {}, 1, 1), end.moment);
  return { end, asked, faults, late, calculator, complete };
}

test("[udp 3.9] the answer to a lost task goes to the core, by either of its names", () => {
  const { end, asked, late, calculator, complete } = lateAnswers();
  const held = { task: taskHead({ id: 4 }).id, attempt: undefined, taskId: 5, uuid: "10.9.9.9:99:5" };
  late.remember(calculator, held);
  complete({ uuid: undefined, taskId: 5 });
  complete({ uuid: "10.9.9.9:99:5", taskId: undefined });
  assert.deepEqual(
    end.takePosted().filter((line) => line.startsWith("done")),
    ["done 4  of before", "done 4  of before"],
  );
  assert.deepEqual(asked, []);
});

test("[udp 3.9] an unknown task is looked up for a minute after the start, and not later", () => {
  const { end, asked, faults, calculator, complete } = lateAnswers(five);
  complete({ uuid: "0.0.0.0:0:3", taskId: undefined });
  complete({ uuid: undefined, taskId: 5 });
  complete({ uuid: "10.9.9.9:99:5", taskId: undefined });
  assert.deepEqual(asked, [
    3,
    { worker: calculator.id, limit: 16 },
    { queue: "q", text: "udp:10.9.9.9:99:5", limit: 1 },
  ]);
  assert.deepEqual(
    end.takePosted().filter((line) => line.startsWith("done")),
    ["done 3  of before", "done 3  of before", "done 3  of before"],
  );
  end.now += minuteMs;
  complete({ uuid: "0.0.0.0:0:3", taskId: undefined });
  assert.deepEqual([asked.length, faults], [3, ["not_its_task 10.0.0.1:7000"]]);
});

test("[udp 3.4] a task that is not found is not the calculator's", () => {
  const { end, faults, complete } = lateAnswers();
  complete({ uuid: "0.0.0.0:0:3", taskId: undefined });
  assert.deepEqual(faults, ["not_its_task 10.0.0.1:7000"]);
  assert.deepEqual(
    end.takePosted().filter((line) => line.startsWith("done")),
    [],
  );
});
