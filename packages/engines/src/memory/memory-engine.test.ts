import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { historySegmentSize, type TaskId, type WallTime } from "@yardmaster/core";
import {
  bodyOf,
  headOf,
  outOfLine,
  progressOf,
  put,
  settledOf,
  submittedAt,
} from "../conformance/samples.js";
import { engineConformance } from "../conformance.js";
import { MemoryEngine } from "./memory-engine.js";
import { MemoryStore } from "./memory-store.js";

engineConformance("memory", {
  async create() {
    const store = new MemoryStore();
    return { open: async () => new MemoryEngine(store), destroy: async () => {} };
  },
});

describe("memory engine", () => {
  const many = 20_000;

  async function openWith(count: number): Promise<{ engine: MemoryEngine; epoch: number }> {
    const engine = new MemoryEngine();
    const { epoch } = await engine.open();
    const changes = Array.from({ length: count }, (_, index) => put(headOf(index + 1)));
    await engine.commit({ epoch, number: 1, changes });
    return { engine, epoch };
  }

  /** True if the event loop turned while the work ran. */
  async function turnsDuring(work: () => Promise<unknown>): Promise<boolean> {
    let turned = false;
    const pending = setImmediate(() => {
      turned = true;
    });
    await work();
    clearImmediate(pending);
    return turned;
  }

  test("records of a live task are held by reference; those of a settled one are packed, apart from large bodies", async () => {
    const engine = new MemoryEngine();
    const { epoch } = await engine.open();
    const payload = bodyOf("x".repeat(10_000));
    const [head, progress] = [headOf(1, { payload }), progressOf(1, { state: "running" })];
    await engine.commit({ epoch, number: 1, changes: [put(head), put(progress)] });
    const live = await engine.task(1 as TaskId);
    assert.ok(live?.head === head && live.progress === progress);
    const end = { ...settledOf(1, 1), result: bodyOf("small") };
    await engine.commit({ epoch, number: 2, changes: [put(end)] });
    const settled = await engine.task(1 as TaskId);
    assert.ok(settled?.head !== head && settled?.head.payload.bytes === payload.bytes);
    assert.deepEqual(settled, { head, progress: end });
  });

  test("a trim lets go of bodies put out of line", async () => {
    const engine = new MemoryEngine();
    const { epoch } = await engine.open();
    const head = headOf(1, { payload: outOfLine(bodyOf("large")) });
    await engine.putBody(head.id, "payload", bodyOf("large"));
    const changes = [put(head), put(settledOf(1, 1)), { kind: "history-trimmed", through: 0 } as const];
    await engine.commit({ epoch, number: 1, changes });
    // Ids are never reused. Here it shows that nothing was left under the id.
    await engine.commit({ epoch, number: 2, changes: [put(head)] });
    assert.equal(await engine.body(head.id, "payload"), undefined);
  });

  test("an answer near the newest tasks is found without a turn of the event loop", async () => {
    const { engine } = await openWith(many);
    assert.equal(await turnsDuring(() => engine.find({ limit: 50 })), false);
    assert.equal(await turnsDuring(() => engine.find({ limit: 1, text: `${many - 100}` })), false);
  });

  test("a question about time finds what lies at either end of many pages", async () => {
    const { engine } = await openWith(many);
    const query = { limit: 10, since: submittedAt(many - 5) };
    assert.equal((await engine.find(query)).items.length, 6);
    assert.equal((await engine.find({ limit: 10, until: submittedAt(3) })).items.length, 2);
  });

  test("a rare answer is walked to in slices, and the event loop turns between them", async () => {
    const { engine } = await openWith(many);
    const answer = engine.find({ limit: 10, text: "3" });
    assert.equal(await turnsDuring(() => answer), true);
    assert.deepEqual(
      (await answer).items.map((task) => task.head.id),
      [3],
    );
  });

  test("tasks trimmed or accepted during a walk do not disturb it", async () => {
    const { engine, epoch } = await openWith(many);
    const answer = engine.find({ limit: 1000, text: "3" });
    const settled = Array.from({ length: historySegmentSize * 40 }, (_, index) =>
      put(settledOf(index + 4, index + 1)),
    );
    const changes = [
      ...settled,
      { kind: "history-trimmed", through: 39 } as const,
      put(headOf(many + 1, { key: "3" })),
    ];
    await engine.commit({ epoch, number: 2, changes });
    assert.deepEqual(
      (await answer).items.map((task) => task.head.id),
      [3],
    );
    assert.deepEqual(
      (await engine.find({ limit: 9, text: "3" })).items.map((task) => task.head.id),
      [many + 1, 3],
    );
  });

  test("the caller's mistakes throw: not open, open twice, another epoch, no room on the page", async () => {
    const engine = new MemoryEngine();
    await assert.rejects(engine.commit({ epoch: 1, number: 1, changes: [] }), /not open/);
    const { epoch } = await engine.open();
    await assert.rejects(engine.open(), /open already/);
    await assert.rejects(engine.commit({ epoch: epoch + 1, number: 1, changes: [] }), /another epoch/);
    await assert.rejects(engine.find({ limit: 0 }), /at least one/);
    await engine.close();
    await assert.rejects(engine.task(1 as TaskId), /not open/);
  });

  test("a clock that jumped back leaves no task out of a question about time", async () => {
    const { engine, epoch } = await openWith(200);
    const early = headOf(201, { submittedAt: 1 as WallTime });
    await engine.commit({ epoch, number: 2, changes: [put(early)] });
    const { items } = await engine.find({ limit: 5, until: submittedAt(2) });
    assert.deepEqual(
      items.map((task) => task.head.id),
      [201, 1],
    );
  });
});
