import assert from "node:assert/strict";
import { test } from "node:test";
import type { Instant, Moment } from "@yardmaster/core";
import fc from "fast-check";
import { Recent } from "./recent.js";
import { Retransmissions } from "./retransmission.js";

const at = (ms: number) => ({ instant: ms as Instant, wall: ms }) as Moment;

function started() {
  const log: string[] = [];
  const retransmissions = new Retransmissions<string>(
    { sends: 3, everyMs: 50 },
    {
      sendAgain: (message) => log.push(`again ${message}`),
      giveUp: ({ message }) => log.push(`up ${message}`),
    },
  );
  return { log, retransmissions };
}

test("what is not acknowledged is sent a set number of times, at a set interval, and then given up", () => {
  const { log, retransmissions } = started();
  const sent = retransmissions.sent(7, "m", at(0));
  retransmissions.handleTimeout(at(49));
  assert.deepEqual([log, retransmissions.nextDeadline()], [[], 50]);
  for (const ms of [50, 50, 100]) retransmissions.handleTimeout(at(ms));
  assert.deepEqual(log, ["again m", "again m"]);
  retransmissions.handleTimeout(at(150));
  assert.deepEqual(log, ["again m", "again m", "up m"]);
  assert.deepEqual([retransmissions.size, retransmissions.nextDeadline()], [0, undefined]);
  assert.deepEqual([retransmissions.find(7), retransmissions.close(sent)], [undefined, false]);
});

test("a message is acknowledged once, and then not sent again", () => {
  const { log, retransmissions } = started();
  const one = retransmissions.sent(1, "1", at(0));
  // This number falls into the same slot of the table.
  retransmissions.sent(257, "2", at(10));
  retransmissions.handleTimeout(at(55));
  assert.equal(retransmissions.find(1), one);
  assert.deepEqual([retransmissions.close(one), one.message, one.sends], [true, "1", 2]);
  assert.deepEqual([retransmissions.find(1), retransmissions.close(one)], [undefined, false]);
  assert.equal(retransmissions.find(257)?.message, "2");
  retransmissions.handleTimeout(at(1_000));
  assert.deepEqual(log, ["again 1", "again 2"]);
});

test("however many are open, each is found by its number, and those that are due are sent in order", () => {
  // Numbers as real peers choose them: the clock's milliseconds, plus one if two fall into the same
  // millisecond.
  const numbers = fc.uniqueArray(fc.integer({ min: 1.7e12, max: 1.7e12 + 5_000 }), { maxLength: 1_500 });
  fc.assert(
    fc.property(numbers, fc.infiniteStream(fc.boolean()), (ids, isClosed) => {
      const { log, retransmissions } = started();
      const open = new Set(ids);
      for (const id of ids) retransmissions.sent(id, String(id), at(0));
      for (const id of ids) {
        const sent = retransmissions.find(id);
        assert.equal(sent?.id, id);
        if (isClosed.next().value && sent !== undefined) {
          retransmissions.close(sent);
          open.delete(id);
        }
      }
      assert.equal(retransmissions.size, open.size);
      retransmissions.handleTimeout(at(50));
      assert.deepEqual(
        log,
        [...open].map((id) => `again ${id}`),
      );
      for (const id of ids) assert.equal(retransmissions.find(id)?.id, open.has(id) ? id : undefined);
    }),
    { numRuns: 50 },
  );
});

test("beyond its size the oldest entry is forgotten", () => {
  const recent = new Recent<string, number>(2);
  for (const [index, key] of ["a", "b", "a", "c"].entries()) recent.set(key, index);
  assert.deepEqual([recent.get("a"), recent.get("b"), recent.get("c"), recent.size], [2, undefined, 3, 2]);
  recent.delete("a");
  assert.equal(recent.has("a"), false);
});
