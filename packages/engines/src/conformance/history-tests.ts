// Conformance: history. Segments and their sums, and what a trim evicts.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Change,
  historyLaneSegments,
  historySegmentSize,
  storedBytes,
  type TaskId,
} from "@yardmaster/core";
import { loadedForm, type Take } from "./owner.js";
import { loadedAfter } from "./plain-model.js";
import { bodyOf, headOf, progressOf, put, settledOf, submittedAt } from "./samples.js";

export function historyTests(take: Take): void {
  /** Tasks 1 to count, settled in this order; the first finished last. */
  const settle = (count: number): Change[] =>
    Array.from({ length: count }, (_, index) => index + 1).flatMap((id) => [
      put(headOf(id)),
      put(settledOf(id, id, id === 1 ? { finishedAt: submittedAt(10_000) } : {})),
    ]);

  test("segments carry count, bytes and the time of the last finish", async () => {
    const owner = await take();
    await owner.commit(...settle(historySegmentSize + 2));
    const segments: unknown[] = [];
    await (await take()).engine.load((item) => item.type === "segment" && segments.push(item.segment));
    const bytes = (id: number) => storedBytes(headOf(id), bodyOf("ok"));
    const first = Array.from({ length: historySegmentSize }, (_, index) => bytes(index + 1));
    assert.deepEqual(segments, [
      {
        index: 0,
        count: historySegmentSize,
        bytes: first.reduce((sum, one) => sum + one, 0),
        lastFinishedAt: submittedAt(10_000),
      },
      {
        index: 1,
        count: 2,
        bytes: bytes(historySegmentSize + 1) + bytes(historySegmentSize + 2),
        lastFinishedAt: submittedAt(historySegmentSize + 2) + 500,
      },
    ]);
  });

  test("a trim takes every settled task of its segments and nothing else", async () => {
    const owner = await take();
    await owner.commit(...settle(historySegmentSize + 2));
    await owner.commit(put(headOf(500)), put(headOf(501)), put(progressOf(501, { state: "done" })));
    await owner.commit({ kind: "history-trimmed", through: 0 });
    const kept = [501, 500, historySegmentSize + 2, historySegmentSize + 1];
    for (const reader of [owner, await take()]) {
      assert.deepEqual(await reader.ids({ limit: 3 }), kept);
      assert.equal(await reader.engine.task(1 as TaskId), undefined);
      assert.equal(await reader.engine.body(1 as TaskId, "payload"), undefined);
      assert.equal(await reader.engine.body(1 as TaskId, "result"), undefined);
      assert.deepEqual(await reader.ids({ limit: 10, text: "1" }), []);
    }
  });

  test("the last id and the last place in history outlive their tasks", async () => {
    const owner = await take();
    await owner.commit(put(headOf(8)), put(settledOf(8, 600)), { kind: "history-trimmed", through: 2 });
    const nothing = { tasks: [], others: [] };
    assert.deepEqual(await (await take()).load(), loadedForm({ ...nothing, lastTask: 8, lastSettled: 600 }));
  });

  test("a trim beyond the last segment, of nothing, or of a trimmed segment does no harm", async () => {
    const owner = await take();
    await owner.commit({ kind: "history-trimmed", through: 5 }, put(headOf(1)), put(settledOf(1, 1)));
    await owner.commit({ kind: "history-trimmed", through: 9 }, { kind: "history-trimmed", through: 0 });
    await owner.commit(put(headOf(2)), put(settledOf(2, 2)));
    assert.deepEqual(await (await take()).ids({ limit: 10 }), [2]);
  });

  test("a trim spares tasks that settle in its segments later", async () => {
    const owner = await take();
    await owner.commit(put(headOf(1)));
    await owner.commit({ kind: "history-trimmed", through: 0 }, put(settledOf(1, 12)));
    // Others follow, so that an engine that reads ahead finds something.
    for (const id of [2, 3]) await owner.commit(put(headOf(id)));
    for (const reader of [owner, await take()]) assert.deepEqual(await reader.ids({ limit: 10 }), [3, 2, 1]);
  });

  test("a trim spares a task that is unsettled before it and settles in the same place after it", async () => {
    const owner = await take();
    await owner.commit(put(headOf(1)), put(settledOf(1, 262)));
    const again = await take();
    await again.commit(put(progressOf(1)), { kind: "history-trimmed", through: 1 }, put(settledOf(1, 262)));
    for (const reader of [again, await take()]) assert.deepEqual(await reader.ids({ limit: 10 }), [1]);
  });

  test("a trim takes tasks of its own lane only, and each lane has its own last place", async () => {
    const owner = await take();
    const lane = historyLaneSegments * historySegmentSize;
    const changes = [
      ...settle(3),
      ...[4, 5, 6].flatMap((id) => [put(headOf(id)), put(settledOf(id, lane + id - 3))]),
      ...[7, 8].flatMap((id) => [put(headOf(id)), put(settledOf(id, 3 * lane + id))]),
    ];
    await owner.commit(...changes);
    assert.deepEqual(await (await take()).load(), loadedAfter(...changes));
    // Without a clean end: what the index lacks is made again from every lane.
    const second = await take();
    assert.deepEqual(await second.ids({ limit: 10 }), [8, 7, 6, 5, 4, 3, 2, 1]);
    assert.deepEqual(await second.ids({ limit: 10, state: "done" }), [8, 7, 6, 5, 4, 3, 2, 1]);
    await second.commit({ kind: "history-trimmed", through: historyLaneSegments });
    assert.deepEqual(await second.ids({ limit: 10 }), [8, 7, 3, 2, 1]);
    await second.commit({ kind: "history-trimmed", through: 0 });
    const third = await take();
    assert.deepEqual(await third.ids({ limit: 10 }), [8, 7]);
    const trims = [historyLaneSegments, 0].map((through): Change => ({ kind: "history-trimmed", through }));
    assert.deepEqual(await third.load(), loadedAfter(...changes, ...trims));
  });

  test("progress that comes after the trim brings nothing back", async () => {
    const owner = await take();
    await owner.commit(put(headOf(1)), put(settledOf(1, 1)), { kind: "history-trimmed", through: 0 });
    const before = await owner.load();
    await owner.commit(put(settledOf(1, 1)));
    await owner.commit(put(progressOf(1)));
    // The owner reads before the next one takes over: a deposed owner may not load.
    for (const next of [() => owner, take]) {
      const reader = await next();
      assert.deepEqual(await reader.load(), before);
      assert.equal(await reader.engine.task(1 as TaskId), undefined);
      assert.deepEqual(await reader.ids({ limit: 10 }), []);
    }
  });

  test("a settled task that is put as unsettled, or elsewhere, is where the last put says", async () => {
    const owner = await take();
    const changes = [...settle(3), put(progressOf(1)), put(settledOf(3, 700))];
    await owner.commit(...changes);
    assert.deepEqual(await (await take()).load(), loadedAfter(...changes));
  });
}
