// Bodies of every size through a real dispatcher with its embedded engine, over http: claimed while
// waiting, after restarts, by another worker after a loss, and submitted again.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect, work, type YardClient } from "@yardmaster/sdk";
import { bodySizes, hugeSize, textOfSize } from "./body-sizes.js";
import { type ServedYard, serveYard } from "./served-yard.js";

interface Attempt {
  readonly task: string;
  readonly attempt: number;
  readonly token: string;
  readonly payload: string;
}

const sizes = [...bodySizes, hugeSize];

let yard: ServedYard;
before(async () => {
  yard = await serveYard({ graceSeconds: 0.2 });
});
after(async () => {
  await yard.stop();
});

function post(path: string, body?: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${yard.url}${path}`, { method: "POST", headers, ...(body === undefined ? {} : { body }) });
}

async function submit(queue: string, body: string, query = ""): Promise<string> {
  const response = await post(`/v1/queues/${queue}/tasks${query}`, body);
  assert.equal(response.status, 201);
  return ((await response.json()) as { id: string }).id;
}

async function claim(queue: string, query: string): Promise<readonly Attempt[]> {
  const response = await post(`/v1/queues/${queue}:claim?${query}`);
  if (response.status === 204) return [];
  assert.equal(response.status, 200);
  return ((await response.json()) as { attempts: Attempt[] }).attempts;
}

const plain = ({ payload }: Attempt) => Buffer.from(payload, "base64").toString();

async function done({ task, attempt, token }: Attempt, result: string): Promise<void> {
  const path = `/v1/tasks/${task}/attempts/${attempt}:done`;
  assert.equal((await post(path, result, { "yard-token": token })).status, 200);
}

async function checkResult(task: string, result: string): Promise<void> {
  const text = await (await fetch(`${yard.url}/v1/tasks/${task}/result`)).text();
  assert.ok(text === result, `the result of ${result.length} bytes of task ${task}`);
}

test("waiting bodies outlive restarts, are claimed together, and results are read back", {
  timeout: 120_000,
}, async () => {
  const tasks = new Map<string, number>();
  const results = new Map<string, string>();
  for (const life of ["SIGTERM", "SIGKILL"] as const) {
    for (const size of sizes) tasks.set(await submit("kept", textOfSize(size, "kept")), size);
    yard = await yard.restart(life);
    const attempts = await claim("kept", "worker=w&max=100");
    assert.deepEqual(
      attempts.map((attempt) => [attempt.task, plain(attempt).length]),
      [...tasks].slice(-sizes.length),
    );
    for (const attempt of attempts) {
      assert.ok(plain(attempt) === textOfSize(tasks.get(attempt.task) ?? -1, "kept"));
      const result = textOfSize(tasks.get(attempt.task) ?? -1, "result");
      await done(attempt, result);
      results.set(attempt.task, result);
    }
    // Including those from before the restart.
    for (const [task, result] of results) await checkResult(task, result);
  }
});

test("a large task goes whole to another worker after a loss, and again when it is retried", {
  timeout: 60_000,
}, async () => {
  for (const size of [4097, hugeSize]) {
    const text = textOfSize(size, "lost");
    const id = await submit("lost", text);
    assert.equal((await claim("lost", "worker=first&lease=100ms")).length, 1);
    const [second] = await claim("lost", "worker=second&wait=30s");
    assert.ok(second?.task === id && plain(second) === text);
    const fail = `/v1/tasks/${id}/attempts/${second.attempt}:fail`;
    const headers = { "yard-token": second.token, "content-type": "application/json" };
    assert.equal((await post(fail, '{"message":"no"}', headers)).status, 200);
    assert.equal((await post(`/v1/tasks/${id}:retry`)).status, 201);
    const [third] = await claim("lost", "worker=third");
    assert.ok(third && plain(third) === text);
    await done(third, text);
    await checkResult(third.task, text);
  }
});

test("an SDK worker is given the waiting tasks, one by one and many at once", {
  timeout: 60_000,
}, async () => {
  const client: YardClient = await connect(yard.url);
  for (const concurrency of [1, 4]) {
    const asked: { size: number; id: string }[] = [];
    for (const size of [...sizes, ...bodySizes]) {
      const { id } = await client.submit(textOfSize(size, "sdk"), { queue: "sdk" });
      asked.push({ size, id });
    }
    const worker = await work(yard.url, { queue: "sdk", concurrency }, (payload) => `${payload.text()}!`);
    for (const { id, size } of asked) {
      const text = (await client.result(id, { waitMs: 50_000 })).text();
      assert.ok(text === `${textOfSize(size, "sdk")}!`, `${size} bytes`);
      const { story } = await client.task(id);
      assert.deepEqual(
        story.map(({ cause }) => cause),
        ["submitted", "assigned", "done"],
      );
    }
    await worker.stop();
  }
  await client.close();
});
