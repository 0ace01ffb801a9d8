// Conformance: records. Each kind is returned as it was put.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change, TaskId, WallTime } from "@yardmaster/core";
import { loadedMemoBytesMax } from "../engine.js";
import { type Owner, plain, type Take } from "./owner.js";
import { loadedAfter } from "./plain-model.js";
import { headOf, keyOf, progressOf, put, richTask, settledOf } from "./samples.js";

export function recordTests(take: Take): void {
  test("both records of a task come back with every field", async () => {
    const { head, progress } = richTask(7);
    assert.ok(progress);
    const owner = await take();
    await owner.commit(put(head), put(progress));
    const next = await take();
    assert.deepEqual(await next.task(7), plain({ head, progress }));
    assert.deepEqual(plain((await next.engine.find({ limit: 1 })).items), plain([{ head, progress }]));
    assert.deepEqual(await next.load(), loadedAfter(put(head), put(progress)));
  });

  test("tasks load by rising id, those only accepted without progress, settled ones not at all", async () => {
    const changes = [
      ...[9, 10, 64, 65, 100, 1000, 70_000].map((id) => put(headOf(id))),
      put(progressOf(64)),
      put(settledOf(10, 1)),
      put(progressOf(1000, { state: "done", finishedAt: 5 as WallTime })),
    ];
    const owner = await take();
    await owner.commit(...changes);
    const tasks: number[] = [];
    const next = await take();
    await next.engine.load((item) => item.type === "task" && tasks.push(item.task.head.id));
    assert.deepEqual(tasks, [9, 64, 65, 100, 1000, 70_000]);
    assert.equal((await next.engine.task(9 as TaskId))?.progress, undefined);
    assert.deepEqual(await next.load(), loadedAfter(...changes));
  });

  test("a key goes with the task that owns it, and not with an earlier one", async () => {
    const gone = (task: number): Change => ({
      kind: "key-gone",
      queue: "render",
      key: "k",
      task: task as TaskId,
    });
    const owner = await take();
    await owner.commit({ kind: "key", key: keyOf(1, "k") }, { kind: "key", key: keyOf(2, "k") }, gone(1));
    assert.deepEqual(await (await take()).load(), loadedAfter({ kind: "key", key: keyOf(2, "k") }));
    const next = await take();
    await next.commit({ kind: "key", key: keyOf(3, "k", "mail") }, gone(2), gone(2));
    const mail = { kind: "key", key: keyOf(3, "k", "mail") } as const;
    assert.deepEqual(await (await take()).load(), loadedAfter(mail));
  });

  test("queue and door records are replaced, and a queue's can go", async () => {
    const queue = (name: string, paused: boolean): Change => ({
      kind: "queue",
      queue: { name, paused, draining: !paused },
    });
    const door = (name: string, mark: number): Change => ({
      kind: "door",
      door: { name, incarnation: 1, mark },
    });
    const owner = await take();
    await owner.commit(queue("a", true), queue("b", true), door("udp", 1), door("http", 5));
    await owner.commit(queue("a", false), { kind: "queue-gone", name: "b" }, door("udp", 2));
    assert.deepEqual(
      await (await take()).load(),
      loadedAfter(queue("a", false), door("http", 5), door("udp", 2)),
    );
  });

  test("a door's memos are replaced and dropped one by one, large ones too", async () => {
    const memo = (door: string, name: string, bytes: Uint8Array): Change => ({
      kind: "memo",
      memo: { door, name, bytes },
    });
    const large = Uint8Array.from({ length: 3_000_000 }, (_, index) => index % 251);
    const owner = await take();
    await owner.commit(
      memo("udp", "a", large),
      memo("udp", "b", Uint8Array.of(1)),
      memo("pulse", "a", large),
    );
    await owner.commit(memo("pulse", "a", Uint8Array.of()), { kind: "memo-gone", door: "udp", name: "b" });
    await owner.commit({ kind: "memo-gone", door: "udp", name: "never there" });
    assert.deepEqual(
      await (await take()).load(),
      loadedAfter(memo("udp", "a", large), memo("pulse", "a", Uint8Array.of())),
    );
  });

  test("a memo is read by its name, as it was committed last, and after a crash", async () => {
    const memo = (name: string, size: number): Change => ({
      kind: "memo",
      memo: { door: "udp", name, bytes: Uint8Array.from({ length: size }, (_, index) => index % 251) },
    });
    const read = async ({ engine }: Owner, name: string) => {
      const bytes = await engine.memo("udp", name);
      return bytes && [bytes.length, bytes.every((byte, index) => byte === index % 251)];
    };
    const sizes = [0, 1, loadedMemoBytesMax, loadedMemoBytesMax + 1, 1_048_576, 3_000_000];
    const owner = await take();
    await owner.commit(...sizes.map((size) => memo(`of ${size}`, size)), memo("gone", 200_000));
    await owner.commit({ kind: "memo-gone", door: "udp", name: "gone" }, memo("of 1", 130_000));
    for (const reader of [owner, await take()]) {
      for (const size of sizes.filter((each) => each !== 1))
        assert.deepEqual(await read(reader, `of ${size}`), [size, true]);
      assert.deepEqual(await read(reader, "of 1"), [130_000, true]);
      assert.equal(await read(reader, "gone"), undefined);
      assert.equal(await reader.engine.memo("pulse", "of 0"), undefined);
    }
  });
}
