// Conformance: commits. Order, batch numbers, and that changes are absolute.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change, TaskId } from "@yardmaster/core";
import type { Take } from "./owner.js";
import { loadedAfter } from "./plain-model.js";
import { headOf, keyOf, progressOf, put, settledOf } from "./samples.js";

export function commitTests(take: Take): void {
  test("changes take effect in their order, within a batch and over batches", async () => {
    const owner = await take();
    const paused = { name: "render", paused: true, draining: false };
    await owner.commit(
      { kind: "queue", queue: paused },
      { kind: "queue-gone", name: "render" },
      put(headOf(1)),
      put(progressOf(1, { losses: 1 })),
      put(progressOf(1, { losses: 2 })),
    );
    assert.deepEqual(await owner.load(), loadedAfter(put(headOf(1)), put(progressOf(1, { losses: 2 }))));
    await owner.commit(put(progressOf(1, { losses: 3 })), { kind: "queue", queue: paused });
    await owner.commit(put(progressOf(1, { losses: 4 })));
    const now = [
      put(headOf(1)),
      put(progressOf(1, { losses: 4 })),
      { kind: "queue", queue: paused } as const,
    ];
    assert.deepEqual(await owner.load(), loadedAfter(...now));
  });

  test("an empty batch uses up a batch number", async () => {
    const owner = await take();
    await owner.commit();
    await owner.commit(put(headOf(1)));
    assert.deepEqual(await owner.ids({ limit: 10 }), [1]);
  });

  test("a batch whose number was committed before is not applied again", async () => {
    const owner = await take();
    await owner.commit(put(headOf(1)));
    await owner.commit(put(progressOf(1, { losses: 1 })));
    assert.deepEqual(await owner.again(1, [put(headOf(1))]), { type: "done" });
    // No caller may do this. It shows that the number decides, not the content.
    assert.deepEqual(await owner.again(2, [put(progressOf(1, { losses: 9 }))]), { type: "done" });
    assert.deepEqual(await owner.load(), loadedAfter(put(headOf(1)), put(progressOf(1, { losses: 1 }))));
  });

  test("a batch that skips a number throws and changes nothing; the right one is still committed", async () => {
    const owner = await take();
    await owner.commit(put(headOf(1)));
    await assert.rejects(owner.again(3, [put(headOf(3))]));
    await owner.commit(put(headOf(2)));
    assert.deepEqual(await owner.ids({ limit: 10 }), [2, 1]);
  });

  test("batch numbers start again in each epoch", async () => {
    const first = await take();
    await first.commit(put(headOf(1)));
    await first.commit(put(headOf(2)));
    const second = await take();
    await assert.rejects(second.again(3, [put(headOf(3))]));
    await second.commit(put(headOf(4)));
    assert.deepEqual(await second.ids({ limit: 10 }), [4, 2, 1]);
  });

  test("applying every change twice has the effect of once", async () => {
    const changes: Change[] = [
      put(headOf(1)),
      put(headOf(2)),
      put(settledOf(1, 1)),
      put(settledOf(2, 300)),
      { kind: "key", key: keyOf(1, "k") },
      { kind: "key", key: keyOf(2, "l") },
      { kind: "key-gone", queue: "render", key: "l", task: 2 as TaskId },
      { kind: "queue", queue: { name: "render", paused: true, draining: true } },
      { kind: "door", door: { name: "udp", incarnation: 4, mark: 7 } },
      { kind: "history-trimmed", through: 0 },
    ];
    const owner = await take();
    for (const change of changes) await owner.commit(change, change);
    assert.deepEqual(await owner.load(), loadedAfter(...changes));
    await owner.commit(...changes);
    assert.deepEqual(await owner.load(), loadedAfter(...changes));
  });
}
