import assert from "node:assert/strict";
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { Change, TaskId, WallTime } from "@yardmaster/core";
import { bodyOf, headOf, outOfLine, progressOf, put, settledOf } from "../conformance/samples.js";
import { EmbeddedEngine } from "./embedded-engine.js";
import { repairStore } from "./repair.js";
import { StoreFault } from "./store-faults.js";

describe("a damaged file", () => {
  let folder: string;
  let damage: string[];
  let onDamage = () => {};
  const opened: EmbeddedEngine[] = [];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "yard-damage-"));
    damage = [];
  });
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
    rmSync(folder, { recursive: true });
  });
  const path = () => join(folder, "yard.mdb");

  async function open(): Promise<{ engine: EmbeddedEngine; epoch: number }> {
    const engine = new EmbeddedEngine({
      folder,
      isLocal: true,
      onDamage: (what) => {
        damage.push(what);
        onDamage();
      },
    });
    opened.push(engine);
    const { epoch } = await engine.open();
    return { engine, epoch };
  }

  async function fill(changes: readonly Change[], large: readonly number[] = []): Promise<void> {
    const { engine, epoch } = await open();
    for (const id of large) await engine.putBody(id as TaskId, "payload", largeBody(id));
    assert.equal((await engine.commit({ epoch, number: 1, changes })).type, "done");
    await engine.close();
  }

  const largeBody = (id: number) => bodyOf(`large body ${id} `.repeat(20_000));

  /** Changes a byte at every occurrence of this text in the file: free pages hold older copies. */
  function flip(text: string): void {
    const bytes = readFileSync(path());
    const found: number[] = [];
    for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) found.push(at);
    assert.ok(found.length > 0, `"${text}" is in the file`);
    const file = openSync(path(), "r+");
    for (const at of found) writeSync(file, Buffer.of((bytes[at] as number) ^ 4), 0, 1, at);
    closeSync(file);
  }

  /** Makes the folder look as after a crash. */
  function forgetTheClose(): void {
    rmSync(join(folder, "owner.json"));
  }

  async function faultOf(work: Promise<unknown>): Promise<StoreFault> {
    const error = await work.catch((caught: unknown) => caught);
    assert.ok(error instanceof StoreFault, `${error}`);
    return error;
  }

  async function idsIn(engine: EmbeddedEngine): Promise<number[]> {
    const ids: number[] = [];
    await engine.load((item) => item.type === "task" && ids.push(item.task.head.id));
    return ids;
  }

  test("a flipped byte of a waiting task is named by load, and by a read of the task", async () => {
    await fill([put(headOf(1)), put(headOf(2)), put(headOf(3))]);
    flip("payload 2");
    const { engine } = await open();
    const asked = [
      () => engine.load(() => {}),
      () => engine.task(2 as TaskId),
      () => engine.body(2 as TaskId, "payload"),
    ];
    for (const ask of asked) {
      const fault = await faultOf(ask());
      assert.equal(fault.code, "damaged");
      assert.match(fault.message, /the head of task 2: its CRC does not match its bytes .*--repair/);
    }
    assert.equal((await engine.task(1 as TaskId))?.head.id, 1);
  });

  /**
   * Leaves the folder as a crash does before the store has any of these batches. Returns the
   * journal's path.
   */
  async function crash(count: number): Promise<string> {
    const { engine, epoch } = await open();
    const stored = readFileSync(path());
    const journal = join(folder, `yard.journal-${epoch}-0`);
    for (let number = 1; number <= count; number++) {
      const id = 100 + number;
      const changes = id % 2 === 0 ? [put(headOf(id)), put(settledOf(id, id))] : [put(headOf(id))];
      await engine.commit({ epoch, number, changes });
    }
    const bytes = readFileSync(journal);
    await engine.close();
    writeFileSync(path(), stored);
    writeFileSync(journal, bytes);
    forgetTheClose();
    return journal;
  }

  test("batches that only the journal has are loaded, each once", async () => {
    await fill([put(headOf(1))]);
    const journal = await crash(4);
    for (let time = 0; time < 2; time++) {
      const { engine } = await open();
      assert.deepEqual(await idsIn(engine), [1, 101, 103]);
      assert.equal((await engine.find({ state: "done", limit: 10 })).items.length, 2);
      assert.equal(existsSync(`${journal}.taken`), false);
    }
  });

  test("a journal with a damaged batch before others: refused, and `--repair` keeps the others", async () => {
    await fill([put(headOf(1))]);
    const journal = await crash(5);
    const bytes = readFileSync(journal);
    const at = bytes.indexOf("payload 103");
    bytes[at] = (bytes[at] as number) ^ 4;
    writeFileSync(journal, bytes);
    const fault = await faultOf(open());
    assert.equal(fault.code, "damaged");
    assert.match(fault.message, /what was written before batch 4 is damaged .*--repair/);
    const report = await repairStore(folder, "then");
    assert.match(report.lost.join(), /what was written before batch 4 is damaged/);
    assert.ok(existsSync(`${journal}.taken.bad-then`));
    const { engine } = await open();
    assert.deepEqual(await idsIn(engine), [1, 101, 105]);
    assert.equal((await engine.find({ state: "done", limit: 10 })).items.length, 2);
  });

  test("a large payload whose task is in the journal alone survives `--repair`", async () => {
    const { engine, epoch } = await open();
    await engine.putBody(1 as TaskId, "payload", largeBody(1));
    const stored = readFileSync(path());
    const journal = join(folder, `yard.journal-${epoch}-0`);
    await engine.commit({
      epoch,
      number: 1,
      changes: [put(headOf(1, { payload: outOfLine(largeBody(1)) }))],
    });
    const bytes = readFileSync(journal);
    await engine.close();
    writeFileSync(path(), stored);
    writeFileSync(journal, bytes);
    forgetTheClose();
    assert.deepEqual((await repairStore(folder, "then")).lost, []);
    const { engine: next } = await open();
    assert.deepEqual((await next.body(1 as TaskId, "payload"))?.bytes, largeBody(1).bytes);
  });

  test("a journal of another store: refused, and nothing is thrown away", async () => {
    await fill([put(headOf(1))]);
    const before = readFileSync(path());
    const journal = await crash(3);
    // An older copy replaces the store to which the journal belongs.
    writeFileSync(path(), before);
    const fault = await faultOf(open());
    assert.equal(fault.code, "damaged");
    assert.match(fault.message, /was written in epoch 2, and the store is of epoch 1: it is an older copy/);
    assert.ok(existsSync(`${journal}.taken`));
    const report = await repairStore(folder, "then");
    assert.match(
      report.lost.join(),
      /^the store is of epoch 1, and its journal of epoch 2: it is an older copy/,
    );
    const { engine } = await open();
    assert.deepEqual(await idsIn(engine), [1, 101, 103]);
    assert.equal((await engine.task(102 as TaskId))?.progress?.state, "done");
  });

  test("a task of history with a flipped byte is left out and named; the others are found", async () => {
    const marked = progressOf(2, {
      state: "failed",
      error: { code: "boom", message: "mark me" },
      settled: 2,
      finishedAt: 5 as WallTime,
    });
    // Some are stored separately because of their keys, the others in bundles.
    const own = [1, 2, 3].flatMap((id) => [
      put(headOf(id, { key: `k${id}` })),
      put(id === 2 ? marked : settledOf(id, id)),
    ]);
    const bundled = [4, 5].flatMap((id) => [put(headOf(id)), put(settledOf(id, id))]);
    await fill([...own, ...bundled]);
    await fill([6, 7].flatMap((id) => [put(headOf(id)), put(settledOf(id, id))]));
    flip("mark me");
    flip("payload 5");
    const { engine } = await open();
    const { items } = await engine.find({ limit: 10 });
    assert.deepEqual(
      items.map(({ head }) => head.id),
      [7, 6, 3, 1],
    );
    assert.deepEqual(damage, [
      "the records of tasks 4 to 5: its CRC does not match its bytes",
      "the progress of task 2: its CRC does not match its bytes",
    ]);
  });

  test("after a crash every record is checked while the engine already works", async () => {
    await fill([1, 2, 3].flatMap((id) => [put(headOf(id)), put(settledOf(id, id))]));
    flip("payload 2");
    forgetTheClose();
    const found = new Promise<void>((resolve) => {
      onDamage = resolve;
    });
    await open();
    // A running check does not keep the process alive by itself.
    const alive = setInterval(() => {}, 1000);
    await found;
    clearInterval(alive);
    assert.match(damage.join(), /the records of tasks 1 to 3: its CRC/);
  });

  test("a file whose trees cannot be read is refused after a crash, and is still there", async () => {
    await fill(Array.from({ length: 500 }, (_, index) => put(headOf(index + 1))));
    const bytes = readFileSync(path());
    // The pages behind the two roots: everything else is reached through them.
    bytes.fill(0xff, 2 * 4096);
    writeFileSync(path(), bytes);
    forgetTheClose();
    const fault = await faultOf(open());
    assert.equal(fault.code, "damaged");
    assert.match(fault.message, /is damaged: .*--repair/);
    assert.deepEqual(readFileSync(path()), bytes);
  });

  test("repair sets the file aside, keeps sound records and names damaged ones", async () => {
    const large = (id: number) => put(headOf(id, { payload: outOfLine(largeBody(id)) }));
    await fill(
      [
        put(headOf(1, { key: "k" })),
        put(headOf(2)),
        put(headOf(3)),
        put(progressOf(3, { worker: "udp/w" as never })),
        large(4),
        large(5),
        put(headOf(6)),
        put(settledOf(6, 1)),
        put(headOf(7, { key: "k7" })),
        put(settledOf(7, 2, { error: { code: "x", message: "mark me" } })),
        put(headOf(9)),
        put(settledOf(9, 700)),
        { kind: "queue", queue: { name: "render", paused: true, draining: false } },
        { kind: "memo", memo: { door: "pulse", name: "w1", bytes: Buffer.alloc(200_000, "memo") } },
        { kind: "door", door: { name: "udp", incarnation: 4, mark: 9 } },
      ],
      [4, 5],
    );
    flip("payload 2");
    flip("large body 4 large");
    flip("mark me");
    const report = await repairStore(folder, "then");
    assert.equal(report.setAside, `${path()}.bad-then`);
    assert.ok(existsSync(`${path()}.bad-then`));
    const lost = report.lost.join("\n");
    for (const named of [
      /the head of task 2: its CRC/,
      /the payload of task 4, piece \d+: its CRC/,
      /task 4: its payload is incomplete/,
      /the progress of task 7: its CRC/,
      /task 7: it ended, and its outcome is lost/,
    ]) {
      assert.match(lost, named);
    }
    const { engine, epoch } = await open();
    assert.ok(epoch > 4, "no epoch is used twice");
    assert.deepEqual(await idsIn(engine), [1, 3, 5]);
    assert.equal(report.tasks, 5);
    const found = await engine.find({ state: "done", limit: 10 });
    assert.deepEqual(
      found.items.map(({ head }) => head.id),
      [9, 6],
    );
    assert.deepEqual(
      (await engine.find({ text: "k", limit: 10 })).items.map(({ head }) => head.id),
      [1],
    );
    assert.deepEqual(await engine.body(5 as TaskId, "payload"), largeBody(5));
    const others = new Map<string, unknown>();
    await engine.load((item) => others.set(item.type, item));
    assert.deepEqual(others.get("end"), { type: "end", lastTask: 9, lastSettled: 700 });
    assert.deepEqual(others.get("queue"), {
      type: "queue",
      queue: { name: "render", paused: true, draining: false },
    });
    assert.equal((await engine.memo("pulse", "w1"))?.length, 200_000);
    assert.equal(
      (await engine.commit({ epoch, number: 1, changes: [put(headOf(10)), put(settledOf(1, 701))] })).type,
      "done",
    );
  });

  test("repair of pages that take the reader down keeps what other pages hold", async () => {
    const many = Array.from({ length: 2000 }, (_, index) => index + 1);
    await fill(many.map((id) => put(headOf(id))));
    const bytes = readFileSync(path());
    // The header of a page with heads, so that LMDB is misled.
    const at = Math.floor(bytes.indexOf("payload 1000") / 4096) * 4096;
    bytes.fill(0xff, at + 8, at + 64);
    writeFileSync(path(), bytes);
    const report = await repairStore(folder, "then");
    assert.ok(report.tasks > 1500 && report.tasks < 2000, `${report.tasks} kept`);
    assert.ok(report.lost.length > 0);
    const { engine } = await open();
    assert.equal((await idsIn(engine)).length, report.tasks);
  });

  test("without a file there is nothing to repair", async () => {
    assert.deepEqual(await repairStore(folder, "then"), { setAside: undefined, tasks: 0, lost: [] });
  });
});
