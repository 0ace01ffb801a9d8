// Schedules of a real dispatcher: over http, SDK and command line, across kill -9 and downtime, and
// the commands of docs/schedules.md exactly as written there.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { connect, type HttpClient, type Task, work } from "@yardmaster/sdk";
import { patience } from "../patience.js";
import { serveYard } from "./served-yard.js";

const bin = fileURLToPath(new URL("../../../packages/cli/bin/yardmaster.js", import.meta.url));
const page = readFileSync(fileURLToPath(new URL("../../../docs/schedules.md", import.meta.url)), "utf8");

async function keysOf(client: HttpClient, queue: string): Promise<(string | null)[]> {
  const keys: (string | null)[] = [];
  for await (const { key } of client.tasks({ queue })) keys.push(key);
  return keys;
}

/** Resolves when this many tasks of the queue were submitted. */
async function submitted(client: HttpClient, queue: string, count: number): Promise<void> {
  for await (const { type, data } of client.events()) {
    if (type !== "snapshot" && (type !== "task" || (data as Task).queue !== queue)) continue;
    if ((await keysOf(client, queue)).length >= count) return;
  }
}

test("a schedule runs over kill -9 and downtime; no time runs twice", patience, async () => {
  let yard = await serveYard();
  let client = (await connect(yard.url)) as HttpClient;
  await client.schedules.put("fast", { queue: "fast", everyMs: 1_000, overlap: "queue", payload: "now" });
  await submitted(client, "fast", 1);
  // These two are due while it is down. The time until then is for a busy machine.
  const start = new Date(Date.now() + 5_000);
  for (const catchUp of ["one", "none"] as const)
    await client.schedules.put(catchUp, { queue: catchUp, everyMs: 3_600_000, start, catchUp });
  await client.close();
  yard.process.kill("SIGSTOP");
  await new Promise((resolve) => setTimeout(resolve, start.getTime() + 500 - Date.now()));
  yard = await yard.restart("SIGKILL");
  client = (await connect(yard.url)) as HttpClient;
  await submitted(client, "fast", 3);
  await submitted(client, "one", 1);
  const keys = await keysOf(client, "fast");
  assert.equal(new Set(keys).size, keys.length, keys.join(" "));
  for (const key of keys) assert.match(key ?? "", /^schedule:fast:20\d\d-/);
  assert.equal((await keysOf(client, "one")).length, 1);
  assert.deepEqual(await keysOf(client, "none"), []);
  const { nextTimes, lastTask } = await client.schedules.get("fast");
  assert.equal(nextTimes.length, 10);
  assert.ok(lastTask !== null);
  const shown = spawnSync(process.execPath, [bin, "task", lastTask, "--url", yard.url], { encoding: "utf8" });
  assert.match(shown.stdout, /submitted +through schedule fast, /);
  const payloads: string[] = [];
  const worker = await work(yard.url, { queue: "fast" }, async (payload) => {
    payloads.push(payload.text());
    return "done";
  });
  await client.result(lastTask);
  assert.ok(payloads.every((payload) => payload === "now"));
  await worker.stop();
  await client.close();
  await yard.stop();
});

test("the commands of docs/schedules.md work", patience, async () => {
  const yard = await serveYard();
  const npx = `npx() { shift; '${process.execPath}' '${bin}' "$@"; }\n`;
  const blocks = [...page.matchAll(/<!-- run -->\n```sh\n([\s\S]*?)```/g)].map(([, script]) => script);
  assert.equal(blocks.length, 2);
  for (const script of blocks) {
    const { stdout, stderr, status } = spawnSync(
      "sh",
      ["-e", "-c", npx + (script ?? "").replaceAll("http://127.0.0.1:7420", yard.url)],
      { cwd: yard.folder, encoding: "utf8", env: { ...process.env, YARD_URL: yard.url } },
    );
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, /reports/);
  }
  assert.equal(await yard.stop(), 0);
});
