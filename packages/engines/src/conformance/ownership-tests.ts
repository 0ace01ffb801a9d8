// Conformance: ownership of the store. Epochs, what outlives an owner, and fencing.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskId } from "@yardmaster/core";
import { loadedForm, plain, type Take } from "./owner.js";
import { bodyOf, headOf, outOfLine, put, settledOf } from "./samples.js";

export function ownershipTests(take: Take): void {
  test("an empty store loads as nothing", async () => {
    const owner = await take();
    assert.deepEqual(await owner.load(), loadedForm({ tasks: [], others: [], lastTask: 0, lastSettled: 0 }));
    assert.deepEqual(await owner.engine.find({ limit: 10 }), { items: [], cursor: undefined });
    assert.equal(await owner.engine.task(1 as TaskId), undefined);
  });

  test("epochs grow, also where an owner committed nothing or closed", async () => {
    const first = await take();
    const second = await take();
    await second.engine.close();
    const third = await take();
    assert.ok(first.epoch >= 1 && second.epoch > first.epoch && third.epoch > second.epoch);
  });

  test("a commit outlives its owner, whether that crashed or closed", async () => {
    const first = await take();
    await first.commit(put(headOf(1)));
    const second = await take();
    await second.commit(put(headOf(2)));
    await second.engine.close();
    assert.deepEqual(await (await take()).ids({ limit: 10 }), [2, 1]);
  });

  test("a second owner fences the first, whose commits change nothing", async () => {
    const first = await take();
    await first.commit(put(headOf(1)));
    const second = await take();
    const before = await second.load();
    const outcome = await first.offer([put(headOf(2)), put(settledOf(1, 1))]);
    assert.equal(outcome.type, "fenced");
    assert.deepEqual(await second.load(), before);
    assert.deepEqual(await second.ids({ limit: 10 }), [1]);
  });

  test("fencing lasts: the first owner stays out while the second commits and after it closed", async () => {
    const first = await take();
    const second = await take();
    await second.commit(put(headOf(1)));
    assert.equal((await first.offer([put(headOf(2))])).type, "fenced");
    await second.commit(put(headOf(3)));
    await second.engine.close();
    assert.equal((await first.offer([put(headOf(4))])).type, "fenced");
    assert.deepEqual(await (await take()).ids({ limit: 10 }), [3, 1]);
  });

  test("what a fenced owner puts as a body replaces nothing", async () => {
    const [first, second] = [await take(), await take()];
    await second.engine.putBody(1 as TaskId, "payload", bodyOf("mine"));
    await second.commit(put(headOf(1, { payload: outOfLine(bodyOf("mine")) })));
    await first.engine.putBody(1 as TaskId, "payload", bodyOf("ours"));
    assert.deepEqual(await second.body(1, "payload"), plain(bodyOf("mine")));
  });
}
