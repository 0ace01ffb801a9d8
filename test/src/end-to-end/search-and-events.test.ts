// Search by words, counts, and filtered events of a real dispatcher: over http, the SDK and the
// command line, and after kill -9.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { connect, type HttpClient, type StreamEvent, type Task, work, YardError } from "@yardmaster/sdk";
import { patience } from "../patience.js";
import { type ServedYard, serveYard } from "./served-yard.js";

const bin = fileURLToPath(new URL("../../../packages/cli/bin/yardmaster.js", import.meta.url));

async function clientOf({ url }: ServedYard): Promise<HttpClient> {
  return (await connect(url)) as HttpClient;
}

function run({ url, folder }: ServedYard, ...args: string[]): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, [bin, ...args, "--url", url], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.equal(status, 0, stdout + stderr);
  return stdout;
}

const messages = ["Connection refused by the Database server", "Frame-17 took too long", "Disk is full"];

test("words of an error are found and counted, also after kill -9", patience, async (t) => {
  let yard = await serveYard();
  t.after(() => yard.process.kill("SIGKILL"));
  let client = await clientOf(yard);
  const worker = await work(yard.url, { queue: "render", onError: () => {} }, (payload) => {
    throw new YardError("broken", messages[Number(payload.text())] ?? "");
  });
  const ids: string[] = [];
  for (const index of messages.keys()) ids.push((await client.submit(String(index), { queue: "render" })).id);
  for (const id of ids) await assert.rejects(client.result(id));
  await worker.stop();
  await client.close();
  yard = await yard.restart("SIGKILL");
  client = await clientOf(yard);

  const searches: [string, number[]][] = [
    ["database", [0]],
    ["CONN refus", [0]],
    ["17", [1]],
    ["full", [2]],
    ["atabase", []],
    ["broken", [2, 1, 0]],
  ];
  for (const [q, indexes] of searches) {
    const expected = indexes.map((index) => ids[index]);
    const found: string[] = [];
    for await (const { id } of client.tasks({ queue: "render", q })) found.push(id);
    assert.deepEqual(found, expected, q);
    const counted = await fetch(`${yard.url}/v1/tasks:count?${new URLSearchParams({ q })}`);
    assert.equal(((await counted.json()) as { count: number }).count, expected.length, q);
    const printed = run(yard, "tasks", "--search", q, "--ids");
    assert.deepEqual(printed.split("\n").filter(Boolean), expected, q);
  }
  const { count, histogram } = await client.count({ queue: "render", state: "failed" }, { buckets: 4 });
  assert.equal(count, messages.length);
  const row = histogram?.queues.render ?? [];
  assert.equal(row.length, 4);
  assert.equal(
    row.reduce((sum, each) => sum + each, 0),
    messages.length,
  );
  await client.close();
  assert.equal(await yard.stop(), 0);
});

/** The events up to and with the first that this is true of. */
async function until(
  events: AsyncGenerator<StreamEvent>,
  isLast: (event: StreamEvent) => boolean,
): Promise<StreamEvent[]> {
  const seen: StreamEvent[] = [];
  for await (const event of events) {
    seen.push(event);
    if (isLast(event)) return seen;
  }
  return seen;
}

const isTask = (id: string, state: string) => (event: StreamEvent) => {
  const task = event.data as Task;
  return event.type === "task" && task.id === id && task.state === state;
};

test("events by queue, type and task hold nothing else, and go on after kill -9", patience, async (t) => {
  let yard = await serveYard({ doors: { http: { listen: "127.0.0.1:0" } } });
  t.after(() => yard.process.kill("SIGKILL"));
  let client = await clientOf(yard);
  const other = await client.submit("x", { queue: "other" });
  const watched = await client.submit("x", { queue: "mine" });

  const ofQueue = client.events({ queues: ["mine"], types: ["task"] });
  const ofTask = client.events({ tasks: [watched.id] });
  const ofType = client.events({ types: ["queue"] });
  // The first event of each: a snapshot, and the task as it is.
  const [first, begins, snapshot] = await Promise.all([ofQueue.next(), ofTask.next(), ofType.next()]);
  assert.equal((first.value as StreamEvent).type, "snapshot");
  assert.ok(isTask(watched.id, "waiting")(begins.value as StreamEvent));
  assert.equal((snapshot.value as StreamEvent).type, "snapshot");
  await client.cancel(other.id);
  const late = await client.submit("x", { queue: "mine" });
  await client.cancel(late.id);
  await client.cancel(watched.id);
  const [queueEvents, taskEvents, typeEvents] = await Promise.all([
    until(ofQueue, isTask(watched.id, "cancelled")),
    until(ofTask, isTask(watched.id, "cancelled")),
    until(ofType, ({ data }) => (data as { name?: string }).name === "mine"),
  ]);
  for (const { type, data } of queueEvents) assert.deepEqual([type, (data as Task).queue], ["task", "mine"]);
  for (const { type, data } of taskEvents) assert.deepEqual([type, (data as Task).id], ["task", watched.id]);
  for (const { type } of typeEvents) assert.match(type, /^queue/);

  const refused = await fetch(`${yard.url}/v1/events?types=nothing`);
  assert.equal(refused.status, 400);
  assert.equal(((await refused.json()) as { code: string }).code, "bad_request");
  await client.close();

  yard = await yard.restart("SIGKILL");
  client = await clientOf(yard);
  const again = client.events({ tasks: [watched.id] });
  assert.ok(isTask(watched.id, "cancelled")((await again.next()).value as StreamEvent));
  await again.return(undefined);
  await client.close();
  assert.equal(await yard.stop(), 0);
});
