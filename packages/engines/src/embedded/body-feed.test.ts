import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskId } from "@yardmaster/core";
import { BodyFeed } from "./body-feed.js";
import type { BodyStretch } from "./store-messages.js";

/** Each request as a list of tasks with the offsets of their stretches. */
function setUp() {
  const requests: string[][] = [];
  let fault: Error | undefined;
  const feed = new BodyFeed(async (stretches: readonly BodyStretch[]) => {
    requests.push(stretches.map(({ task, from, bytes }) => `${task}@${bytes ? from : "dropped"}`));
    await new Promise((resolve) => setImmediate(resolve));
    if (fault !== undefined) throw fault;
  });
  const put = (task: number, size: number) => feed.put(task as TaskId, "payload", new Uint8Array(size));
  const failWith = (error: Error | undefined) => {
    fault = error;
  };
  return { feed, put, requests, failWith };
}

test("small bodies share a request: 5,000 of 5,000 bytes take 25", async () => {
  const { put, requests } = setUp();
  await Promise.all(Array.from({ length: 5_000 }, (_, task) => put(task + 1, 5_000)));
  assert.equal(requests.flat().length, 5_000);
  assert.equal(requests.length, 25);
});

test("a body that comes after a large one waits for one stretch of it, not for all", async () => {
  const { put, requests } = setUp();
  const large = put(1, 10_400_000);
  await put(2, 5_000);
  assert.deepEqual(requests.slice(0, 2), [["1@0"], ["2@0", "1@1040000"]]);
  assert.ok(requests.length < 5, "the small body waited");
  await large;
  assert.equal(requests.flat().filter((each) => each.startsWith("1@")).length, 10);
});

test("a drop keeps its place between two bodies of the same task", async () => {
  const { feed, put, requests } = setUp();
  await Promise.all([put(1, 5), feed.put(1 as TaskId, "payload", undefined), put(1, 7)]);
  assert.deepEqual(requests, [["1@0", "1@dropped", "1@0"]]);
});

test("a fault reaches the bodies of its request, and later ones are tried", async () => {
  const { put, failWith } = setUp();
  failWith(new Error("EIO"));
  await assert.rejects(put(1, 5), /EIO/);
  failWith(undefined);
  await put(2, 5);
});
