// Turns: fair among those with room, blind to those without, right after any coming and going.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { RoundRobin } from "./round-robin.js";

const member = (name: string) => ({ name, slot: -1 });

test("everybody gets a turn, then everybody again", () => {
  const turns = new RoundRobin<ReturnType<typeof member>>();
  for (const name of "abc") turns.add(member(name));
  assert.equal([..."xxxxxx"].map(() => turns.next()?.name).join(""), "abcabc");
});

test("only those with room are chosen, whatever happened before", () => {
  const action = fc.tuple(fc.constantFrom("add", "remove", "full", "ready", "next"), fc.nat(7));
  fc.assert(
    fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
      const turns = new RoundRobin<ReturnType<typeof member>>();
      const members = [..."abcdefgh"].map(member);
      const ready = new Map<string, boolean>();
      for (const [what, index] of actions) {
        const one = members[index] as ReturnType<typeof member>;
        const isIn = ready.has(one.name);
        if (what === "add" && !isIn) {
          turns.add(one);
          ready.set(one.name, true);
        } else if (what === "remove") {
          turns.remove(one);
          ready.delete(one.name);
        } else if (what === "full" && isIn) {
          turns.markFull(one);
          ready.set(one.name, false);
        } else if (what === "ready" && isIn) {
          turns.markReady(one);
          ready.set(one.name, true);
        }
        const open = [...ready].filter(([, hasRoom]) => hasRoom).map(([name]) => name);
        const seen = new Set(open.map(() => turns.next()?.name));
        assert.deepEqual([...seen].sort(), open.sort());
        assert.equal(turns.size, ready.size);
        if (open.length === 0) assert.equal(turns.next(), undefined);
      }
    }),
    { numRuns: 500 },
  );
});
