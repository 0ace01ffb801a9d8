// The container image: built as the documentation says, started, and given a task. It downloads an
// image and takes minutes, so it runs only where it is asked for, as in the public workflow.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const engine = ["podman", "docker"].find((name) => spawnSync(name, ["info"]).status === 0);
const lintedOnly =
  engine === undefined
    ? "neither Podman nor Docker runs here: the Containerfile is only linted (deploy.test.ts)"
    : "YARD_CONTAINER=1 is not set: the Containerfile is only linted (deploy.test.ts)";
const isWanted = engine !== undefined && process.env.YARD_CONTAINER === "1";

test("the image builds, starts and accepts a task", { skip: isWanted ? false : lintedOnly }, async (t) => {
  const name = `yardmaster-test-${process.pid}`;
  const folder = mkdtempSync(join(tmpdir(), "yard-container-"));
  const token = randomBytes(16).toString("hex");
  // The user in the container is another one, and must be able to read it.
  writeFileSync(join(folder, "yard-token"), token, { mode: 0o644 });
  t.after(() => {
    spawnSync(engine ?? "", ["rm", "--force", name]);
    spawnSync(engine ?? "", ["volume", "rm", "--force", name]);
    spawnSync(engine ?? "", ["rmi", "--force", name]);
    rmSync(folder, { recursive: true });
  });
  run("build", "-f", "docs/deploy/Containerfile", "-t", name, ".");
  const mounts = ["-v", `${folder}/yard-token:/run/secrets/yard-token:ro,z`, "-v", `${name}:/data`];
  run("run", "--detach", "--name", name, "-p", "127.0.0.1::7420", ...mounts, name);
  const url = `http://${run("port", name, "7420").trim().split("\n")[0]}`;
  await ready(url);
  const headers = { Authorization: `Bearer ${token}` };
  const accepted = await fetch(`${url}/v1/queues/q/tasks`, { method: "POST", body: "one", headers });
  assert.equal(accepted.status, 201, await accepted.text());
  assert.equal((await fetch(`${url}/v1/queues`)).status, 401);

  // The volume keeps the task, and SIGTERM reaches the dispatcher itself.
  run("restart", name);
  const again = `http://${run("port", name, "7420").trim().split("\n")[0]}`;
  await ready(again);
  assert.equal(await (await fetch(`${again}/v1/tasks/1/payload`, { headers })).text(), "one");
});

function run(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(engine ?? "", args, { cwd: root, encoding: "utf8" });
  assert.equal(status, 0, `${engine} ${args.join(" ")}: ${stderr}`);
  return stdout;
}

async function ready(url: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    if (answer?.ok) return;
    await setTimeout(200);
  }
}
