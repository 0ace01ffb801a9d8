import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { defaultCoreOptions } from "@yardmaster/core";
import { EmbeddedEngine } from "@yardmaster/engines";
import { realClock } from "./clock.js";
import { Runtime } from "./runtime.js";

test("a load says how many tasks there are, and how far it is", async () => {
  const folder = mkdtempSync(join(tmpdir(), "yard-load-"));
  const said: unknown[] = [];
  const start = async () => {
    const runtime = new Runtime({
      engine: new EmbeddedEngine({ folder, isLocal: true, durability: "memory" }),
      clock: realClock,
      core: { ...defaultCoreOptions, random: () => 0.5 },
      onFatal: (fault) => assert.fail(fault),
      onOpened: (tasks) => said.push(`opened ${tasks}`),
      onLoading: (loading) => said.push(loading),
    });
    await runtime.start();
    return runtime;
  };
  const first = await start();
  const payload = { mediaType: "text/plain", size: 1, bytes: Buffer.from("x") };
  for (let task = 0; task < 2500; task++) {
    first.port("test").post({ type: "task-submitted", submission: { queue: "q", payload } });
  }
  await first.stop(30_000);
  const second = await start();
  await second.stop(30_000);
  assert.deepEqual(said, [
    "opened 0",
    "opened 2500",
    { tasks: 1000, records: 1000 },
    { tasks: 2000, records: 2000 },
  ]);
  rmSync(folder, { recursive: true });
});
