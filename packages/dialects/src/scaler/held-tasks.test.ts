import assert from "node:assert/strict";
import { test } from "node:test";
import type { AttemptNumber, TaskId } from "@yardmaster/core";
import fc from "fast-check";
import { Held, HeldTasks } from "./held-tasks.js";

test("what is held is found by its id and by its number", () => {
  const steps = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 60 })), { maxLength: 200 });
  fc.assert(
    fc.property(steps, (list) => {
      const held = new HeldTasks();
      const model = new Map<number, Held>();
      for (const [isAdded, number] of list) {
        const known = model.get(number);
        if (isAdded && known === undefined) {
          const bytes = Buffer.from(`<${number}>`);
          const place = { hash: number % 7, bytes, from: 1, to: bytes.length - 1 };
          const one = new Held(number as TaskId, 1 as AttemptNumber, undefined, place);
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
      held.clear();
      assert.equal(held.size, 0);
      assert.equal(held.ofTask(1 as TaskId), undefined);
    }),
  );
});
