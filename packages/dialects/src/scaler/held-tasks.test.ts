import assert from "node:assert/strict";
import { test } from "node:test";
import type { AttemptNumber, TaskId } from "@yardmaster/core";
import fc from "fast-check";
import { HeldAttempt, HeldTasks } from "./held-tasks.js";
import { idBytes } from "./packed-messages.js";

test("a held task is found by its id and by its number", () => {
  const steps = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 60 })), { maxLength: 200 });
  fc.assert(
    fc.property(steps, (list) => {
      const held = new HeldTasks();
      const model = new Map<number, HeldAttempt>();
      for (const [isAdded, number] of list) {
        const known = model.get(number);
        if (isAdded && known === undefined) {
          const bytes = Buffer.from(`<${number}>`);
          const id = { bytes, taskAt: 1, taskEnd: bytes.length - 1 };
          const one = new HeldAttempt(number as TaskId, 1 as AttemptNumber, undefined, number % 7, id);
          held.add(one);
          model.set(number, one);
        } else if (!isAdded && known !== undefined) {
          held.delete(known);
          model.delete(number);
        }
        assert.equal(held.size, model.size);
      }
      for (let number = 1; number <= 60; number++) {
        const id = Buffer.from(`${number}`);
        assert.equal(held.ofTask(number as TaskId), model.get(number));
        assert.equal(held.get(number % 7, id, 0, id.length), model.get(number));
        assert.equal(model.get(number)?.id.toString(), model.has(number) ? `${number}` : undefined);
      }
      assert.deepEqual(new Set(held.values()), new Set(model.values()));
      held.clear();
      assert.equal(held.size, 0);
      assert.equal(held.ofTask(1 as TaskId), undefined);
    }),
  );
});

test("their order does not depend on the hashes of their ids", () => {
  const orderWith = (hashes: readonly number[]) => {
    const held = new HeldTasks();
    hashes.forEach((hash, index) => {
      const bytes = Buffer.from(`${index}`);
      held.add(new HeldAttempt((index + 1) as TaskId, 1 as AttemptNumber, undefined, hash, idBytes(bytes)));
    });
    return [...held.values()].map(({ task }) => task);
  };
  assert.deepEqual(orderWith([5, 1, 3, 2]), orderWith([2, 3, 1, 5]));
});
