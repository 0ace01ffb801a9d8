import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { type Change, historySegmentSize, type TaskId, type WallTime, type WorkerId } from "@yardmaster/core";
import { headOf, outOfLine, progressOf, put, settledOf } from "../conformance/samples.js";
import type { TaskQuery } from "../engine.js";
import { recordVersion, seal } from "../records/index.js";
import { isAskedFor } from "../task-filter.js";
import { EmbeddedEngine, type EmbeddedEngineOptions } from "./embedded-engine.js";
import { migrations, schemaOf, schemaVersion } from "./migrations.js";
import { repairStore } from "./repair.js";
import { Store } from "./store.js";
import { StoreFault } from "./store-faults.js";
import { openStoreFile } from "./store-file.js";

describe("embedded engine", () => {
  let folder: string;
  const opened: EmbeddedEngine[] = [];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "yard-store-"));
  });
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
    rmSync(folder, { recursive: true });
  });
  const path = () => join(folder, "yard.mdb");

  async function open(options: Partial<EmbeddedEngineOptions> = {}) {
    const engine = new EmbeddedEngine({ folder, durability: "memory", ...options });
    opened.push(engine);
    const { epoch } = await engine.open();
    let number = 0;
    const commit = async (changes: readonly Change[]) => {
      number += 1;
      assert.deepEqual(await engine.commit({ epoch, number, changes }), { type: "done" });
    };
    return { engine, commit };
  }

  /** Tasks of every kind. They do not settle in the order of their ids. */
  function variedTask(id: number): Change[] {
    const head = headOf(id, {
      queue: `queue-${id % 7}`,
      door: id % 3 === 0 ? "udp" : "http",
      key: id % 50 === 0 ? `key-${id % 250}` : undefined,
    });
    if (id % 11 === 0) return [put(head)];
    const worker = `udp/w${id % 40}` as WorkerId;
    const state = id % 10 === 0 ? "failed" : "done";
    const error = { code: id % 20 === 0 ? "lost" : "reported", message: `disk ${id} of ${id % 5} is full` };
    const settled = (id ^ 1) + 1;
    return [
      put(head),
      put(settledOf(id, settled, state === "failed" ? { state, worker, error } : { state, worker })),
    ];
  }

  const questions: Omit<TaskQuery, "limit">[] = [
    {},
    { queue: "queue-3" },
    { state: "waiting" },
    { state: "failed" },
    { state: "failed", queue: "queue-3", door: "udp" },
    { worker: "udp/w17" },
    { worker: "udp/w20", state: "failed" },
    { since: 16_000_000 as WallTime, until: 16_100_000 as WallTime },
    { text: "lost" },
    { text: "disk 12" },
    { text: "disk 12340 of 0 is full" },
    { text: "disk 12340 of 0 is full of something" },
    { text: "key-100", queue: "queue-2" },
    { text: "17000" },
    { text: "nothing" },
    { text: "" },
    { queue: "queue-9" },
  ];

  test("finds among many tasks what a check of each would find, also after a restart, clean or not", async () => {
    const count = 18_000;
    const { engine, commit } = await open();
    const changes = Array.from({ length: count }, (_, index) => variedTask(index + 1));
    for (let at = 0; at < count; at += 500) await commit(changes.slice(at, at + 500).flat());
    const expected = (query: Omit<TaskQuery, "limit">) =>
      changes
        .filter(([head, progress]) => {
          assert.ok(head?.kind === "head");
          return isAskedFor(
            { ...query, limit: 1 },
            head.head,
            progress?.kind === "progress" ? progress.progress : undefined,
          );
        })
        .map(([head]) => (head?.kind === "head" ? head.head.id : 0))
        .reverse();
    const check = async (reader: EmbeddedEngine) => {
      for (const query of questions) {
        const { items } = await reader.find({ ...query, limit: count });
        assert.deepEqual(
          items.map(({ head }) => head.id),
          expected(query),
          JSON.stringify(query),
        );
      }
    };
    await check(engine);
    // Not closed: the part of the index that is not in the file is rebuilt.
    const { engine: second } = await open();
    await check(second);
    await second.close();
    await check((await open()).engine);
  });

  test("history that is trimmed as fast as it grows takes no more room", async () => {
    const { commit, engine } = await open({ isLocal: true });
    const sizes: number[] = [];
    const kept = 4;
    for (let segment = 0; segment < 60; segment++) {
      const ids = Array.from(
        { length: historySegmentSize },
        (_, index) => segment * historySegmentSize + index + 1,
      );
      await commit([
        ...ids.flatMap((id) => [put(headOf(id, { key: `k${id}` })), put(settledOf(id, id))]),
        { kind: "history-trimmed", through: segment - kept },
      ]);
      // A load waits until the store has the batch.
      await engine.load(() => {});
      sizes.push(statSync(path()).size);
    }
    const [early = 0, late = 0] = [sizes[15], sizes.at(-1)];
    assert.ok(late <= early * 1.25, `${early} bytes after 16 segments, ${late} after 60`);
    const { items } = await engine.find({ limit: 100_000 });
    assert.equal(items.length, kept * historySegmentSize);
  });

  test("much that is trimmed at once is gone at once, and cleared away bit by bit", async () => {
    const { commit, engine } = await open({ isLocal: true });
    const segments = 20;
    const ids = Array.from({ length: historySegmentSize * segments }, (_, index) => index + 1);
    await commit(ids.flatMap((id) => [put(headOf(id)), put(settledOf(id, id))]));
    await commit([{ kind: "history-trimmed", through: segments }]);
    assert.equal((await engine.find({ limit: 5 })).items.length, 0);
    assert.equal(await engine.task(1 as TaskId), undefined);
    // A crash in the middle of the sweep.
    const { engine: next, commit: commitNext } = await open({ isLocal: true });
    assert.equal((await next.find({ limit: 5 })).items.length, 0);
    for (let batch = 0; batch < segments; batch++) await commitNext([]);
    await next.close();
    const store = new Store({ path: path(), durability: "memory" });
    assert.equal(store.file.heads.keys().length, 0);
    assert.equal(store.file.progress.keys().length, 0);
    assert.equal(store.file.bundles.keys().length, 0);
    await store.close();
  });

  test("bundles go with their tasks, also where neighbours settle late or have records of their own", async () => {
    const { commit, engine } = await open({ isLocal: true });
    const kept = 3;
    const perBatch = historySegmentSize;
    let settled = 0;
    const late: number[][] = [];
    const bundlesAfter: number[] = [];
    for (let batch = 0; batch < 60; batch++) {
      const ids = Array.from({ length: perBatch }, (_, index) => batch * perBatch + index + 1);
      // One task in twenty settles three batches later, and one has a key.
      late.push(ids.filter((id) => id % 20 === 0));
      const done = [...ids.filter((id) => id % 20 !== 0), ...(late[batch - 3] ?? [])];
      await commit([
        ...ids.map((id) => put(headOf(id, id % 20 === 1 ? { key: `k${id}` } : {}))),
        ...done.map((id) => put(settledOf(id, ++settled))),
        { kind: "history-trimmed", through: Math.floor(settled / historySegmentSize) - kept },
      ]);
      // A load waits until the store has the batch.
      await engine.load(() => {});
      if (batch % 20 === 19) bundlesAfter.push(bundlesIn());
    }
    const [early = 0, , later = 0] = bundlesAfter;
    assert.ok(later <= early * 1.2, `${bundlesAfter.join(", ")} bundles after 20, 40 and 60 batches`);
    const { items } = await engine.find({ limit: 100_000 });
    await engine.close();
    // Evicted tasks do not come back, although their bundles still hold others.
    const report = await repairStore(folder, "then");
    assert.deepEqual(report.lost, []);
    assert.equal(report.tasks, items.length);
    const { engine: repaired } = await open({ isLocal: true });
    const ids = (found: typeof items) => found.map(({ head }) => head.id);
    assert.deepEqual(ids((await repaired.find({ limit: 100_000 })).items), ids(items));
  });

  function bundlesIn(): number {
    const file = openStoreFile({ path: path(), durability: "memory" });
    const count = file.bundles.keys().length;
    void file.root.close();
    return count;
  }

  test("what settled ahead of its batch is there once after a crash, in its bundle still", async () => {
    const perTry = 500;
    let submitted = 0;
    let bundles = 0;
    // On a busy machine the store may take the first batch before the second comes. Then nothing
    // settles ahead, and the next tasks try.
    while (bundles === 0) {
      assert.ok(submitted < 20 * perTry, "nothing settled ahead");
      const { commit } = await open({ isLocal: true, gatherBytes: 0 });
      const ids = Array.from({ length: perTry }, () => (submitted += 1));
      const running = ids.map((id) => put(progressOf(id, { state: "running", worker: "udp/w" as WorkerId })));
      await commit(ids.map((id) => put(headOf(id))));
      await commit([...running, ...ids.map((id) => put(settledOf(id, id)))]);
      // Not closed. The journal has both batches. The store has the first, and the outcomes of the
      // second.
      const { engine: next } = await open({ isLocal: true });
      assert.equal((await next.find({ state: "done", limit: 100_000 })).items.length, submitted);
      await next.close();
      bundles = bundlesIn();
    }
  });

  test("a large body comes back whole, in pieces, and commits come through meanwhile", async () => {
    const { engine, commit } = await open();
    const bytes = Buffer.alloc(40_000_001, "large ");
    const body = { mediaType: "text/plain", size: bytes.length, bytes };
    await engine.putBody(1 as TaskId, "payload", body);
    await commit([put(headOf(1, { payload: outOfLine(body) }))]);
    const order: string[] = [];
    const reading = engine.body(1 as TaskId, "payload").then((read) => {
      order.push("body");
      return read;
    });
    await commit([put(headOf(2))]);
    order.push("commit");
    assert.ok(Buffer.from((await reading)?.bytes ?? []).equals(bytes));
    assert.deepEqual(order, ["commit", "body"]);
  });

  test("a large memo is replaced by a small one, and comes back as it was put last", async () => {
    const { commit } = await open({ isLocal: true });
    const memo = (size: number): Change => ({
      kind: "memo",
      memo: { door: "pulse", name: "w1", bytes: Buffer.alloc(size, "m") },
    });
    await commit([memo(300_000)]);
    await commit([memo(130_000)]);
    const { engine } = await open({ isLocal: true });
    const sizes: number[] = [];
    await engine.load((item) => item.type === "large-memo" && sizes.push(item.size));
    assert.deepEqual(sizes, [130_000]);
    assert.equal((await engine.memo("pulse", "w1"))?.length, 130_000);
  });

  test("the event loop turns while a commit is under way", async () => {
    const { commit } = await open({ durability: "fsync" });
    let turns = 0;
    const count = () => {
      turns += 1;
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    // A large commit, so that it takes longer than a turn even on a disk in memory. On a busy
    // machine the event loop may get no processor meanwhile, so there are several tries.
    const payload = { mediaType: "text/plain", size: 4096, bytes: Buffer.alloc(4096) };
    for (let tries = 0; tries < 10 && turns <= 1; tries++) {
      turns = 0;
      await commit(Array.from({ length: 8000 }, (_, index) => put(headOf(index + 1, { payload }))));
    }
    clearImmediate(timer);
    assert.ok(turns > 1, `${turns} turns`);
  });

  test("a store of a newer schema is refused, one of an older is brought up to date, once", async () => {
    const ran: number[] = [];
    const steps = [...migrations, { to: 8, run: () => ran.push(8) }, { to: 9, run: () => ran.push(9) }];
    await (await open({ isLocal: true })).engine.close();
    for (let times = 0; times < 2; times++) {
      const store = new Store({ path: path(), durability: "memory", migrations: steps });
      assert.equal(schemaOf(store.file), 9);
      await store.close();
    }
    assert.deepEqual(ran, [8, 9]);
    const refused = await open({ isLocal: true }).catch((error: unknown) => error);
    assert.ok(refused instanceof StoreFault && refused.code === "too-new", `${refused}`);
    assert.match(
      refused.message,
      new RegExp(`schema version 9, and this program knows up to ${schemaVersion}`),
    );
  });

  test("records of a newer program are refused, and a repair leaves them alone", async () => {
    const { engine, commit } = await open({ isLocal: true });
    await commit([put(headOf(1))]);
    await engine.close();
    const file = openStoreFile({ path: path(), durability: "memory" });
    const key = Buffer.from("state");
    const own = Buffer.from(file.state.read(key) ?? "");
    own[4] = recordVersion + 1;
    seal(own, 0, own.length);
    file.state.database.putSync(key, own);
    await file.root.close();

    const before = readFileSync(path());
    const refused = await open({ isLocal: true }).catch((error: unknown) => error);
    const unrepaired = await repairStore(folder, "now").catch((error: unknown) => error);
    for (const fault of [refused, unrepaired]) {
      assert.ok(fault instanceof StoreFault && fault.code === "too-new", `${fault}`);
      assert.match(fault.message, /records of version \d+, .* \(use the newer yardmaster\)$/);
    }
    assert.deepEqual(readFileSync(path()), before);
  });

  test("the caller's mistakes throw: not open, open twice, another epoch, no room on the page", async () => {
    const engine = new EmbeddedEngine({ folder, isLocal: true });
    await assert.rejects(engine.commit({ epoch: 1, number: 1, changes: [] }), /not open/);
    const { epoch } = await engine.open();
    await assert.rejects(engine.open(), /open already/);
    await assert.rejects(engine.commit({ epoch: epoch + 1, number: 1, changes: [] }), /another epoch/);
    await assert.rejects(engine.find({ limit: 0 }), /at least one/);
    await engine.close();
    await engine.close();
    await assert.rejects(engine.task(1 as TaskId), /not open/);
  });
});
