// A backup has everything that was acknowledged before it began, even while commits go on, and
// opens as a store.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import type { TaskId } from "@yardmaster/core";
import { bodyOf, headOf, outOfLine, put } from "../conformance/samples.js";
import type { LoadItem } from "../engine.js";
import { backupStore, restoreStore } from "./backup.js";
import { EmbeddedEngine } from "./embedded-engine.js";
import { makeSampleStore } from "./testing/sample-store.js";

const place = mkdtempSync(join(tmpdir(), "yard-backup-"));
after(() => rmSync(place, { recursive: true }));

async function contentsOf(folder: string): Promise<LoadItem[]> {
  const engine = new EmbeddedEngine({ folder });
  await engine.open();
  const items: LoadItem[] = [];
  await engine.load((item) => items.push(item));
  await engine.close();
  return items;
}

/**
 * In a process of its own, like `yardmaster backup`: LMDB cannot open a file twice in one process.
 */
async function backupInOtherProcess(from: string, to: string): Promise<void> {
  const own = new URL("./backup.js", import.meta.url).href;
  const script = `import { backupStore } from ${JSON.stringify(own)};
    await backupStore(...${JSON.stringify([from, to])});`;
  await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
}

test("the backup of a store at rest is the same store, closed to others", async () => {
  const [from, to, restored] = ["rest", "rest-copy", "rest-restored"].map((name) => join(place, name));
  assert.ok(from && to && restored);
  await makeSampleStore(from);
  const { bytes, lastTask } = await backupStore(from, to);
  assert.ok(bytes > 100_000 && lastTask === 1800, `${bytes} ${lastTask}`);
  assert.equal(statSync(join(to, "yard.mdb")).mode & 0o777, 0o600);
  restoreStore(to, restored);
  assert.deepEqual(await contentsOf(restored), await contentsOf(from));
});

test("a backup while commits go on has all that was acknowledged before", { timeout: 120_000 }, async () => {
  const [from, to] = ["busy", "busy-copy"].map((name) => join(place, name));
  assert.ok(from && to);
  const engine = new EmbeddedEngine({ folder: from, durability: "memory" });
  const { epoch } = await engine.open();
  let acknowledged = 0;
  let isOver = false;
  let half = 0;
  const large = bodyOf("large ".repeat(20_000));
  const working = (async () => {
    for (let number = 1; !isOver; number++) {
      const ids = Array.from({ length: 40 }, (_, index) => (number - 1) * 40 + index + 1);
      const [first = 0] = ids;
      await engine.putBody(first as TaskId, "payload", large);
      const heads = ids.map((id) => headOf(id, id === first ? { payload: outOfLine(large) } : {}));
      const outcome = await engine.commit({ epoch, number, changes: heads.map((head) => put(head)) });
      assert.equal(outcome.type, "done");
      acknowledged = number * 40;
      if (number === 50) half = acknowledged;
    }
  })();
  while (half === 0) await new Promise((resolve) => setImmediate(resolve));
  const before = acknowledged;
  await backupInOtherProcess(from, to);
  isOver = true;
  await working;
  const copy = new EmbeddedEngine({ folder: to });
  await copy.open();
  const ids = new Set<number>();
  await copy.load((item) => {
    if (item.type === "task") ids.add(item.task.head.id);
  });
  for (let id = 1; id <= before; id++) assert.ok(ids.has(id), `task ${id} of ${before} is missing`);
  assert.deepEqual((await copy.body(1 as TaskId, "payload"))?.bytes?.length, large.size);
  await copy.close();
  await engine.close();
});

test("nothing is overwritten, and a folder without a store is refused", async () => {
  const [full, none] = ["full", "none"].map((name) => join(place, name));
  assert.ok(full && none);
  mkdirSync(full);
  writeFileSync(join(full, "yard.mdb"), "");
  await assert.rejects(backupStore(none, join(place, "x")), /There is no store in/);
  await assert.rejects(backupStore(full, full), /is not empty/);
  assert.throws(() => restoreStore(none, join(place, "y")), /There is no backup in/);
  assert.throws(() => restoreStore(full, full), /is not empty/);
});
