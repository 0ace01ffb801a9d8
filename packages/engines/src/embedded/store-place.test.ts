// A store whose files are deleted or moved, under a running engine and between two starts.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { TaskId } from "@yardmaster/core";
import { headOf, put } from "../conformance/samples.js";
import { EmbeddedEngine } from "./embedded-engine.js";
import { repairStore } from "./repair.js";
import { StoreFault } from "./store-faults.js";
import { StoreProcess } from "./testing/processes.js";

describe("files that are taken away", () => {
  let parent: string;
  let folder: string;
  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), "yard-place-"));
    folder = join(parent, "data");
  });
  afterEach(() => rmSync(parent, { recursive: true, force: true }));

  async function faultOf(work: Promise<unknown>): Promise<StoreFault> {
    const error = await work.then(
      (value) => new Error(`it came to ${JSON.stringify(value)}`),
      (caught: unknown) => caught,
    );
    assert.ok(error instanceof StoreFault, `${error}`);
    return error;
  }

  const takings: Record<string, () => void> = {
    "the file is deleted": () => rmSync(join(folder, "yard.mdb")),
    "the folder is deleted": () => rmSync(folder, { recursive: true }),
    "the folder is moved": () => renameSync(folder, `${folder}-moved`),
    "the file is replaced": () => {
      writeFileSync(join(parent, "other"), "another file");
      renameSync(join(parent, "other"), join(folder, "yard.mdb"));
    },
    "a journal is deleted": () => rmSync(join(folder, "yard.journal-1-1")),
    "a journal is replaced": () => {
      writeFileSync(join(parent, "other"), "");
      renameSync(join(parent, "other"), join(folder, "yard.journal-1-0"));
    },
  };

  for (const [what, take] of Object.entries(takings)) {
    test(`${what}: the next commit is refused, and so are those after it`, async () => {
      const engine = new EmbeddedEngine({ folder, isLocal: true });
      const { epoch } = await engine.open();
      await engine.commit({ epoch, number: 1, changes: [put(headOf(1))] });
      take();
      const fault = await faultOf(engine.commit({ epoch, number: 2, changes: [put(headOf(2))] }));
      assert.equal(fault.code, "gone");
      assert.match(fault.message, /was deleted, moved or replaced while it was in use/);
      assert.equal((await faultOf(engine.commit({ epoch, number: 2, changes: [] }))).code, "gone");
      await engine.close().catch(() => {});
    });
  }

  test("the file is deleted while nothing is committed: that is noticed, and the shutdown is not clean", async () => {
    let notice: (fault: Error) => void = () => {};
    const noticed = new Promise<Error>((resolve) => {
      notice = resolve;
    });
    const engine = new EmbeddedEngine({ folder, isLocal: true, onFault: (fault) => notice(fault) });
    await engine.open();
    rmSync(join(folder, "yard.mdb"));
    // The timer of the watch does not keep the process alive by itself.
    const alive = setInterval(() => {}, 1000);
    assert.match((await noticed).message, /yard\.mdb was deleted/);
    clearInterval(alive);
    await engine.close().catch(() => {});
    assert.match((await faultOf(new EmbeddedEngine({ folder }).open())).message, /yard\.mdb is not there/);
  });

  async function crash(): Promise<void> {
    const process = new StoreProcess(folder);
    await process.until(({ acked }) => acked === 5);
    await process.kill();
  }

  test("a journal that is missing after a crash is refused by name; --repair says what may be gone", async () => {
    await crash();
    const journals = readdirSync(folder).filter((name) => name.startsWith("yard.journal"));
    assert.equal(journals.length, 2);
    for (const name of journals) rmSync(join(folder, name));
    // A second start is refused too: the first must not make the folder look clean.
    for (let time = 0; time < 2; time++) {
      const fault = await faultOf(new EmbeddedEngine({ folder }).open());
      assert.equal(fault.code, "damaged");
      assert.match(fault.message, /yard\.journal-1-0 is missing.*may be gone .*--repair/);
    }
    const { lost } = await repairStore(folder, "then");
    assert.match(lost.join(), /the journal of epoch 1: what was acknowledged last may be gone/);
    const engine = new EmbeddedEngine({ folder });
    await engine.open();
    await engine.close();
  });

  test("a store that is missing is not begun anew in silence; --repair begins anew and says so", async () => {
    await crash();
    for (const name of readdirSync(folder)) if (name !== "owner.json") rmSync(join(folder, name));
    const fault = await faultOf(new EmbeddedEngine({ folder }).open());
    assert.match(fault.message, /yard\.mdb is not there, and .* had a store .*--repair/);
    assert.equal(existsSync(join(folder, "yard.mdb")), false);
    const { lost } = await repairStore(folder, "then");
    assert.match(lost.join(), /yard\.mdb: it is not there, and all that it held is gone/);
    const engine = new EmbeddedEngine({ folder });
    const { epoch } = await engine.open();
    await engine.commit({ epoch, number: 1, changes: [put(headOf(1))] });
    assert.equal((await engine.task(1 as TaskId))?.head.id, 1);
    await engine.close();
  });

  test("a crash at any moment of a start or of a clean shutdown leaves nothing that looks like a missing journal", async () => {
    const engine = new EmbeddedEngine({ folder, isLocal: true });
    const { epoch } = await engine.open();
    await engine.commit({ epoch, number: 1, changes: [put(headOf(1))] });
    await engine.close();
    // A crash after the owner file says "clean" and before the journals are deleted.
    for (const each of ["0", "1"]) writeFileSync(join(folder, `yard.journal-${epoch}-${each}`), "");
    const next = new EmbeddedEngine({ folder, isLocal: true });
    await next.open();
    await next.close();
    // A crash after the takeover and before the owner file names the new journals.
    writeFileSync(join(folder, "owner.json"), JSON.stringify({ pid: 999_999_999, journal: epoch }));
    const last = new EmbeddedEngine({ folder, isLocal: true });
    assert.equal((await last.open()).epoch, epoch + 2);
    await last.close();
  });
});
