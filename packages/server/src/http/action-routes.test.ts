// Bulk actions and counts over http: which tasks they change, limits, stopping, and mistakes in
// requests.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { MemoryEngine, MemoryStore } from "@yardmaster/engines";
import { runningActionsMax } from "../actions/actions.js";
import { patience } from "../testing/patience.js";
import { Gate, WatchedEngine } from "../testing/watched-engine.js";
import type { TaskJson } from "./task-json.js";
import { YardUnderTest } from "./yard-under-test.js";

interface ActionJson {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly filter: Readonly<Record<string, string>>;
  readonly endedAt: string | null;
  readonly matched: number;
  readonly done: number;
  readonly refused: number;
  readonly lastRefusal: string | null;
}

interface CountJson {
  readonly count: number;
  readonly isMore: boolean;
  readonly byQueue: Readonly<Record<string, number>>;
  readonly histogram?: {
    readonly from: string;
    readonly stepMs: number;
    readonly queues: Readonly<Record<string, readonly number[]>>;
  };
}

/** Starts an action and returns how it ended. */
async function act(yard: YardUnderTest, path: string): Promise<ActionJson> {
  const { status, headers, json } = await yard.ask("POST", path);
  let action = json as ActionJson;
  assert.equal(status, 202, JSON.stringify(json));
  assert.equal(headers.get("location"), `/v1/actions/${action.id}`);
  while (action.state === "running") action = (await yard.ask("GET", `/v1/actions/${action.id}`)).json;
  return action;
}

async function submitMany(
  yard: YardUnderTest,
  queue: string,
  count: number,
  item = "{}",
): Promise<TaskJson[]> {
  const body = Array.from({ length: count }, () => item).join("\n");
  const { json } = await yard.ask("POST", `/v1/queues/${queue}/tasks:batch`, { body });
  return (json as { items: TaskJson[] }).items;
}

async function statesOf(yard: YardUnderTest, tasks: readonly TaskJson[]): Promise<string[]> {
  return Promise.all(tasks.map(async ({ id }) => (await yard.task(id)).state));
}

describe("bulk actions", patience, () => {
  let yard: YardUnderTest;
  before(async () => {
    yard = await new YardUnderTest().open();
  });
  after(() => yard.close());

  test("cancel what matches, waiting or running, and nothing else", async () => {
    const tasks = await submitMany(yard, "cancelled", 3);
    const other = await yard.submit("spared", "");
    const [held] = await yard.claim("cancelled", "w");
    assert.ok(held);
    const { kind, filter, done, refused, matched, endedAt } = await act(
      yard,
      "/v1/tasks:cancel?queue=cancelled",
    );
    assert.deepEqual(
      { kind, filter, done, refused, matched },
      {
        kind: "cancel",
        filter: { queue: "cancelled" },
        done: 3,
        refused: 0,
        matched: 3,
      },
    );
    assert.ok(endedAt !== null);
    assert.deepEqual(await statesOf(yard, [...tasks, other]), [
      "cancelled",
      "cancelled",
      "cancelled",
      "waiting",
    ]);
    const { story, error } = await yard.task(tasks[2]?.id ?? "");
    assert.match(story.at(-1)?.cause ?? "", /^cancelled by 127\.0\.0\.1, action \d+$/);
    assert.equal(error?.code, "cancelled");
    assert.equal((await yard.speak(held, "done")).status, 409);
  });

  test("cancel in one state alone", async () => {
    const tasks = await submitMany(yard, "one-state", 2);
    await yard.claim("one-state", "w");
    assert.equal((await act(yard, "/v1/tasks:cancel?queue=one-state&state=waiting")).done, 1);
    assert.deepEqual(await statesOf(yard, tasks), ["running", "cancelled"]);
  });

  test("cancel over many pages", async () => {
    const tasks = await submitMany(yard, "pages", 2_500);
    assert.equal((await act(yard, "/v1/tasks:cancel?queue=pages")).done, 2_500);
    assert.deepEqual(new Set(await statesOf(yard, tasks.slice(0, 20))), new Set(["cancelled"]));
  });

  test("retry each task that ended badly once, over several states and pages", async () => {
    const tasks = await submitMany(yard, "retried", 450, `{"payload":"p","priority":3}`);
    const [held] = await yard.claim("retried", "w");
    assert.ok(held);
    await yard.speak(held, "fail", { body: `{"message":"no"}` });
    const [done] = await yard.claim("retried", "w");
    assert.ok(done);
    await yard.speak(done, "done");
    await act(yard, "/v1/tasks:cancel?queue=retried");
    assert.equal((await act(yard, "/v1/tasks:retry?queue=retried&state=failed")).done, 1);
    assert.equal((await act(yard, "/v1/tasks:retry?queue=retried")).done, 449);
    const waiting = (await yard.ask("GET", "/v1/tasks?queue=retried&state=waiting&limit=1000")).json as {
      items: TaskJson[];
    };
    assert.equal(waiting.items.length, 450);
    assert.ok(waiting.items.every(({ priority, payloadBytes }) => priority === 3 && payloadBytes === 1));
    assert.equal((await yard.task(tasks[1]?.id ?? "")).state, "done");
  });

  test("tasks that depend on each other still do after a retry, each of them once", async () => {
    const graph = async (items: object[]) => {
      const body = items.map((item) => JSON.stringify(item)).join("\n");
      const { json } = await yard.ask("POST", "/v1/tasks:graph", { body });
      return (json as { items: { id: string }[] }).items.map(({ id }) => id);
    };
    const [a, b, c, d, alone] = await graph([
      { name: "a", queue: "tied", payload: "a" },
      { name: "b", queue: "tied", payload: "b", after: ["a"] },
      { name: "c", queue: "tied", payload: "c", after: ["a", "b"] },
      { name: "d", queue: "elsewhere", payload: "d", after: ["c"] },
      { name: "alone", queue: "tied", payload: "alone" },
    ]);
    const [held, other] = await yard.claim("tied", "w", "&max=2");
    assert.ok(held && other);
    await yard.speak(held, "fail", { body: `{"message":"no"}` });
    await yard.speak(other, "fail", { body: `{"message":"no"}` });
    await yard.until(d ?? "", ({ state }) => state === "cancelled");
    const action = await act(yard, "/v1/tasks:retry?queue=tied");
    assert.deepEqual([action.done, action.refused], [4, 0]);
    const { items } = (await yard.ask("GET", "/v1/tasks?queue=tied&state=waiting")).json as {
      items: TaskJson[];
    };
    const again = (id: string | undefined) => items.filter(({ retries }) => retries === id);
    const [newA] = again(a);
    const [newB] = again(b);
    const [newC] = again(c);
    assert.deepEqual(
      [a, b, c, alone].map((id) => again(id).length),
      [1, 1, 1, 1],
    );
    assert.equal(newA?.after, undefined);
    assert.deepEqual(newB?.after, [newA?.id]);
    assert.deepEqual(newC?.after?.toSorted(), [newA?.id, newB?.id].toSorted());
    assert.equal(newC?.why?.code, "blocked");
    // What the filter does not match stays as it is. By itself, it runs at once.
    const single = await act(yard, "/v1/tasks:retry?queue=elsewhere");
    assert.equal(single.done, 1);
    const rest = (await yard.ask("GET", "/v1/tasks?queue=elsewhere&state=waiting")).json as {
      items: TaskJson[];
    };
    assert.deepEqual(
      rest.items.map(({ retries, after }) => [retries, after]),
      [[d, undefined]],
    );
  });

  test("a purge cancels what waits, also with a delay, and leaves running tasks alone", async () => {
    const tasks = await submitMany(yard, "purged", 1_500);
    await submitMany(yard, "purged", 5, `{"delay":"1h"}`);
    await yard.claim("purged", "w");
    const { kind, done, filter } = await act(yard, "/v1/queues/purged:purge");
    assert.deepEqual([kind, done, filter], ["purge", 1_504, { queue: "purged" }]);
    assert.deepEqual(await statesOf(yard, tasks.slice(0, 2)), ["running", "cancelled"]);
    const { count } = (await yard.ask("GET", "/v1/tasks:count?queue=purged&state=waiting")).json as CountJson;
    assert.equal(count, 0);
  });

  test("an action that matches everything ends, and spares what is submitted after it began", async () => {
    const old = await submitMany(yard, "flood", 3_000);
    const asked = yard.ask("POST", "/v1/tasks:cancel");
    const { id } = (await asked).json as ActionJson;
    const late: TaskJson[] = [];
    for (;;) {
      late.push(await yard.submit("flood", "late"));
      const { state } = (await yard.ask("GET", `/v1/actions/${id}`)).json as ActionJson;
      if (state === "done") break;
    }
    assert.deepEqual(new Set(await statesOf(yard, late)), new Set(["waiting"]));
    assert.deepEqual(new Set(await statesOf(yard, old.slice(-20))), new Set(["cancelled"]));
  });

  test("is stopped after a step, once, and stays listed", async () => {
    const engine = new WatchedEngine();
    const yard = await new YardUnderTest({ engine }).open();
    await submitMany(yard, "stopped", 10_000);
    const gate = new Gate();
    engine.beforeCommit = async (changes) => {
      if (changes.some(({ kind }) => kind === "progress")) await gate.opened;
    };
    const { id } = (await yard.ask("POST", "/v1/tasks:cancel?queue=stopped")).json as ActionJson;
    const asked = yard.ask("POST", `/v1/actions/${id}:stop`);
    await yard.ask("GET", `/v1/actions/${id}`);
    gate.open();
    const stopped = (await asked).json as ActionJson;
    assert.equal(stopped.state, "stopped");
    assert.ok(stopped.done < 10_000);
    assert.deepEqual((await yard.ask("POST", `/v1/actions/${id}:stop`)).json, stopped);
    const { items } = (await yard.ask("GET", "/v1/actions")).json as { items: ActionJson[] };
    assert.deepEqual(items[0], stopped);
    const { count } = (await yard.ask("GET", "/v1/tasks:count?queue=stopped&state=waiting"))
      .json as CountJson;
    assert.equal(count, 10_000 - stopped.done);
    await yard.close();
  });

  test("mistakes in requests are explained", async () => {
    const mistakes: [path: string, status: number, says: RegExp][] = [
      ["/v1/tasks:cancel?state=done", 400, /state: found "done", expected one of waiting, running/],
      ["/v1/tasks:retry?state=running", 400, /expected one of failed, cancelled, expired/],
      ["/v1/tasks:cancel?limit=3", 400, /unknown parameter "limit"/],
      ["/v1/tasks:cancel?qeue=x", 400, /did you mean queue\?/],
      ["/v1/tasks:cancel?queue=a%20b", 400, /a queue's name/],
      ["/v1/queues/nowhere:purge", 404, /there is no queue nowhere/],
      ["/v1/actions/999999:stop", 404, /there is no action 999999/],
      ["/v1/actions/abc:stop", 404, /nothing with the id "abc"/],
    ];
    for (const [path, status, says] of mistakes) {
      const answer = await yard.ask("POST", path);
      assert.equal(answer.status, status, path);
      assert.match((answer.json as { detail: string }).detail, says);
    }
    assert.equal((await yard.ask("GET", "/v1/tasks:count?buckets=0")).status, 400);
    assert.equal((await yard.ask("GET", "/v1/tasks:cancel")).status, 405);
  });
});

describe("the number of actions", patience, () => {
  test("that run at once is bounded", async () => {
    const engine = new WatchedEngine();
    const yard = await new YardUnderTest({ engine }).open();
    // No action ends before all were requested.
    const gate = new Gate();
    engine.beforeCommit = () => gate.opened;
    const statuses: number[] = [];
    const details: string[] = [];
    const asked = Array.from({ length: runningActionsMax + 2 }, async () => {
      const { status, json } = await yard.ask("POST", "/v1/tasks:cancel?queue=q");
      statuses.push(status);
      if (status === 429) details.push((json as { detail: string }).detail);
      if (details.length === 2) gate.open();
    });
    await Promise.all(asked);
    assert.deepEqual(statuses, [429, 429, ...new Array(runningActionsMax).fill(202)]);
    assert.match(details[0] ?? "", /^16 actions are running, the limit; wait for one/);
    await yard.close();
  });

  test("that have ended and are listed is bounded, and their numbers go on after a restart", async () => {
    const store = new MemoryStore();
    const yard = await new YardUnderTest({ engine: new MemoryEngine(store) }).open();
    for (let count = 0; count < 104; count++) await act(yard, "/v1/tasks:cancel?queue=none");
    const { items } = (await yard.ask("GET", "/v1/actions")).json as { items: ActionJson[] };
    assert.equal(items.length, 100);
    await yard.close();
    const next = await new YardUnderTest({ engine: new MemoryEngine(store) }).open();
    assert.deepEqual((await next.ask("GET", "/v1/actions")).json, { items });
    assert.equal((await act(next, "/v1/tasks:cancel?queue=none")).id, "105");
    await next.close();
  });
});

describe("a count", patience, () => {
  let yard: YardUnderTest;
  before(async () => {
    yard = await new YardUnderTest({ queues: { large: {} } }).open();
  });
  after(() => yard.close());

  test("has the filter of a list, by queue and over time", async () => {
    await submitMany(yard, "a", 30);
    await submitMany(yard, "b", 10);
    await act(yard, "/v1/tasks:cancel?queue=b");
    const all = (await yard.ask("GET", "/v1/tasks:count")).json as CountJson;
    assert.deepEqual(all, { count: 40, isMore: false, byQueue: { a: 30, b: 10 } });
    const { histogram, count } = (await yard.ask("GET", "/v1/tasks:count?buckets=7")).json as CountJson;
    assert.equal(count, 40);
    assert.ok(histogram && histogram.stepMs >= 1);
    for (const [queue, sum] of [
      ["a", 30],
      ["b", 10],
    ] as const) {
      assert.equal(histogram.queues[queue]?.length, 7);
      assert.equal(
        histogram.queues[queue]?.reduce((one, other) => one + other),
        sum,
      );
    }
    const none = (await yard.ask("GET", "/v1/tasks:count?state=done&buckets=3")).json as CountJson;
    assert.deepEqual([none.count, none.byQueue, none.histogram?.queues], [0, {}, {}]);
    const cancelled = (await yard.ask("GET", "/v1/tasks:count?state=cancelled&q=cancelled"))
      .json as CountJson;
    assert.equal(cancelled.count, 10);
  });

  test("names at most twenty queues", async () => {
    for (let queue = 0; queue < 22; queue++) await yard.submit(`many-${queue}`, "");
    const { byQueue, histogram, count } = (await yard.ask("GET", "/v1/tasks:count?buckets=2"))
      .json as CountJson;
    assert.equal(Object.keys(byQueue).length, 21);
    assert.equal(
      Object.values(byQueue).reduce((one, other) => one + other),
      count,
    );
    assert.deepEqual(Object.keys(histogram?.queues ?? {}), Object.keys(byQueue));
  });

  test("of waiting tasks is exact; other walks end at 10,000 and say that there are more", async () => {
    await submitMany(yard, "large", 10_000);
    await submitMany(yard, "large", 10);
    const waiting = (await yard.ask("GET", "/v1/tasks:count?queue=large&state=waiting")).json as CountJson;
    assert.deepEqual([waiting.count, waiting.isMore], [10_010, false]);
    const walked = (await yard.ask("GET", "/v1/tasks:count?queue=large&buckets=5")).json as CountJson;
    assert.deepEqual([walked.count, walked.isMore], [10_000, true]);
  });
});

test("an action waits while the engine is behind, and others do not", patience, async () => {
  const engine = new WatchedEngine();
  const gate = new Gate();
  const yard = await new YardUnderTest({
    engine: Object.assign(engine, { whenCaughtUp: () => gate.opened }),
  }).open();
  await submitMany(yard, "q", 10);
  const { json } = await yard.ask("POST", "/v1/queues/q:purge");
  const { id } = json as ActionJson;
  const other = await yard.submit("other", "x");
  assert.equal(other.state, "waiting");
  const path = `/v1/actions/${id}`;
  assert.equal(((await yard.ask("GET", path)).json as ActionJson).done, 0);
  gate.open();
  const ended = await yard.eventually(async () => {
    const action = (await yard.ask("GET", path)).json as ActionJson;
    return action.state === "done" ? action : undefined;
  });
  assert.equal(ended.done, 10);
  await yard.close();
});
