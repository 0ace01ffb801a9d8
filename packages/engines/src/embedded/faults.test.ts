import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { TaskId } from "@yardmaster/core";
import { EmbeddedEngine } from "./embedded-engine.js";
import { StoreFault } from "./store-faults.js";
import { type ProcessReport, StoreProcess } from "./testing/processes.js";

const shimSource = fileURLToPath(new URL("../../testing/faulty-disk.c", import.meta.url));
const hasCompiler = spawnSync("cc", ["--version"]).status === 0;
const isRoot = process.getuid?.() === 0;

/** Everything acknowledged is in the store, with the right contents. */
async function assertHolds(folder: string, reports: readonly ProcessReport[]): Promise<void> {
  const engine = new EmbeddedEngine({ folder, isLocal: true });
  await engine.open();
  const last = reports.findLast((each) => each.last !== undefined)?.last ?? 0;
  const live = new Set<number>();
  let settled = 0;
  await engine.load((item) => {
    if (item.type === "task") live.add(item.task.head.id);
    if (item.type === "segment") settled += item.segment.count;
  });
  for (let id = 1; id <= last; id += 2) assert.ok(live.has(id), `task ${id} of ${last} acknowledged`);
  assert.ok(settled >= Math.floor(last / 2), `${settled} settled of ${last} acknowledged`);
  const { items } = await engine.find({ state: "done", limit: 100_000 });
  assert.equal(items.length, settled, "the index knows every settled task");
  for (const id of last === 0 ? [] : [1, 2, last]) {
    const body = await engine.body(id as TaskId, "payload");
    assert.equal(Buffer.from(body?.bytes ?? []).toString(), `payload ${id}`);
  }
  await engine.close();
}

describe("faults of the disk", () => {
  let folder: string;
  let shim: string;
  const started: StoreProcess[] = [];
  before(() => {
    shim = join(mkdtempSync(join(tmpdir(), "yard-shim-")), "faulty-disk.so");
    if (hasCompiler) execFileSync("cc", ["-shared", "-fPIC", "-O1", "-o", shim, shimSource, "-ldl"]);
  });
  after(() => rmSync(join(shim, ".."), { recursive: true }));
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "yard-fault-"));
  });
  afterEach(async () => {
    for (const each of started.splice(0)) await each.kill();
    chmodSync(folder, 0o700);
    rmSync(folder, { recursive: true });
  });
  const start = (...options: ConstructorParameters<typeof StoreProcess>) => {
    const process = new StoreProcess(...options);
    started.push(process);
    return process;
  };
  const needsCompiler = { skip: hasCompiler ? false : "no C compiler to build the faulty disk with" };

  test("a file that may not grow: refused, nothing half done, and what was acknowledged stays", async () => {
    // The system's limit on a file's size needs no privileges. LMDB reports the short write as EIO.
    const limited = start(folder, { tasks: 50, around: ["sh", "-c", 'ulimit -f 2048; exec "$@"', "sh"] });
    await limited.ended();
    const refusal = limited.last("outcome")?.type ?? limited.last("fault");
    assert.ok(refusal === "full" || refusal === "io", JSON.stringify(limited.reports.at(-1)));
    assert.ok((limited.last("acked") ?? 0) > 10);
    await assertHolds(folder, limited.reports);
  });

  test("a disk that is full: `full`, and it goes on when there is room", {
    skip: isRoot ? false : "only root may mount a small disk",
  }, async (context) => {
    const disk = join(folder, "disk");
    mkdirSync(disk);
    if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=3m", "tmpfs", disk]).status !== 0) {
      return context.skip("no small disk could be mounted here");
    }
    try {
      const starved = start(disk, { tasks: 50 });
      assert.equal(await starved.ended(), 3, JSON.stringify(starved.reports.at(-1)));
      assert.equal(starved.last("outcome")?.type, "full");
      assert.ok((starved.last("acked") ?? 0) > 10);
      execFileSync("mount", ["-o", "remount,size=40m", disk]);
      await assertHolds(disk, starved.reports);
      const next = start(disk, { tasks: 50, batches: 3 });
      assert.equal(await next.ended(), 0);
    } finally {
      execFileSync("umount", ["-l", disk]);
    }
  });

  // LMDB syncs its pages and its root in turn.
  for (const [file, at] of [
    ["journal", 150],
    ["mdb", 150],
    ["mdb", 151],
  ] as const) {
    test(
      `sync ${at} of the ${file} fails with EIO: a commit is refused as \`io\`, and never said to be done`,
      needsCompiler,
      async () => {
        const environment = { LD_PRELOAD: shim, YARD_EIO_AT: `${at}`, YARD_EIO_ON: file };
        const failing = start(folder, { environment });
        assert.equal(await failing.ended(), 4);
        assert.equal(failing.last("fault"), "io");
        assert.match(failing.last("message") ?? "", /the disk failed/);
        assert.match(
          failing.last("again") ?? "",
          /the disk failed/,
          "the next sync succeeds, and proves nothing",
        );
        assert.ok((failing.last("acked") ?? 0) > 5);
        await assertHolds(folder, failing.reports);
      },
    );
  }

  test("the power cut anywhere: every acknowledged batch is there", needsCompiler, async () => {
    for (let cut = 0; cut < 12; cut++) {
      const own = join(folder, `${cut}`);
      // From the first writes of an empty file to the middle of a run.
      const at = 1 + Math.floor((cut * cut * 37) / 4) + cut;
      const process = start(own, {
        environment: { LD_PRELOAD: shim, YARD_CUT_AT: `${at}`, YARD_SEED: `${cut}` },
      });
      assert.equal(await process.ended(), 66);
      await assertHolds(own, process.reports);
    }
  });

  test("the store and its journal copied while they are written to: the copy holds what was acknowledged", async () => {
    const running = start(folder);
    for (let copy = 1; copy <= 5; copy++) {
      const before = running.last("acked") ?? 0;
      await running.until(({ acked = 0 }) => acked > before + copy * 7);
      // Paused, because copying takes time, and the copies must be of one moment.
      running.child.kill("SIGSTOP");
      const reports = [...running.reports];
      const own = join(folder, `copy-${copy}`);
      mkdirSync(own);
      for (const name of readdirSync(folder).filter((each) => /^yard\.(mdb|journal-\d+-\d)$/.test(each)))
        cpSync(join(folder, name), join(own, name));
      running.child.kill("SIGCONT");
      await assertHolds(own, reports);
    }
  });

  test("a folder that may not be written: refused with the folder's name", async (context) => {
    const place = join(folder, "place");
    mkdirSync(place);
    if (isRoot && spawnSync("mount", ["-t", "tmpfs", "-o", "ro", "tmpfs", place]).status !== 0) {
      return context.skip("root may write anywhere, and no read-only disk could be mounted here");
    }
    if (!isRoot) chmodSync(place, 0o500);
    try {
      for (const each of [place, join(place, "deeper")]) {
        const refused = await new EmbeddedEngine({ folder: each }).open().catch((error: unknown) => error);
        assert.ok(refused instanceof StoreFault && refused.code === "read-only", `${refused}`);
        assert.ok(refused.message.includes(each) && refused.message.includes("--data"), refused.message);
      }
      assert.equal(existsSync(join(place, "yard.mdb")), false);
    } finally {
      if (isRoot) execFileSync("umount", [place]);
      else chmodSync(place, 0o700);
    }
  });
});
