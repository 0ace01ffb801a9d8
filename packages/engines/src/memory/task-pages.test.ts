import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskId } from "@yardmaster/core";
import { headOf, progressOf } from "../conformance/samples.js";
import { pageSize, TaskPages } from "./task-pages.js";

function pagesWith(...ids: number[]): TaskPages {
  const pages = new TaskPages(() => assert.fail("none is settled"));
  for (const id of ids) pages.putHead(headOf(id));
  return pages;
}

test("a page goes with its last task, however often that was put or deleted", () => {
  const pages = pagesWith(1, 1, 2, pageSize);
  pages.delete(1 as TaskId);
  pages.delete(1 as TaskId);
  assert.equal(pages.pageBelow(pageSize)?.firstId, 0);
  pages.delete(2 as TaskId);
  assert.equal(pages.pageBelow(pageSize), undefined);
  assert.equal(pages.pageBelow(pageSize + 1)?.firstId, pageSize);
});

test("a task put again after it was deleted has no progress", () => {
  const pages = pagesWith(1, 2);
  pages.putProgress(progressOf(1));
  pages.delete(1 as TaskId);
  pages.putHead(headOf(1));
  assert.equal(pages.task(1 as TaskId)?.progress, undefined);
});

test("the walk down passes gaps of any width in one step", () => {
  const pages = pagesWith(5, 2 ** 40);
  const top = pages.pageBelow(Number.POSITIVE_INFINITY);
  assert.ok(top);
  assert.ok(top.task(2 ** 40));
  assert.equal(pages.pageBelow(top.firstId)?.firstId, 0);
});

test("hasBelow is exact within a page and over pages", () => {
  const pages = pagesWith(5, pageSize + 3);
  assert.deepEqual(
    [1, 5, 6, pageSize + 3].map((id) => pages.hasBelow(id)),
    [false, false, true, true],
  );
  assert.equal(pagesWith().hasBelow(9), false);
});

test("forEach goes by rising id, in whatever order tasks came", () => {
  const seen: number[] = [];
  pagesWith(300, 2, 70, 1, 71, 5000, 299).forEach((head) => {
    seen.push(head.id);
  });
  assert.deepEqual(seen, [1, 2, 70, 71, 299, 300, 5000]);
});
