import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { labelledQueuesMax, otherQueues, QueueLabels } from "./queue-labels.js";

describe("labels of queues", () => {
  test("the first queues keep labels of their own, and configured queues come first", () => {
    const labels = new QueueLabels(["configured"]);
    for (let n = 1; n < labelledQueuesMax; n++) assert.equal(labels.take(`q${n}`), `q${n}`);
    assert.equal(labels.take("late"), otherQueues);
    assert.equal(labels.take("configured"), "configured");
    assert.equal(labels.take("q1"), "q1");
    assert.equal(labels.take("late"), otherQueues);
  });
});
