import assert from "node:assert/strict";
import { test } from "node:test";
import type { Instant, Moment } from "@yardmaster/core";
import { Recent } from "./recent.js";
import { Retransmissions } from "./retransmission.js";

const at = (ms: number) => ({ instant: ms as Instant, wall: ms }) as Moment;

function started() {
  const log: string[] = [];
  const retransmissions = new Retransmissions<string>(
    { sends: 3, everyMs: 50 },
    { sendAgain: (message) => log.push(`again ${message}`), giveUp: (message) => log.push(`up ${message}`) },
  );
  return { log, retransmissions };
}

test("what is not acknowledged is sent so often, so far apart, and then given up", () => {
  const { log, retransmissions } = started();
  retransmissions.sent("k", "m", at(0));
  retransmissions.handleTimeout(at(49));
  assert.deepEqual([log, retransmissions.nextDeadline()], [[], 50]);
  for (const ms of [50, 50, 100]) retransmissions.handleTimeout(at(ms));
  assert.deepEqual(log, ["again m", "again m"]);
  retransmissions.handleTimeout(at(150));
  assert.deepEqual(log, ["again m", "again m", "up m"]);
  assert.deepEqual([retransmissions.size, retransmissions.nextDeadline()], [0, undefined]);
  assert.equal(retransmissions.acknowledge("k"), undefined);
});

test("what is acknowledged is not sent again, and only once acknowledged", () => {
  const { log, retransmissions } = started();
  retransmissions.sent("one", "1", at(0));
  retransmissions.sent("two", "2", at(10));
  retransmissions.handleTimeout(at(55));
  const { message, sends } = retransmissions.acknowledge("one") ?? {};
  assert.deepEqual([message, sends], ["1", 2]);
  assert.equal(retransmissions.acknowledge("one"), undefined);
  retransmissions.handleTimeout(at(1_000));
  assert.deepEqual(log, ["again 1", "again 2"]);
});

test("of what is known lately the oldest is forgotten", () => {
  const recent = new Recent<string, number>(2);
  for (const [index, key] of ["a", "b", "a", "c"].entries()) recent.set(key, index);
  assert.deepEqual([recent.get("a"), recent.get("b"), recent.get("c"), recent.size], [2, undefined, 3, 2]);
  recent.delete("a");
  assert.equal(recent.has("a"), false);
});
