// Limits of a queue and groups with a real dispatcher, over http, SDK and CLI, with kill -9 in the
// middle; and the commands of docs/queue-limits.md.

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { connect, type HttpClient } from "@yardmaster/sdk";
import { skipReason } from "../interop/foreign.js";
import { patience } from "../patience.js";
import { type ServedYard, serveYard } from "./served-yard.js";

const bin = fileURLToPath(new URL("../../../packages/cli/bin/yardmaster.js", import.meta.url));
const page = readFileSync(fileURLToPath(new URL("../../../docs/queue-limits.md", import.meta.url)), "utf8");

interface Held {
  readonly task: string;
  readonly attempt: number;
  readonly token: string;
  readonly payload: string;
}

async function claim(yard: ServedYard, queue: string, worker: string): Promise<Held[]> {
  const path = `/v1/queues/${queue}:claim?worker=${worker}&max=100&lease=1h`;
  const response = await fetch(`${yard.url}${path}`, { method: "POST" });
  return response.status === 200 ? ((await response.json()) as { attempts: Held[] }).attempts : [];
}

async function done(yard: ServedYard, { task, attempt, token }: Held): Promise<number> {
  const path = `/v1/tasks/${task}/attempts/${attempt}:done`;
  return (await fetch(`${yard.url}${path}`, { method: "POST", headers: { "Yard-Token": token } })).status;
}

async function clientOf({ url }: ServedYard): Promise<HttpClient> {
  return (await connect(url)) as HttpClient;
}

/** Stops the yard even if the test fails. */
async function withYard(
  config: object,
  body: (yard: ServedYard, next: (yard: ServedYard) => void) => Promise<void>,
) {
  let current = await serveYard({ ...config });
  try {
    await body(current, (yard) => {
      current = yard;
    });
    assert.equal(await current.stop(), 0);
  } finally {
    current.process.kill("SIGKILL");
  }
}

const textOf = (held: readonly Held[]) =>
  held.map(({ payload }) => Buffer.from(payload, "base64").toString());

async function cli(yard: ServedYard, ...args: string[]): Promise<string> {
  const env = { ...process.env, YARD_URL: yard.url };
  return (await promisify(execFile)(process.execPath, [bin, ...args], { env })).stdout;
}

test("limits of a queue survive kill -9", patience, () =>
  withYard({ queues: { mail: { maxRunning: 5 } }, graceSeconds: 600 }, async (first, next) => {
    let yard = first;
    const before = await clientOf(yard);
    assert.deepEqual((await before.queue("mail")).settings.maxRunning, { value: 5, from: "file" });
    await before.setQueue("mail", { maxRunning: 2 });
    await before.setQueue("slow", { rate: { tasks: 2, perSeconds: 36_000 } }, { create: true });
    for (const queue of ["mail", "slow"])
      for (const payload of ["1", "2", "3", "4"]) await before.submit(payload, { queue });
    const mail = await claim(yard, "mail", "w");
    assert.deepEqual(textOf(mail), ["1", "2"]);
    const slow = await claim(yard, "slow", "w");
    assert.deepEqual(textOf(slow), ["1", "2"]);
    await before.close();

    yard = await yard.restart("SIGKILL");
    next(yard);
    const client = await clientOf(yard);
    assert.deepEqual((await client.queue("mail")).settings.maxRunning, { value: 2, from: "api" });
    assert.deepEqual(await claim(yard, "mail", "other"), [], "both may still be running");
    assert.deepEqual(await claim(yard, "slow", "other"), [], "both tokens are gone");
    const [begun] = mail as [Held];
    const waiting = await client.task(String(Number(begun.task) + 2));
    assert.deepEqual([waiting.why?.code, waiting.why?.until], ["limited", undefined]);
    assert.match(waiting.why?.message ?? "", /Queue mail runs 2 tasks, and its maxRunning is 2/);
    const held = await client.task(String(Number(slow[0]?.task) + 2));
    assert.equal(held.why?.code, "limited");
    assert.ok(Date.parse(held.why?.until ?? "") > Date.now() + 3_600_000);
    // The answer of the worker from before the crash still counts, and frees the limit.
    assert.equal(await done(yard, begun), 200);
    assert.deepEqual(textOf(await claim(yard, "mail", "other")), ["3"]);
    // The command takes back what the API set.
    assert.match(await cli(yard, "queue", "mail", "--reset", "maxRunning"), /maxRunning +5 +file\n/);
    assert.deepEqual(textOf(await claim(yard, "mail", "other")), ["4"]);
    assert.match(
      await cli(yard, "queue", "slow", "--rate", "1000/1s"),
      /rate +tasks 1000, perSeconds 1 +api\n/,
    );
    await client.close();
  }),
);

test("a queue's own history keeps its tasks over kill -9, whatever others do", patience, () =>
  withYard(
    { retention: { count: 32 }, queues: { audit: { retention: { count: 1000 } } } },
    async (first, next) => {
      let yard = first;
      const before = await clientOf(yard);
      await before.setQueue("short", { retention: { count: 16 } }, { create: true });
      const finish = async (client: HttpClient, queue: string, count: number) => {
        const items = Array.from({ length: count }, () => ({ payload: "x" }));
        for await (const { error } of client.submitMany(items, { queue })) assert.equal(error, undefined);
        await client.actionEnd(await client.purge(queue));
      };
      const kept = async (client: HttpClient, queue: string) => (await client.count({ queue })).count;
      for (const queue of ["audit", "short", "plain"]) await finish(before, queue, 100);
      assert.equal(await kept(before, "audit"), 100);
      assert.ok((await kept(before, "short")) <= 16);
      assert.ok((await kept(before, "plain")) <= 32);
      await before.close();

      yard = await yard.restart("SIGKILL");
      next(yard);
      const client = await clientOf(yard);
      assert.deepEqual((await client.queue("short")).settings.retention, {
        value: { bytes: 1_073_741_824, ageSeconds: 604_800, count: 16 },
        from: "api",
      });
      for (const queue of ["audit", "short", "plain"]) await finish(client, queue, 100);
      assert.equal(await kept(client, "audit"), 200);
      assert.ok((await kept(client, "short")) <= 16);
      assert.match(await cli(yard, "queue", "audit"), /retention +bytes 1073741824, .*count 1000 +file\n/);
      assert.match(
        await cli(yard, "queue", "plain", "--create", "--max-running", "5"),
        /retention +in common +default\n/,
      );
      assert.match(await cli(yard, "queue", "audit", "--retention-count", "50"), /count 50 +api\n/);
      assert.ok((await kept(client, "audit")) < 200, "a lower limit evicts at once");
      await assert.rejects(client.setQueue("audit", { retention: { count: 0 } }), { code: "bad_request" });
      await client.close();
    },
  ),
);

test("groups take turns, and go on after kill -9", patience, () =>
  withYard({ graceSeconds: 600 }, async (first, next) => {
    let yard = first;
    const before = await clientOf(yard);
    await before.setQueue("q", { maxRunningPerGroup: 1 }, { create: true });
    const items = ["a1", "a2", "a3", "b1", "b2"].map((payload) => ({ payload, group: payload.slice(0, 1) }));
    for await (const { error } of before.submitMany(items, { queue: "q" })) assert.equal(error, undefined);
    await cli(yard, "submit", yard.url, "--queue", "q", "--group", "c", "c1");
    const held = await claim(yard, "q", "w");
    assert.deepEqual(textOf(held), ["a1", "b1", "c1"], "one of each");
    await before.close();

    yard = await yard.restart("SIGKILL");
    next(yard);
    assert.deepEqual(await claim(yard, "q", "other"), [], "each group may still be running one");
    assert.equal(await done(yard, held[1] as Held), 200);
    assert.deepEqual(textOf(await claim(yard, "q", "other")), ["b2"]);
    const client = await clientOf(yard);
    assert.equal((await client.task((held[0] as Held).task)).group, "a");
    assert.match(await cli(yard, "task", (held[0] as Held).task), /\n {2}group +a\n/);
    await client.setQueue("q", { maxRunningPerGroup: null });
    assert.deepEqual(textOf(await claim(yard, "q", "other")), ["a2", "a3"]);
    const metrics = await client.metrics();
    assert.match(metrics, /yardmaster_queue_groups\{queue="q"\} 3/);
    await client.close();
  }),
);

test(
  "the commands of docs/queue-limits.md work",
  {
    ...patience,
    skip: skipReason("curl", ["--version"]),
  },
  () =>
    withYard({}, async (yard) => {
      const tour = /<!-- tour of the limits -->\n```sh\n([\s\S]*?)```/.exec(page)?.[1];
      assert.ok(tour !== undefined, "the page has no tour");
      // The command of this clone, as npx would find it.
      const npx = `npx() { shift; '${process.execPath}' '${bin}' "$@"; }\n`;
      const script = npx + tour.replace("http://127.0.0.1:7420", yard.url);
      const { stdout, stderr, status } = spawnSync("sh", ["-e", "-c", script], {
        cwd: yard.folder,
        timeout: 120_000,
        encoding: "utf8",
      });
      assert.equal(status, 0, stdout + stderr);
      const payloads = [...stdout.matchAll(/"payload":"([^"]*)"/g)].map(([, text]) =>
        Buffer.from(text ?? "", "base64").toString(),
      );
      assert.deepEqual(payloads, ["ann 1", "bob 1"]);
      assert.match(stdout, /limited/);
      assert.match(stdout, /maxRunningPerGroup +1 +api\n/);
      assert.match(stdout, /maxRunningPerGroup +no limit +default\n/);
    }),
);
