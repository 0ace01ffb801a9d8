import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Fifo } from "./fifo.js";

describe("a fifo", () => {
  test("gives back in order what it was given, also across its compacting", () => {
    const fifo = new Fifo<number>();
    let pushed = 0;
    let shifted = 0;
    for (let round = 0; round < 50; round += 1) {
      for (let count = 0; count < 130; count += 1) fifo.push(pushed++);
      for (let count = 0; count < 120; count += 1) assert.equal(fifo.shift(), shifted++);
      assert.deepEqual([fifo.first(), fifo.last(), fifo.size], [shifted, pushed - 1, pushed - shifted]);
    }
    assert.deepEqual(
      [...fifo],
      Array.from({ length: 500 }, (_, index) => shifted + index),
    );
    while (fifo.size > 0) assert.equal(fifo.shift(), shifted++);
    assert.deepEqual([fifo.shift(), fifo.first(), fifo.last()], [undefined, undefined, undefined]);
  });

  test("sorts what it holds", () => {
    const fifo = new Fifo<number>();
    for (const item of [9, 3, 1, 2]) fifo.push(item);
    fifo.shift();
    fifo.sort((one, other) => one - other);
    assert.deepEqual([...fifo], [1, 2, 3]);
  });
});
