import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Deadline, Deadlines } from "./deadlines.js";
import type { Instant } from "./time.js";

describe("deadlines", () => {
  test("come in the order of a sorted list, whatever is armed, moved and disarmed", () => {
    const anyMove = fc.record({
      which: fc.nat(15),
      at: fc.nat(50),
      what: fc.constantFrom("arm", "arm", "disarm", "take"),
    });
    fc.assert(
      fc.property(fc.array(anyMove, { maxLength: 200, size: "max" }), (moves) => {
        const deadlines = new Deadlines<number>();
        const all = Array.from({ length: 16 }, (_, index) => new Deadline(index));
        const model = new Map<number, number>();
        for (const { which, at, what } of moves) {
          const deadline = all[which] as Deadline<number>;
          if (what === "arm") {
            deadlines.arm(deadline, at as Instant);
            model.set(which, at);
          } else if (what === "disarm") {
            deadlines.disarm(deadline);
            model.delete(which);
          } else {
            const due = deadlines.takeDue(at as Instant);
            const first = Math.min(...model.values());
            if (due === undefined) assert.ok(first > at);
            else assert.equal(model.get(due.subject), first);
            if (due !== undefined) model.delete(due.subject);
          }
          assert.equal(deadlines.size, model.size);
          assert.equal(deadlines.next(), model.size === 0 ? undefined : Math.min(...model.values()));
          for (const each of all) assert.equal(each.isArmed, model.has(each.subject));
        }
      }),
    );
  });
});
