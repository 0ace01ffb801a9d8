// A full disk under a real dispatcher. With its reserve it continues, and can be restarted, without
// accepting tasks. If the reserve does not help, it exits with 1, and acknowledged tasks are there
// when it is started with room.

import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { closedDoors } from "@yardmaster/server";
import { patience } from "../patience.js";

const bin = fileURLToPath(new URL("../../../packages/cli/bin/yardmaster.js", import.meta.url));

function serve(folder: string, around: readonly string[]) {
  const [command = "", ...args] = [...around, process.execPath, bin, "serve", "--json"];
  const child = spawn(command, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    log += chunk;
  });
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, "exit");
  const ready = once(lines, "line").then(([line]) => {
    const { doors } = JSON.parse(String(line)) as { doors: { http: { listen: string } } };
    return `http://${doors.http.listen}`;
  });
  const url = Promise.race([ready, ended.then(() => assert.fail(`it ended before it was ready: ${log}`))]);
  url.catch(() => {});
  return { child, url, ended, log: () => log };
}

function configure(folder: string, settings: object = {}): void {
  const doors = { ...closedDoors, http: { listen: "127.0.0.1:0" } };
  writeFileSync(join(folder, "yardmaster.json"), JSON.stringify({ doors, ...settings }));
}

async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000;
  while (!(await isSo())) {
    assert.ok(Date.now() < end, `in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Writes until nothing more fits. */
function fill(path: string): void {
  for (const piece of [Buffer.alloc(65_536, "x"), Buffer.alloc(512, "x")]) {
    try {
      for (;;) appendFileSync(path, piece);
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
    }
  }
}

test("a full disk: nothing is accepted, all else goes on, also over a restart, until there is room", {
  timeout: 180_000,
  skip: process.getuid?.() === 0 ? false : "only root may mount a small disk",
}, async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "yard-full-"));
  const disk = join(folder, "disk");
  mkdirSync(disk);
  if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=60m", "tmpfs", disk]).status !== 0) {
    rmSync(folder, { recursive: true });
    return context.skip("no small disk could be mounted here");
  }
  configure(folder, { data: "./disk/data" });
  const reserve = join(disk, "data", "yard.reserve");
  const filler = join(disk, "filler");
  const started: ReturnType<typeof serve>[] = [];
  const start = () => {
    const yard = serve(folder, []);
    started.push(yard);
    return yard;
  };
  const submit = (url: string) => fetch(`${url}/v1/queues/q/tasks`, { method: "POST", body: "work" });
  try {
    const empty = start();
    let url = await empty.url;
    const ids: string[] = [];
    for (let task = 0; task < 20; task++) {
      ids.push(((await (await submit(url)).json()) as { id: string }).id);
    }
    empty.child.kill("SIGTERM");
    assert.deepEqual(await empty.ended, [0, null]);
    // Nothing is left to write, so no transaction meets the full disk before the next look at it.
    const first = start();
    url = await first.url;
    await until("the reserve is there", () => existsSync(reserve));
    assert.equal(statSync(reserve).size, (60 * 2 ** 20) / 8, "an eighth of a small disk");
    fill(filler);
    await until("the reserve is released", () => statSync(reserve).size === 0);
    await until("submissions are refused", async () => {
      const answer = await submit(url);
      if (answer.status !== 201) {
        assert.equal(answer.status, 429);
        assert.match(await answer.text(), /queue_full.*The disk of .* is full/);
        return true;
      }
      ids.push(((await answer.json()) as { id: string }).id);
      return false;
    });
    first.child.kill("SIGKILL");
    await first.ended;
    const second = start();
    url = await second.url;
    assert.match(second.log(), /The disk of .* is full/);
    assert.equal((await submit(url)).status, 429);
    for (const id of ids) {
      assert.equal((await fetch(`${url}/v1/tasks/${id}`)).status, 200, `task ${id}`);
    }
    // Accepted work is done, and its outcome is kept.
    const claimed = await fetch(`${url}/v1/queues/q:claim?worker=w`, { method: "POST" });
    assert.equal(claimed.status, 200);
    const { attempts } = (await claimed.json()) as {
      attempts: { task: string; attempt: number; token: string }[];
    };
    const { task, attempt, token } = attempts[0] as (typeof attempts)[number];
    const held = `${url}/v1/tasks/${task}/attempts/${attempt}`;
    const headers = { "Yard-Token": token };
    assert.equal((await fetch(`${held}:done`, { method: "POST", headers, body: "result" })).status, 200);
    rmSync(filler);
    await until("tasks are accepted again", async () => (await submit(url)).status === 201);
    assert.equal(statSync(reserve).size, (60 * 2 ** 20) / 8, "the reserve is built before");
    second.child.kill("SIGTERM");
    assert.deepEqual(await second.ended, [0, null]);
    fill(filler);
    const third = start();
    url = await third.url;
    assert.equal((await submit(url)).status, 429);
    assert.equal(
      ((await (await fetch(`${url}/v1/tasks/${task}`)).json()) as { state: string }).state,
      "done",
    );
    third.child.kill("SIGTERM");
    assert.deepEqual(await third.ended, [0, null]);
  } finally {
    for (const { child } of started) child.kill("SIGKILL");
    execFileSync("umount", ["-l", disk]);
    rmSync(folder, { recursive: true });
  }
});

test("a data folder that is deleted ends it with 1, and nothing more is acknowledged", {
  timeout: 60_000,
}, async () => {
  for (const isBusy of [true, false]) {
    const folder = mkdtempSync(join(tmpdir(), "yard-deleted-"));
    configure(folder);
    const yard = serve(folder, []);
    const url = await yard.url;
    const submit = () =>
      fetch(`${url}/v1/queues/q/tasks`, { method: "POST", body: "work" }).then(
        ({ status }) => status,
        () => 0,
      );
    assert.equal(await submit(), 201);
    rmSync(join(folder, "yard-data"), { recursive: true });
    if (isBusy) assert.notEqual(await submit(), 201);
    assert.deepEqual(await yard.ended, [1, null]);
    assert.match(yard.log(), /was deleted, moved or replaced while it was in use/);
    rmSync(folder, { recursive: true });
  }
});

test("a disk without room ends it, and nothing that was acknowledged is lost", {
  ...patience,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "yard-full-"));
  configure(folder);
  // The system's limit on file size: 4 MB, in blocks of 1024 or 512 bytes.
  const limited = serve(folder, ["sh", "-c", 'ulimit -f 8192; exec "$@"', "sh"]);
  const url = await limited.url;
  const acknowledged: string[] = [];
  const body = Buffer.alloc(3000, "x");
  for (;;) {
    const answer = await fetch(`${url}/v1/queues/q/tasks`, { method: "POST", body }).catch(() => undefined);
    if (answer?.status !== 201) {
      if (answer !== undefined) assert.equal(answer.status, 503);
      break;
    }
    acknowledged.push(((await answer.json()) as { id: string }).id);
  }
  const [code] = await limited.ended;
  assert.equal(code, 1);
  assert.match(limited.log(), /full/);
  assert.ok(acknowledged.length > 100, `${acknowledged.length} were acknowledged`);

  const roomy = serve(folder, []);
  const again = await roomy.url;
  for (const id of acknowledged) {
    const task = (await (await fetch(`${again}/v1/tasks/${id}`)).json()) as { state: string };
    assert.equal(task.state, "waiting", `task ${id}`);
  }
  roomy.child.kill("SIGTERM");
  assert.deepEqual(await roomy.ended, [0, null]);
  rmSync(folder, { recursive: true });
});
