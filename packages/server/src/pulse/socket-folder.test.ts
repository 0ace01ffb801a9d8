// Modes, owner and group of the folder of sockets.

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { FolderSettings } from "./folder-access.js";
import { openSocketFolder } from "./socket-folder.js";

const base = mkdtempSync(join(tmpdir(), "yard-pulse-"));
after(() => rmSync(base, { recursive: true }));
let last = 0;

async function opened(settings: FolderSettings, existingMode?: number) {
  const dir = join(base, String(++last));
  if (existingMode !== undefined) {
    mkdirSync(dir);
    chmodSync(dir, existingMode);
  }
  const folder = openSocketFolder(dir, join(base, "instead"), settings);
  await folder.listen(
    () => {},
    () => {},
  );
  const [of, main] = [statSync(dir), statSync(folder.mainPath)];
  await folder.close();
  const modes = [of.mode & 0o777, main.mode & 0o777].map((mode) => mode.toString(8));
  return { modes, owners: [of.uid, main.uid], groups: [of.gid, main.gid] };
}

test("by default the folder is for the user and its group", async () => {
  assert.deepEqual((await opened({})).modes, ["750", "660"]);
});

test("a folder that exists keeps its mode, unless the configuration names one", async () => {
  assert.deepEqual((await opened({}, 0o711)).modes, ["711", "660"]);
  assert.deepEqual((await opened({ dirMode: "0770", socketMode: "666" }, 0o711)).modes, ["770", "666"]);
});

test("owner and group, as far as this user may set them", async () => {
  const { getuid, getgid } = process;
  if (getuid === undefined || getgid === undefined) return;
  const own = { owner: String(getuid.call(process)), group: String(getgid.call(process)) };
  const { owners, groups } = await opened(own);
  assert.deepEqual([...owners, ...groups], [own.owner, own.owner, own.group, own.group].map(Number));
  if (getuid.call(process) !== 0) {
    await assert.rejects(opened({ owner: "0" }), /may not set the mode, owner or group/);
    return;
  }
  const given = await opened({ owner: "12345", group: "54321" });
  assert.deepEqual(
    [given.owners, given.groups],
    [
      [12345, 12345],
      [54321, 54321],
    ],
  );
});

test("a user or group that does not exist stops the start", async () => {
  await assert.rejects(opened({ group: "no-such-group-here" }), /there is no group no-such-group-here/);
  await assert.rejects(opened({ owner: "no-such-user-here" }), /there is no user no-such-user-here/);
});
