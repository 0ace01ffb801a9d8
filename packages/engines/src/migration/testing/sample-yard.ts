// Stores to migrate, and what is compared of two stores.

import assert from "node:assert/strict";
import {
  type Change,
  historyLaneSegments,
  historySegmentSize,
  type TaskId,
  type TaskStateName,
  type WallTime,
} from "@yardmaster/core";
import { type EngineSite, Owner, plain } from "../../conformance/owner.js";
import {
  bodyOf,
  headOf,
  keyOf,
  outOfLine,
  progressOf,
  put,
  richTask,
  settledOf,
} from "../../conformance/samples.js";
import { loadedMemoBytesMax } from "../../engine.js";

const bodySizes = [0, 1, 4096, 4097, 65_536, 5_000_000];
const states: readonly TaskStateName[] = ["waiting", "running", "done", "failed", "cancelled", "expired"];

/** Of every kind of record at least one, and marks above all that is left. */
export async function fillWithEverything(owner: Owner): Promise<void> {
  const changes: Change[] = [];
  let id = 0;
  for (const state of states) {
    const isFinished = state !== "waiting" && state !== "running";
    for (const settled of isFinished ? [0, id + 1] : [0]) {
      id += 1;
      const finishedAt = isFinished ? ((id * 1000) as WallTime) : undefined;
      const error = state === "failed" ? { code: "boom", message: `task ${id} went wrong` } : undefined;
      changes.push(put(headOf(id, { key: `k${id}` })));
      changes.push(put(progressOf(id, { state, settled, finishedAt, error })));
    }
  }
  changes.push(put(headOf(++id)));
  const rich = richTask(++id);
  changes.push(put(rich.head), put(rich.progress as never));
  for (const size of bodySizes) {
    const body = bodyOf("x".repeat(size));
    const result = bodyOf("y".repeat(size));
    id += 1;
    await owner.engine.putBody(id as TaskId, "payload", body);
    await owner.engine.putBody(id as TaskId, "result", result);
    changes.push(put(headOf(id, { payload: size > 4096 ? outOfLine(body) : body })));
    changes.push(put(settledOf(id, id, { result: size > 4096 ? outOfLine(result) : result })));
  }
  changes.push(
    { kind: "key", key: keyOf(3, "k3") },
    { kind: "key", key: keyOf(4, "clé \0\ud800", "mail") },
    { kind: "queue", queue: { name: "render", paused: true, draining: false } },
    { kind: "queue", queue: { name: "mail \0", paused: false, draining: true } },
    { kind: "door", door: { name: "http", incarnation: 7, mark: 4711 } },
    { kind: "memo", memo: { door: "scaler", name: "object/1", bytes: new Uint8Array(0) } },
    { kind: "memo", memo: { door: "scaler", name: "object/2", bytes: Buffer.from("small") } },
    { kind: "memo", memo: { door: "scaler", name: "object/3", bytes: Buffer.alloc(loadedMemoBytesMax, 1) } },
    { kind: "memo", memo: { door: "scaler", name: "object/4", bytes: Buffer.alloc(3_000_000, 2) } },
  );
  await owner.commit(...changes);
  // A lane with tasks of its own, one that is empty by now, and a last id that is gone.
  const lane = (index: number) => index * historyLaneSegments;
  const place = (index: number) => lane(index) * historySegmentSize + 5;
  await owner.commit(put(headOf(++id)), put(settledOf(id, place(1))));
  await owner.commit(put(headOf(++id)), put(settledOf(id, place(3))));
  await owner.commit({ kind: "history-trimmed", through: lane(3) });
}

/** Many small tasks, half of them settled. */
export async function fillWithMany(owner: Owner, count: number): Promise<void> {
  for (let id = 1; id <= count; ) {
    const changes: Change[] = [];
    for (; changes.length < 2000 && id <= count; id++) {
      changes.push(put(headOf(id)));
      if (id % 2 === 0) changes.push(put(settledOf(id, id / 2)));
    }
    await owner.commit(...changes);
  }
}

/** More are compared by the migration itself. */
const bodiesMax = 100;

/** Both stores answer alike, also to queries. */
export async function assertAlike(one: EngineSite, other: EngineSite): Promise<void> {
  const [first, second] = [await Owner.take(one), await Owner.take(other)];
  try {
    assert.deepEqual(await second.load(), await first.load());
    const tasks = await first.findAll({ limit: 1000 });
    assert.deepEqual(plain(await second.findAll({ limit: 1000 })), plain(tasks));
    for (const { head } of tasks.slice(0, bodiesMax)) {
      for (const part of ["payload", "result"] as const) {
        const body = await first.engine.body(head.id, part);
        const found = await second.engine.body(head.id, part);
        const bytes = [body, found].map((each) => each?.bytes && Buffer.from(each.bytes));
        assert.ok(bytes[0] === bytes[1] || bytes[0]?.equals(bytes[1] as Buffer), `${part} of ${head.id}`);
      }
    }
    for (const query of [
      { state: "failed" as const },
      { queue: "render" },
      { text: "k3" },
      { text: "went" },
    ]) {
      const expected = await first.ids({ limit: 7, ...query });
      assert.deepEqual(await second.ids({ limit: 7, ...query }), expected);
    }
    for (const name of ["object/1", "object/2", "object/3", "object/4"]) {
      const expected = await first.engine.memo("scaler", name);
      assert.deepEqual(plain(await second.engine.memo("scaler", name)), plain(expected));
    }
  } finally {
    await first.engine.close();
    await second.engine.close();
  }
}
