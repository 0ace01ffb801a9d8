// The ten commands of docs/cluster.md, one after another in one shell, as written but for ports.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { patience } from "../patience.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const bin = join(root, "packages/cli/bin/yardmaster.js");
const page = readFileSync(join(root, "docs/cluster.md"), "utf8");

const place = new URL("../../../packages/engines/dist/postgres/testing/server.js", import.meta.url);
const { withoutPostgres, programs, account } = (await import(place.href)) as {
  withoutPostgres: string | false;
  programs: string | undefined;
  account: { uid: number; gid: number } | undefined;
};

async function freePort(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return `${port}`;
}

interface Nodes {
  readonly items: readonly { readonly name: string; readonly role: string; readonly lag: number }[];
}

test("docs/cluster.md: a cluster in ten commands", { skip: withoutPostgres, ...patience }, async (t) => {
  const ports = new Map<string, string>();
  for (const port of ["5433", "5434", "7420", "7421"]) ports.set(port, await freePort());
  const here = (text: string) =>
    text.replace(/\b(5433|5434|7420|7421)\b/g, (port) => ports.get(port) ?? port);
  const block = /<!-- a cluster in ten commands -->\n```sh\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
  const commands = here(block).trim().split("\n");
  assert.equal(commands.length, 10);
  const folder = mkdtempSync(join(tmpdir(), "yard-ten-"));
  if (account !== undefined) chownSync(folder, account.uid, account.gid);
  for (const [, name = "", yaml = ""] of page.matchAll(/```yaml\n# (n\d\.yaml)\n([\s\S]*?)```/g)) {
    writeFileSync(join(folder, name), here(yaml));
  }
  const shell = spawn("sh", [], {
    cwd: folder,
    ...account,
    env: { ...process.env, PATH: `${programs}:${process.env.PATH}`, HOME: folder, YARD_LOG: "error" },
    stdio: ["pipe", "pipe", "pipe"],
    // Its group is ended with everything that runs in the background.
    detached: true,
  });
  let said = "";
  for (const stream of [shell.stdout, shell.stderr]) stream.on("data", (bytes) => (said += bytes));
  t.after(async () => {
    process.kill(-(shell.pid as number), "SIGKILL");
    await once(shell, "close");
    for (const name of ["db2", "db1"])
      execFileSync(join(programs ?? "", "pg_ctl"), ["-D", name, "-m", "immediate", "stop"], {
        cwd: folder,
        ...account,
      });
    rmSync(folder, { recursive: true });
  });
  const untilSaid = async (what: RegExp) => {
    while (!what.test(said)) {
      assert.equal(shell.exitCode, null, said);
      await pause(20);
    }
  };
  shell.stdin.write(`npx() { shift; exec '${process.execPath}' '${bin}' "$@"; }\n`);
  const run = async (command: string, number: number) => {
    const isBackground = command.endsWith("&");
    // `exec` must not end this shell.
    shell.stdin.write(isBackground ? `${command}\n` : `(${command})\necho "command ${number}: $?"\n`);
    if (!isBackground) {
      await untilSaid(new RegExp(`command ${number}: \\d+\n`));
      assert.match(said, new RegExp(`command ${number}: 0\n`), said);
    }
  };
  const roles = async () => {
    for (const port of ["7420", "7421"]) {
      const answer = await fetch(here(`http://127.0.0.1:${port}/v1/nodes`)).catch(() => undefined);
      if (answer?.status !== 200) continue;
      const { items } = (await answer.json()) as Nodes;
      return items.map(({ name, role }) => `${name} ${role}`);
    }
    return [];
  };
  for (const [index, command] of commands.slice(0, 8).entries()) {
    await run(command, index + 1);
    // The first to start owns the yard.
    if (index === 6) while ((await roles()).join() !== "n1 owner") await pause(50);
  }
  while ((await roles()).length < 2) await pause(50);
  assert.deepEqual(await roles(), ["n1 owner", "n2 standby"]);
  await run(commands[8] ?? "", 9);
  assert.match(said, /n1 +owner[\s\S]*n2 +standby/);
  await run(commands[9] ?? "", 10);
  while ((await roles()).join() !== "n2 owner") await pause(50);
  // The page says that the seventh command starts it again, as a standby.
  await run(commands[6] ?? "", 11);
  while ((await roles()).length < 2) await pause(50);
  assert.deepEqual(await roles(), ["n1 standby", "n2 owner"]);
});
