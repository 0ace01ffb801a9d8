import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { headOf, put } from "../conformance/samples.js";
import { EmbeddedEngine } from "./embedded-engine.js";
import { makePrivateFolder } from "./private-folder.js";
import { repairStore } from "./repair.js";
import { StoreProcess } from "./testing/processes.js";

describe("who may read a store", {
  skip: process.getuid === undefined ? "no such rights here" : false,
}, () => {
  let parent: string;
  let folder: string;
  let umask: number;
  beforeEach(() => {
    umask = process.umask(0);
    parent = mkdtempSync(join(tmpdir(), "yard-private-"));
    folder = join(parent, "data");
  });
  afterEach(() => {
    process.umask(umask);
    rmSync(parent, { recursive: true });
  });

  function assertPrivate(): void {
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    for (const name of readdirSync(folder)) {
      assert.equal(statSync(join(folder, name)).mode & 0o077, 0, `${name} is open to others`);
    }
  }

  test("only its owner, with a umask that allows everything, running and after a crash, a repair and a shutdown", async () => {
    const running = new StoreProcess(folder);
    await running.until(({ acked }) => acked === 3);
    assert.ok(readdirSync(folder).some((name) => name.startsWith("yard.journal")));
    assert.ok(readdirSync(folder).includes("yard.mdb-lock"));
    assertPrivate();
    await running.kill();
    await repairStore(folder, "then");
    assertPrivate();
    const engine = new EmbeddedEngine({ folder, reserveBytes: 1000 });
    await engine.open();
    assertPrivate();
    await engine.close();
    assertPrivate();
  });

  test("a folder that was open to all is closed, with the files in it, and that is said", async () => {
    mkdirSync(folder, { mode: 0o777 });
    writeFileSync(join(folder, "yard.mdb.bad-then"), "set aside", { mode: 0o666 });
    const notices: string[] = [];
    const engine = new EmbeddedEngine({ folder, isLocal: true, onNotice: (what) => notices.push(what) });
    const { epoch } = await engine.open();
    await engine.commit({ epoch, number: 1, changes: [put(headOf(1))] });
    assertPrivate();
    assert.equal(notices.length, 1);
    assert.ok(notices[0]?.includes(`${folder}, ${join(folder, "yard.mdb.bad-then")}`), notices[0]);
    await engine.close();
    assertPrivate();
  });

  test("a folder of other things keeps its permissions, and is refused", async () => {
    mkdirSync(folder, { mode: 0o755 });
    writeFileSync(join(folder, "holiday.txt"), "");
    const engine = new EmbeddedEngine({ folder, isLocal: true });
    await assert.rejects(engine.open(), {
      name: "StoreFault",
      code: "exposed",
      message: `${folder} is open to other users and has other things in it, such as holiday.txt (name a folder of this user's own with --data)`,
    });
    assert.equal(statSync(folder).mode & 0o777, 0o755);
    assert.deepEqual(readdirSync(folder), ["holiday.txt"]);
  });

  test("an empty volume is taken", async () => {
    mkdirSync(join(folder, "lost+found"), { recursive: true });
    const engine = new EmbeddedEngine({ folder, isLocal: true });
    await engine.open();
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    await engine.close();
  });

  test("another user's folder that is open to others is refused", {
    skip: process.getuid?.() === 0 ? false : "only root may act as two users",
  }, () => {
    mkdirSync(folder);
    chmodSync(parent, 0o777);
    chmodSync(folder, 0o777);
    const script = `
      process.setgid(65534); process.setuid(65534);
      const { makePrivateFolder } = await import(${JSON.stringify(new URL("./private-folder.js", import.meta.url))});
      try { makePrivateFolder(${JSON.stringify(folder)}); } catch (fault) { console.log(fault.code, fault.message); }`;
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
    });
    if (/EACCES/.test(stderr)) return; // The other user cannot read this program here.
    assert.match(stdout, /^exposed .*data is open to other users, belongs to user 0/, stderr);
    assert.deepEqual(makePrivateFolder(folder), [folder], "root may close it");
  });
});
