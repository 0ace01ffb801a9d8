// Standard output whose reader goes away, or that cannot be written.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { connect, type YardClient } from "@yardmaster/sdk";
import { bin, CommandYard } from "./testing/commands.js";

const yard = new CommandYard();
let client: YardClient;
before(async () => {
  await yard.serve();
  client = await connect(yard.url);
});
after(async () => {
  await client.close();
  await yard.close();
});

describe("the reader of standard output goes away", () => {
  for (const flags of [[], ["--json"]]) {
    test(`work ${flags.join(" ")} finishes its tasks and ends`, async () => {
      const fifo = join(yard.folder, `fifo${flags.length}`);
      spawnSync("mkfifo", [fifo]);
      const queue = `unread${flags.length}`;
      const script = 'read n; if [ "$n" = slow ]; then cat "$FIFO"; fi; echo "$n"';
      const slow = await client.submit("slow\n", { queue });
      const quick = await client.submit("quick\n", { queue });
      const args = ["work", yard.url, "-q", queue, "-c", "2", ...flags, "--", "sh", "-c", script];
      const { child, ended } = yard.start(args, { env: { FIFO: fifo } });
      child.stdout?.destroy();
      const quickEnd = client.result(quick.id).catch(() => {});
      await Promise.race([ended, Promise.all([quickEnd, once(child.stderr as never, "data")])]);
      writeFileSync(fifo, "");
      const { code, stderr } = await ended;
      assert.equal(code, 0, stderr);
      for (const { id } of [slow, quick]) {
        const { state, losses } = await client.task(id);
        assert.deepEqual({ state, losses }, { state: "done", losses: 0 });
      }
      assert.match(stderr, /standard output is closed; finishing 1 task/);
    });
  }

  test("of standard error too: nothing is said, and the tasks are run", async () => {
    const { id } = await client.submit("x", { queue: "unheard" });
    const { child, ended } = yard.start([
      "work",
      yard.url,
      "-q",
      "unheard",
      "--idle",
      "1ms",
      "--",
      "ls",
      "/none",
    ]);
    child.stderr?.destroy();
    assert.equal((await ended).code, 0);
    assert.equal((await client.task(id)).state, "failed");
  });
});

describe("standard output cannot be written", {
  skip: existsSync("/dev/full") ? false : "there is no /dev/full",
}, () => {
  for (const args of [["tasks"], ["export"], ["queues", "--json"], ["--help"], ["completion", "bash"]]) {
    test(args.join(" "), async () => {
      const child = spawn(process.execPath, [bin, ...args], {
        env: { ...process.env, YARD_URL: yard.url },
        stdio: ["ignore", openSync("/dev/full", "w"), "pipe"],
      });
      let stderr = "";
      child.stderr?.on("data", (chunk) => {
        stderr += chunk;
      });
      const [code] = await once(child, "close");
      assert.equal(code, 1);
      assert.match(stderr, /^yardmaster: standard output cannot be written: ENOSPC: [^\n]*\n$/);
    });
  }
});
