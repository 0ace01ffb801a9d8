import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { headOf, put } from "../conformance/samples.js";
import { EmbeddedEngine } from "./embedded-engine.js";
import { StoreProcess } from "./testing/processes.js";

describe("who has the folder", () => {
  let folder: string;
  const started: StoreProcess[] = [];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "yard-owner-"));
  });
  afterEach(async () => {
    for (const each of started.splice(0)) await each.kill();
    rmSync(folder, { recursive: true });
  });
  const start = (isStepped = false) => {
    const process = new StoreProcess(folder, { isStepped });
    started.push(process);
    return process;
  };
  const ownerFile = () => join(folder, "owner.json");

  test("a second process is refused with the pid of the first, which works on", async () => {
    const first = start();
    await first.until(({ acked }) => acked !== undefined);
    const second = start();
    assert.equal(await second.ended(), 4);
    assert.equal(second.last("fault"), "in-use");
    assert.match(second.last("message") ?? "", new RegExp(`in use by process ${first.child.pid} .*--data`));
    const before = first.last("acked") ?? 0;
    await first.until(({ acked = 0 }) => acked > before);
  });

  test("a folder whose process is dead is taken, with all that was acknowledged", async () => {
    const first = start();
    await first.until(({ acked }) => acked === 5);
    await first.kill();
    const second = start();
    await second.until(({ acked }) => acked === 1);
    assert.equal(second.last("epoch"), (first.last("epoch") ?? 0) + 1);
    const lasts = second.reports.find(({ acked }) => acked === 1)?.last ?? 0;
    assert.ok(lasts >= (first.last("last") ?? 0) + 3, "its numbers go on after the last acknowledged one");
  });

  test("one that was paused, taken for dead and comes back is fenced", async () => {
    const first = start(true);
    await first.until(({ acked }) => acked === 1);
    first.step();
    // Between two batches: inside a transaction it would hold LMDB's lock, and no one could take
    // over.
    await first.until(({ acked }) => acked === 2);
    first.child.kill("SIGSTOP");
    // Like an operator who is sure that the process is dead.
    rmSync(ownerFile());
    const second = start();
    await second.until(({ acked }) => acked === 3);
    first.step();
    first.child.kill("SIGCONT");
    assert.equal(await first.ended(), 3);
    assert.equal(first.last("outcome")?.type, "fenced");
    assert.match(first.last("outcome")?.message ?? "", /epoch 2 has the store; .* epoch 1/);
    const before = second.last("acked") ?? 0;
    await second.until(({ acked = 0 }) => acked > before + 2);
    await second.kill();
    const engine = new EmbeddedEngine({ folder });
    await engine.open();
    const ids = new Set<number>();
    await engine.load((item) => item.type === "task" && ids.add(item.task.head.id));
    for (const { last = 0 } of [...first.reports, ...second.reports]) {
      const odd = last % 2 === 1 ? last : last - 1;
      assert.ok(last === 0 || ids.has(odd), `task ${odd} was acknowledged`);
    }
    await engine.close();
  });

  test("a pid that belongs to another process by now keeps no one out", async () => {
    const engine = new EmbeddedEngine({ folder });
    const { epoch } = await engine.open();
    await engine.commit({ epoch, number: 1, changes: [put(headOf(1))] });
    const { pid, began } = JSON.parse(readFileSync(ownerFile(), "utf8"));
    assert.equal(pid, process.pid);
    await engine.close();
    if (began === undefined) return; // Only Linux says when a process began.
    writeFileSync(ownerFile(), JSON.stringify({ pid: process.ppid, began: "1" }));
    const next = new EmbeddedEngine({ folder });
    await next.open();
    await next.close();
    writeFileSync(ownerFile(), "{ cut sho");
    await next.open();
    await next.close();
  });
});
