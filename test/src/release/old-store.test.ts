// A store that an older release wrote opens in this version with nothing lost. Each folder of
// old-stores/ was made by `scripts/old-store.js`, by a dispatcher of that release that was killed.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { type ServedYard, serveYard } from "../end-to-end/served-yard.js";
import { patience } from "../patience.js";

const stores = fileURLToPath(new URL("../../src/release/old-stores/", import.meta.url));
const large = Buffer.from("0123456789abcdef".repeat(6_250));
const longestAgeSeconds = 315_360_000;

interface OldTask {
  readonly id: string;
  readonly queue: string;
  readonly state: string;
  readonly key: string | null;
  readonly story: readonly unknown[];
}
interface Expected {
  readonly held: readonly { readonly task: string; readonly attempt: number; readonly token: string }[];
  readonly queues: readonly {
    readonly name: string;
    readonly waiting: number;
    readonly running: number;
    readonly paused: boolean;
  }[];
  /** Bodies are in base64, or "large". */
  readonly tasks: readonly {
    readonly task: OldTask;
    readonly payload: string;
    readonly result: string | null;
  }[];
}

for (const release of readdirSync(stores)) {
  test(`a store that ${release} wrote opens with nothing lost`, patience, async (t) => {
    const data = mkdtempSync(join(tmpdir(), "yard-old-store-"));
    t.after(() => rmSync(data, { recursive: true }));
    const folder = join(stores, release);
    for (const name of readdirSync(folder).filter((each) => each.endsWith(".gz"))) {
      const bytes = gunzipSync(readFileSync(join(folder, name)));
      writeFileSync(join(data, name.slice(0, -3)), bytes, { mode: 0o600 });
    }
    const expected = JSON.parse(readFileSync(join(folder, "tasks.json"), "utf8")) as Expected;

    const yard = await openYard(data);
    try {
      await compare(yard, expected);
      await acceptsOldKeys(yard, expected);
      await acceptsHeldAttempts(yard, expected);
      await runsWaitingTasks(yard, expected);
    } finally {
      assert.equal(await yard.stop(), 0);
    }
  });
}

/** Every door is open, because a door reads its records when it opens. */
function openYard(data: string): Promise<ServedYard> {
  const doors = { pingpong: {}, udp: {}, monique: { controllers: { question: 10_000 } }, scaler: {} };
  // The tasks were submitted and finished long ago. Neither they nor their keys may be too old.
  const retention = { ageSeconds: longestAgeSeconds };
  const keyTtlSeconds = longestAgeSeconds;
  return serveYard({ data, doors, retention, keyTtlSeconds, reserveBytes: 0, graceSeconds: 600 });
}

async function compare({ url }: ServedYard, { tasks, queues }: Expected): Promise<void> {
  const { items } = (await get(`${url}/v1/tasks?limit=1000`)) as { items: readonly OldTask[] };
  assert.deepEqual(
    items.map(({ id }) => id).toReversed(),
    tasks.map(({ task }) => task.id),
  );
  for (const { task, payload, result } of tasks) {
    const { story, why, ...rest } = (await get(`${url}/v1/tasks/${task.id}`)) as OldTask & { why: unknown };
    // `why` depends on the workers of the moment. New fields may be there; none may be missing.
    // After any restart a task that ran waits for its worker, or for the end of the grace period.
    const state = task.state === "running" ? "waiting" : task.state;
    const { story: oldStory, ...wanted } = { ...task, state, why: undefined };
    const same = Object.fromEntries(Object.keys(wanted).map((name) => [name, Reflect.get(rest, name)]));
    assert.deepEqual(same, wanted);
    assert.deepEqual(story.slice(0, oldStory.length), oldStory);
    assert.equal(await body(`${url}/v1/tasks/${task.id}/payload`), payload, `payload of ${task.id}`);
    assert.equal(await body(`${url}/v1/tasks/${task.id}/result`), result, `result of ${task.id}`);
  }
  const now = (await get(`${url}/v1/queues`)) as { items: Expected["queues"] };
  for (const { name, waiting, running, paused } of queues.filter((each) => each.waiting + each.running > 0)) {
    const queue = now.items.find((each) => each.name === name);
    assert.deepEqual([name, queue?.waiting, queue?.paused], [name, waiting + running, paused]);
  }
}

/** The same key again is the same task, finished or not. */
async function acceptsOldKeys({ url }: ServedYard, { tasks }: Expected): Promise<void> {
  const keyed = tasks.filter(({ task }) => task.key !== null);
  assert.ok(keyed.length > 2);
  for (const { task, payload } of keyed) {
    const answer = await post(
      `${url}/v1/queues/${task.queue}/tasks?key=${task.key}`,
      Buffer.from(payload, "base64"),
    );
    assert.equal(answer.status, 200, task.key ?? "");
    assert.equal(((await answer.json()) as OldTask).id, task.id);
  }
}

/** A worker that held a task when the old dispatcher died may finish it in the new one. */
async function acceptsHeldAttempts({ url }: ServedYard, { held }: Expected): Promise<void> {
  assert.ok(held.length > 1);
  for (const { task, attempt, token } of held) {
    const done = await post(`${url}/v1/tasks/${task}/attempts/${attempt}:done`, large, {
      "Yard-Token": token,
    });
    assert.equal(done.status, 200, await done.text());
    assert.equal(await body(`${url}/v1/tasks/${task}/result`), "large");
  }
}

/** Each waiting task is given out. One is delayed by an hour from the day the store was made. */
async function runsWaitingTasks({ url }: ServedYard, { tasks }: Expected): Promise<void> {
  assert.equal((await post(`${url}/v1/queues/paused:resume`)).status, 200);
  const waiting = tasks.filter(({ task }) => task.state === "waiting");
  const queues = new Set(waiting.map(({ task }) => task.queue));
  assert.ok(queues.delete("later"));
  assert.deepEqual([...queues], ["waiting", "paused", "pingpong", "udp", "question", "scaler"]);
  for (const queue of queues) {
    const left = new Set(waiting.filter(({ task }) => task.queue === queue).map(({ task }) => task.id));
    while (left.size > 0) {
      const claimed = await post(`${url}/v1/queues/${queue}:claim?worker=ben&wait=30s`);
      assert.equal(claimed.status, 200, `${queue}: ${[...left].join()} not given out`);
      const { attempts } = (await claimed.json()) as { attempts: Expected["held"] };
      for (const { task, attempt, token } of attempts) {
        assert.ok(left.delete(task), `${queue}: ${task}`);
        const done = await post(`${url}/v1/tasks/${task}/attempts/${attempt}:done`, "ok", {
          "Yard-Token": token,
        });
        assert.equal(done.status, 200, await done.text());
      }
    }
  }
}

async function get(url: string): Promise<unknown> {
  const answer = await fetch(url);
  assert.equal(answer.status, 200, url);
  return answer.json();
}

function post(
  url: string,
  sent: Uint8Array<ArrayBuffer> | string = "",
  headers: Record<string, string> = {},
) {
  return fetch(url, { method: "POST", body: sent, headers: { "Content-Type": "text/plain", ...headers } });
}

async function body(url: string): Promise<string | null> {
  const answer = await fetch(url);
  if (answer.status !== 200) return null;
  const bytes = Buffer.from(await answer.arrayBuffer());
  return bytes.equals(large) ? "large" : bytes.toString("base64");
}
