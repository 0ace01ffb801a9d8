// A migration between folders, which needs no server: everything is carried over, and nothing else
// can use the target before it is complete. postgres/migration.test.ts has the other engine.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { TaskId } from "@yardmaster/core";
import { type EngineSite, Owner } from "../conformance/owner.js";
import { headOf, put } from "../conformance/samples.js";
import { EmbeddedEngine } from "../embedded/embedded-engine.js";
import { migrateStore } from "./migrate.js";
import { assertAlike, fillWithEverything } from "./testing/sample-yard.js";

describe("a migration between folders", { timeout: 300_000 }, () => {
  let root = "";
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "yard-migrate-"));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const siteOf = (name: string): EngineSite => ({
    open: async () => new EmbeddedEngine({ folder: join(root, name) }),
    destroy: async () => {},
  });
  const filled = async (name: string, fill: (owner: Owner) => Promise<void>) => {
    const owner = await Owner.take(siteOf(name));
    await fill(owner);
    await owner.engine.close();
    return owner.epoch;
  };
  const move = (from: string, to: string, onProgress?: (phase: string) => void) =>
    migrateStore({
      from: { folder: join(root, from) },
      to: { folder: join(root, to) },
      ...(onProgress && { onProgress }),
    });

  test("carries every record and body over, and says how many there were", async () => {
    await filled("old", fillWithEverything);
    const { tasks, keys, queues, doors, memos, bodies, bodyBytes, lastTask } = await move("old", "new");
    assert.deepEqual(tasks, { waiting: 2, running: 1, done: 9, failed: 3, cancelled: 2, expired: 2 });
    assert.deepEqual([keys, queues, doors, memos], [2, 2, 1, 4]);
    assert.ok(bodies > 20 && bodyBytes > 10_000_000);
    assert.equal(lastTask, 20);
    assert.deepEqual(readdirSync(join(root, "new")), ["yard.mdb"]);
    await assertAlike(siteOf("old"), siteOf("new"));
  });

  test("continues epochs, ids and places in history where the source ended", async () => {
    for (let start = 0; start < 5; start++) await filled("old", async () => {});
    const last = await filled("old", fillWithEverything);
    await move("old", "new");
    const owner = await Owner.take(siteOf("new"));
    assert.ok(owner.epoch > last, `epoch ${owner.epoch} after ${last}`);
    const { lastTask, lanes } = (await owner.load()) as { lastTask: number; lanes: readonly number[] };
    assert.equal(lastTask, 20);
    assert.equal(lanes.length, 4);
    await owner.commit(put(headOf(21)));
    assert.equal((await owner.engine.task(21 as TaskId))?.head.id, 21);
    await owner.engine.close();
  });

  test("moves an empty store too", async () => {
    await filled("old", async () => {});
    const { lastTask, bodies } = await move("old", "new");
    assert.deepEqual([lastTask, bodies], [0, 0]);
    await assertAlike(siteOf("old"), siteOf("new"));
  });

  test("refuses a source that is not there, and makes nothing", async () => {
    await assert.rejects(move("old", "new"), /There is no store in /);
    assert.deepEqual(readdirSync(root), []);
  });

  test("refuses a source that a living process uses", async () => {
    await filled("old", async () => {});
    // Process 1 always lives.
    writeFileSync(join(root, "old", "owner.json"), '{"pid":1}\n');
    await assert.rejects(move("old", "new"), /in use by process 1/);
  });

  test("refuses a target that holds something", async () => {
    await filled("old", async () => {});
    mkdirSync(join(root, "new"));
    writeFileSync(join(root, "new", "notes.txt"), "");
    await assert.rejects(move("old", "new"), /is not empty: it has notes\.txt/);
    await assert.rejects(move("old", "old"), /is not empty/);
  });

  test("an unfinished target is refused by a dispatcher, and the next migration begins anew", async () => {
    await filled("old", fillWithEverything);
    const stop = new Error("stopped in the test");
    const stopped = move("old", "new", (phase) => {
      if (phase === "check") throw stop;
    });
    await assert.rejects(stopped, stop);
    assert.ok(existsSync(join(root, "new", "migrating", "yard.mdb")));
    await assert.rejects(
      new EmbeddedEngine({ folder: join(root, "new") }).open(),
      /A migration into .* did not finish \(run yardmaster migrate again, or remove .*migrating/,
    );
    await move("old", "new");
    await assertAlike(siteOf("old"), siteOf("new"));
  });

  test("keeps nothing if another process took the source over meanwhile", async () => {
    await filled("old", fillWithEverything);
    let other: EmbeddedEngine | undefined;
    const fenced = migrateStore({
      from: { folder: join(root, "old") },
      to: { folder: join(root, "new") },
      onProgress: () => {
        if (other !== undefined) return;
        other = new EmbeddedEngine({ folder: join(root, "old"), isLocal: true });
        void other.open();
      },
    });
    await assert.rejects(fenced, /was used meanwhile, so the copy is not kept/);
    assert.ok(!existsSync(join(root, "new", "yard.mdb")));
    await other?.close();
  });
});
