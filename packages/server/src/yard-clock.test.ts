// The yard's time does not include stalls of the process, wherever in a turn they come.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Instant } from "@yardmaster/core";
import type { Clock } from "./clock.js";
import { YardClock } from "./yard-clock.js";

/** A clock with one timer, and a yard clock whose ticks begin a turn. */
function yardClock(onTick: (yard: YardClock) => void = () => {}) {
  let ms = 1_000;
  let timer: { at: number; work: () => void } | undefined;
  const clock: Clock = {
    instant: () => ms,
    wall: () => ms,
    defer: () => {},
    setTimer: (after, work) => {
      timer = { at: ms + after, work };
      return () => {
        timer = undefined;
      };
    },
  };
  const yard: YardClock = new YardClock(clock, () => onTick(yard));
  return {
    yard,
    pass: (by: number) => {
      ms += by;
    },
    fire: () => {
      const { work } = timer ?? assert.fail("no timer");
      timer = undefined;
      work();
    },
    endTurn: (deadline: number | undefined) => {
      yard.endTurn();
      yard.wakeAt(deadline as Instant | undefined);
    },
  };
}

describe("the yard's clock", () => {
  test("a late timer is a stall", () => {
    const { yard, pass, fire, endTurn } = yardClock();
    endTurn(yard.now().instant + 5_000);
    pass(30_200);
    fire();
    assert.equal(yard.now().instant, 1_200);
    assert.equal(yard.stalledMs, 30_000);
    assert.deepEqual(yard.stalls, [{ at: 1_200, ms: 30_000 }]);
  });

  test("a stall in the turn of a tick, while no timer is set", () => {
    const { yard, pass, fire, endTurn } = yardClock();
    endTurn(yard.now().instant + 5_000);
    pass(200);
    fire();
    pass(30_000);
    endTurn(yard.now().instant + 5_000);
    assert.equal(yard.stalledMs, 30_000);
    assert.equal(yard.now().instant, 1_200);
    pass(200);
    fire();
    assert.equal(yard.now().instant, 1_400);
    assert.equal(yard.stalledMs, 30_000);
  });

  test("a stall in the turn of a tick that sets the timer before it ends counts once", () => {
    const { yard, pass, fire, endTurn } = yardClock((clock) => clock.wakeAt(6_000 as Instant));
    endTurn(yard.now().instant + 5_000);
    pass(200);
    fire();
    pass(30_000);
    endTurn(6_000);
    assert.equal(yard.stalledMs, 30_000);
    fire();
    assert.equal(yard.stalledMs, 30_000);
    assert.equal(yard.now().instant, 1_200);
  });

  test("time without a deadline is no stall", () => {
    const { yard, pass, fire, endTurn } = yardClock();
    endTurn(yard.now().instant + 100);
    pass(100);
    fire();
    endTurn(undefined);
    pass(60_000);
    assert.equal(yard.now().instant, 61_100);
    endTurn(70_000);
    assert.equal(yard.stalledMs, 0);
  });
});
