// Bulk actions of a real dispatcher: over http, SDK and command line, and with kill -9 in the
// middle.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Action, connect, type HttpClient } from "@yardmaster/sdk";
import { patience } from "../patience.js";
import { type ServedYard, serveYard } from "./served-yard.js";

const bin = fileURLToPath(new URL("../../../packages/cli/bin/yardmaster.js", import.meta.url));
/** Room for every task that is cancelled here, so that each can still be counted. */
const config = { retention: { count: 1_000_000 } };

async function clientOf({ url }: ServedYard): Promise<HttpClient> {
  return (await connect(url)) as HttpClient;
}

async function submit(client: HttpClient, queue: string, count: number): Promise<void> {
  const items = Array.from({ length: count }, () => ({ payload: "p", queue }));
  for await (const { error } of client.submitMany(items, { batch: 10_000, inFlight: 2 }))
    assert.equal(error, undefined);
}

/** Resolves when the action has made progress and is still running. */
async function halfWay(client: HttpClient, id: string): Promise<Action> {
  for (;;) {
    const action = await client.action(id);
    assert.equal(action.state, "running", "the action was too quick for this test");
    if (action.done > 0) return action;
  }
}

/** The number of tasks in this state. */
async function number(client: HttpClient, queue: string, state: "waiting" | "cancelled"): Promise<number> {
  let found = 0;
  for await (const _ of client.tasks({ queue, state }, { pageSize: 1000 })) found += 1;
  return found;
}

describe("bulk actions of a real process", patience, () => {
  test("a purge goes on after kill -9, counts each task once, and spares later ones", async (t) => {
    let yard = await serveYard(config);
    t.after(() => yard.process.kill("SIGKILL"));
    let client = await clientOf(yard);
    await submit(client, "q", 20_000);
    const { id } = await client.purge("q");
    const before = await halfWay(client, id);
    await client.submit("late", { queue: "q" });
    await client.close();
    yard = await yard.restart("SIGKILL");
    client = await clientOf(yard);
    const after = await client.action(id);
    assert.ok(after.done >= before.done && after.done < 20_000, `${after.done}`);
    const ended = await client.actionEnd(id);
    assert.deepEqual([ended.state, ended.done, ended.refused], ["done", 20_000, 0]);
    assert.equal(await number(client, "q", "cancelled"), 20_000);
    assert.equal((await client.count({ queue: "q", state: "waiting" })).count, 1);
    assert.match(await client.metrics(), /action_tasks_total\{kind="purge",result="done"\} \d+/);
    await client.close();
    assert.equal(await yard.stop(), 0);
  });

  test("a retry that is half done at kill -9 submits each task once", async (t) => {
    let yard = await serveYard(config);
    t.after(() => yard.process.kill("SIGKILL"));
    let client = await clientOf(yard);
    await submit(client, "q", 2_000);
    await client.actionEnd(await client.cancelMany({ queue: "q" }));
    const { id } = await client.retryMany({ queue: "q", state: "cancelled" });
    await halfWay(client, id);
    await client.close();
    yard = await yard.restart("SIGKILL");
    client = await clientOf(yard);
    const ended = await client.actionEnd(id);
    assert.deepEqual([ended.state, ended.done, ended.refused], ["done", 2_000, 0]);
    assert.equal(await number(client, "q", "waiting"), 2_000);
    await client.close();
    assert.equal(await yard.stop(), 0);
  });

  test("a retry of graphs that is half done at kill -9 submits each once, with its dependencies", async (t) => {
    let yard = await serveYard(config);
    t.after(() => yard.process.kill("SIGKILL"));
    let client = await clientOf(yard);
    const graphs = 150;
    const items = Array.from({ length: graphs }, (_, at) => [
      { name: `a${at}`, queue: "q", payload: `a${at}` },
      { name: `b${at}`, queue: "q", payload: `b${at}`, after: [`a${at}`] },
    ]);
    const made = await client.submitGraph(items.flat());
    for (const { name, id } of made) if (name.startsWith("a")) await client.cancel(id);
    const { id } = await client.retryMany({ queue: "q" });
    await halfWay(client, id);
    await client.close();
    yard = await yard.restart("SIGKILL");
    client = await clientOf(yard);
    const ended = await client.actionEnd(id);
    assert.deepEqual([ended.state, ended.done, ended.refused], ["done", 2 * graphs, 0]);
    const newOf = new Map<string, string>();
    const afterOf = new Map<string, readonly string[]>();
    for await (const task of client.tasks({ queue: "q", state: "waiting" })) {
      assert.ok(task.retries !== null && !newOf.has(task.retries), "each is retried once");
      newOf.set(task.retries, task.id);
      afterOf.set(task.retries, task.after ?? []);
    }
    assert.equal(newOf.size, 2 * graphs);
    for (let at = 0; at < made.length; at += 2) {
      const [a, b] = [made[at]?.id ?? "", made[at + 1]?.id ?? ""];
      assert.deepEqual([afterOf.get(a), afterOf.get(b)], [[], [newOf.get(a)]]);
    }
    await client.close();
    assert.equal(await yard.stop(), 0);
  });

  test("the command line counts, refuses without --yes, and Ctrl-C stops the action", async (t) => {
    const yard = await serveYard(config);
    t.after(() => yard.process.kill("SIGKILL"));
    const client = await clientOf(yard);
    await submit(client, "q", 20_000);
    const run = (...args: string[]) => {
      const child = spawn(process.execPath, [bin, ...args, "--url", yard.url], {
        stdio: ["ignore", "pipe", "pipe"],
      });
      const said = { out: "", err: "" };
      child.stdout.on("data", (chunk) => (said.out += chunk));
      child.stderr.on("data", (chunk) => (said.err += chunk));
      return { child, said, ended: once(child, "close") };
    };
    const asked = run("purge", "q");
    assert.deepEqual(await asked.ended, [2, null]);
    assert.match(asked.said.err, /this would cancel 20,000 tasks; add --yes/);
    assert.equal((await client.actions()).length, 0);
    const stopped = run("cancel", "--queue", "q", "--state", "waiting", "--yes");
    let action: Action | undefined;
    while (action === undefined) [action] = await client.actions();
    assert.equal(action.state, "running");
    stopped.child.kill("SIGINT");
    assert.deepEqual(await stopped.ended, [130, null], stopped.said.err);
    assert.match(stopped.said.out, /^[\d,]+ tasks cancelled, 0 refused, in /);
    assert.match(stopped.said.err, /was stopped before it had seen all tasks/);
    const { done, state } = await client.action(action);
    assert.equal(state, "stopped");
    const left = 20_000 - done;
    assert.equal((await client.count({ queue: "q", state: "waiting" })).count, left);
    const purged = run("purge", "q", "--yes");
    assert.deepEqual(await purged.ended, [0, null]);
    assert.match(purged.said.out, new RegExp(`^${left.toLocaleString("en-US")} tasks cancelled`));
    await client.close();
    assert.equal(await yard.stop(), 0);
  });
});
