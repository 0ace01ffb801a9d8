import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inOrder, noticingPauses } from "./in-order.js";

describe("work for many items", () => {
  test("has results in order, however long each item takes, and reads no more than a set number ahead", async () => {
    let read = 0;
    let taken = 0;
    let ahead = 0;
    function* items() {
      for (let index = 0; index < 50; index += 1) {
        read += 1;
        ahead = Math.max(ahead, read - taken);
        yield index;
      }
    }
    const outcomes: number[] = [];
    for await (const outcome of inOrder(items(), 4, async (item) => {
      for (let turn = 0; turn < (item * 7) % 5; turn += 1) await Promise.resolve();
      return item * 2;
    })) {
      outcomes.push(outcome);
      taken += 1;
    }
    assert.deepEqual(
      outcomes,
      Array.from({ length: 50 }, (_, index) => index * 2),
    );
    assert.equal(ahead, 4);
  });

  test("an outcome does not wait for the next item of a slow source", async () => {
    let give = () => {};
    async function* items() {
      yield 1;
      await new Promise<void>((resolve) => {
        give = resolve;
      });
      yield 2;
    }
    const outcomes = inOrder(items(), 4, async (item) => item * 10);
    assert.deepEqual(await outcomes.next(), { value: 10, done: false });
    give();
    assert.deepEqual(await outcomes.next(), { value: 20, done: false });
    assert.equal((await outcomes.next()).done, true);
  });

  test("a source that pauses is noticed once for each pause", async () => {
    let give = () => {};
    async function* items() {
      yield 1;
      await new Promise<void>((resolve) => {
        give = resolve;
      });
      yield 2;
    }
    const seen = noticingPauses(items(), 5);
    assert.equal((await seen.next()).value, 1);
    assert.equal((await seen.next()).value, undefined);
    give();
    assert.equal((await seen.next()).value, 2);
    assert.equal((await seen.next()).done, true);
  });

  test("a failure is thrown in its place, and later failures are ignored", async () => {
    const outcomes: number[] = [];
    await assert.rejects(async () => {
      for await (const outcome of inOrder([1, 2, 3, 4], 3, async (item) => {
        if (item > 1) throw new Error(`no ${item}`);
        return item;
      })) {
        outcomes.push(outcome);
      }
    }, /no 2/);
    assert.deepEqual(outcomes, [1]);
  });
});
