// `yardmaster demo`: a dispatcher of its own with workers at all six doors, one of which dies, and
// nothing of it at a dispatcher with real work.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { LostWorker, Queue, WorkerView } from "@yardmaster/sdk";
import { patience } from "../patience.js";
import { serveYard } from "./served-yard.js";

const bin = fileURLToPath(new URL("../../../packages/cli/bin/yardmaster.js", import.meta.url));

interface Ready {
  readonly page: string;
  readonly doors: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  return spawn(process.execPath, [bin, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
}

async function ready(child: ChildProcess): Promise<Ready> {
  const [line] = await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), "line");
  return JSON.parse(line);
}

async function items<Item>(base: string, path: string): Promise<Item[]> {
  return ((await (await fetch(new URL(path, base))).json()) as { items: Item[] }).items;
}

/** Asks until the answer is as wanted. The test's own time limit ends it otherwise. */
async function until<Answer>(
  ask: () => Promise<Answer>,
  isWanted: (answer: Answer) => boolean,
): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (isWanted(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

describe("the demo", patience, () => {
  test("six doors with workers, one that dies, queues named demo-…, and never a real dispatcher", async () => {
    const real = await serveYard({ engine: "memory" });
    const child = start(["demo", "--json", "--forever"], { YARD_URL: real.url });
    const ended = once(child, "exit");
    try {
      const { page, doors } = await ready(child);
      const workers = await until(
        () => items<WorkerView>(page, "v1/workers"),
        (list) => new Set(list.map(({ door }) => door)).size === 6,
      );
      assert.ok(workers.length >= 9);
      const [lost] = await until(
        () => items<LostWorker>(page, "v1/workers:lost"),
        (list) => list.some(({ held }) => held > 0),
      );
      assert.equal(lost?.door, "pingpong");
      const queues = await until(
        () => items<Queue>(page, "v1/queues"),
        (list) => list.filter(({ doneBy }) => Object.keys(doneBy).length > 0).length >= 6,
      );
      for (const { name } of queues) assert.match(name, /^demo-/);
      const answer = await fetch(page);
      assert.match(await answer.text(), /<title>/);
      assert.deepEqual(await items(real.url, "v1/workers"), []);
      assert.deepEqual(await items(real.url, "v1/queues"), []);
      child.kill("SIGINT");
      assert.equal((await ended)[0], 0);
      assert.equal(existsSync(dirname(doors.pulse?.dir ?? "")), false, "its folder is gone");
    } finally {
      child.kill("SIGKILL");
      await real.stop();
    }
  });

  test("it ends by itself, and npm start -- --demo is the same", async () => {
    const child = start(["demo", "--for", "300ms"]);
    const [[code], said] = await Promise.all([once(child, "exit"), text(child)]);
    assert.equal(code, 0);
    assert.match(said, /page {8}http:\/\/127\.0\.0\.1:\d+\/\n/);
    assert.match(said, /It ends after 0\.3 s, or with Ctrl-C\.[\s\S]*The demo is over/);
    const served = start(["serve", "--demo", "--forever", "--json"]);
    const ended = once(served, "exit");
    assert.match((await ready(served)).page, /^http:/);
    served.kill("SIGTERM");
    assert.equal((await ended)[0], 0);
  });

  test("settings of a real dispatcher do not go with it", async () => {
    for (const args of [
      ["serve", "--demo", "--data", "./somewhere"],
      ["serve", "--demo", "--config", "yardmaster.yaml"],
      ["serve", "--forever"],
      ["demo", "--url", "http://127.0.0.1:7420"],
    ]) {
      const child = spawn(process.execPath, [bin, ...args], { stdio: "ignore" });
      assert.equal((await once(child, "exit"))[0], 2, args.join(" "));
    }
  });
});

async function text({ stdout }: ChildProcess): Promise<string> {
  let said = "";
  for await (const piece of stdout ?? []) said += piece;
  return said;
}
