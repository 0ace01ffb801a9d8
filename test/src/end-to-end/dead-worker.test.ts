// A worker that is killed while it holds a task: the task runs elsewhere when its lease expires,
// and late answers of the dead worker do not count.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { measured, patience } from "../patience.js";
import { serveYard } from "./served-yard.js";

const leaseMs = 1_000;

interface Attempt {
  readonly task: string;
  readonly attempt: number;
  readonly token: string;
}

test("kill -9 of a worker that holds a task", patience, async (t) => {
  const yard = await serveYard();
  const post = (path: string, body = "", headers: Record<string, string> = {}) =>
    fetch(`${yard.url}${path}`, { method: "POST", body, headers });

  const submitted = await post("/v1/queues/render/tasks", "frame");
  assert.equal(submitted.status, 201);

  // A worker in its own process: it claims a task, prints it, and works forever.
  const claim = `${yard.url}/v1/queues/render:claim?worker=doomed&lease=${leaseMs}ms`;
  const script = `const r = await fetch(${JSON.stringify(claim)}, { method: "POST" });
    console.log(JSON.stringify((await r.json()).attempts[0])); setInterval(() => {}, 1000);`;
  const worker = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(worker.stdout, "data");
  const held = JSON.parse(String(line)) as Attempt;
  worker.kill("SIGKILL");
  await once(worker, "exit");
  const killedAt = performance.now();

  const next = await post("/v1/queues/render:claim?worker=heir&wait=120s");
  assert.equal(next.status, 200);
  const [heir] = ((await next.json()) as { attempts: Attempt[] }).attempts;
  const tookMs = performance.now() - killedAt;
  assert.ok(heir !== undefined && heir.task === held.task && heir.attempt > held.attempt);
  measured(t, `from kill -9 to running elsewhere, with a lease of ${leaseMs} ms`, tookMs, leaseMs + 1_000);

  const late = await post(`/v1/tasks/${held.task}/attempts/${held.attempt}:done`, "late", {
    "Yard-Token": held.token,
  });
  assert.equal(late.status, 409);
  assert.equal(((await late.json()) as { code: string }).code, "stale_attempt");

  const done = await post(`/v1/tasks/${heir.task}/attempts/${heir.attempt}:done`, "done", {
    "Yard-Token": heir.token,
  });
  assert.equal(done.status, 200);
  const task = (await (await fetch(`${yard.url}/v1/tasks/${held.task}`)).json()) as {
    state: string;
    story: { to: string; cause: string; attempt?: number }[];
  };
  assert.equal(task.state, "done");
  assert.deepEqual(
    task.story.map(({ to, cause, attempt }) => `${to} ${cause} ${attempt ?? ""}`.trim()),
    [
      "waiting submitted",
      `running assigned ${held.attempt}`,
      `waiting lost: lease_over ${held.attempt}`,
      `running assigned ${heir.attempt}`,
      `running late: done refused ${held.attempt}`,
      `done done ${heir.attempt}`,
    ],
  );
  const result = await fetch(`${yard.url}/v1/tasks/${held.task}/result`);
  assert.equal(await result.text(), "done");
  assert.equal(await yard.stop(), 0);
});
