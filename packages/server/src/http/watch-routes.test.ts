// The page's requests through real connections: problems that come and go, figures, history,
// failures, lost workers.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { EventReader } from "../testing/event-reader.js";
import { HandDoor } from "../testing/hand-door.js";
import { patience } from "../testing/patience.js";
import type { TaskJson } from "./task-json.js";
import { YardUnderTest } from "./yard-under-test.js";

let yard: YardUnderTest;
let hand: HandDoor;
let readers: EventReader[];
beforeEach(async () => {
  readers = [];
  yard = new YardUnderTest();
  hand = new HandDoor(yard.runtime.port("hand"));
  yard.runtime.attach(hand);
  await yard.open();
});
afterEach(async () => {
  for (const reader of readers) reader.close();
  await yard.close();
});

async function get<RequestAnswer>(path: string): Promise<RequestAnswer> {
  const { status, json, text } = await yard.ask("GET", path);
  assert.equal(status, 200, text);
  return json;
}

interface Heard {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Reads events whose data is any object. */
async function listen(path: string, headers?: Record<string, string>) {
  const reader = await EventReader.open(`http://${yard.base}${path}`, headers);
  readers.push(reader);
  return {
    next: (): Promise<Heard | undefined> => reader.next(),
    until: (isWanted: (event: Heard) => boolean): Promise<Heard> => reader.until(isWanted),
    lastId: () => reader.lastId,
    close: () => reader.close(),
  };
}

const bytes = Buffer.from("done");
const result = { mediaType: "text/plain", size: bytes.length, bytes };

describe("what is wrong", patience, () => {
  test("is listed with words and a fix, and told as it comes and goes", async () => {
    const reader = await listen("/v1/events?types=alert");
    const snapshot = (await reader.next())?.data as unknown as { alerts: object[]; queues: object[] };
    assert.deepEqual([snapshot.alerts, snapshot.queues], [[], []]);
    await yard.submit("transcode", "x");
    const came = await reader.until(({ event }) => event === "alert");
    const { items } = await get<{ items: { words: string; fixes: object[] }[] }>("/v1/alerts");
    assert.deepEqual(items, [came.data]);
    assert.equal(items[0]?.words, "transcode: 1 task waits and no worker serves the queue.");
    assert.deepEqual(items[0]?.fixes, [{ do: "start-worker", label: "Start a worker…", queue: "transcode" }]);
    hand.join("hand/w", "transcode");
    const went = await reader.until(({ event }) => event === "alert-gone");
    assert.deepEqual(went.data, { id: "no_worker:transcode" });
  });

  test("a worker that was lost with a task, and what became of the task", async () => {
    hand.join("hand/gpu-07", "render");
    const id = await hand.submit("render", "x");
    await hand.next("assign");
    hand.post({ type: "worker-left", worker: "hand/gpu-07" as never, reason: "connection_closed" });
    type Lost = {
      items: {
        id: string;
        reason: string;
        words: string;
        held: number;
        tasks: object[];
        became: object;
        backAt: string | null;
      }[];
    };
    const [lost] = (await get<Lost>("/v1/workers:lost")).items;
    assert.deepEqual(
      [lost?.id, lost?.reason, lost?.words, lost?.held, lost?.tasks, lost?.became, lost?.backAt],
      [
        "hand/gpu-07",
        "connection_closed",
        "Its connection closed.",
        1,
        [{ id: String(id), queue: "render", state: "waiting", worker: null }],
        { waiting: 1 },
        null,
      ],
    );
    hand.join("hand/gpu-02", "render");
    hand.done(await hand.next("assign"), result);
    await yard.until(String(id), ({ state }) => state === "done");
    hand.join("hand/gpu-07", "render");
    const [later] = (await get<Lost>("/v1/workers:lost")).items;
    assert.deepEqual(later?.became, { done: 1 });
    assert.notEqual(later?.backAt, null);
    const { items } = await get<{ items: { code: string; words: string }[] }>("/v1/alerts");
    assert.equal(
      items.find(({ code }) => code === "lost_worker")?.words,
      "gpu-07 was lost: its connection closed. gpu-02 ran its task.",
    );
    // It is lost and comes back once more: each loss keeps the return that followed it.
    hand.post({ type: "worker-left", worker: "hand/gpu-07" as never, reason: "connection_closed" });
    const [again] = (await get<Lost>("/v1/workers:lost")).items;
    assert.equal(again?.backAt, null);
    while (Date.now() <= Date.parse(later?.backAt ?? ""));
    hand.join("hand/gpu-07", "render");
    const [second, first] = (await get<Lost>("/v1/workers:lost")).items;
    assert.equal(first?.backAt, later?.backAt);
    assert.notEqual(second?.backAt, later?.backAt);
    assert.notEqual(second?.backAt, null);
  });

  test("failures of one kind, with the worker and a way to drain it", async () => {
    hand.join("hand/gpu-04", "render");
    for (let n = 0; n < 6; n += 1) {
      await hand.submit("render", "x");
      hand.fail(await hand.next("assign"), "exit_137", `killed for memory: 15.${n} of 16 GB`);
    }
    type Failures = { tasks: number; items: { id: string; words: string; count: number; code: string }[] };
    const { tasks, items } = await get<Failures>("/v1/failures");
    assert.equal(tasks, 6);
    assert.deepEqual(
      items.map(({ words, count, code }) => [words, count, code]),
      [["killed for memory: … of … GB", 6, "exit_137"]],
    );
    const alerts = await get<{ items: { words: string; subject: object; fixes: { do: string }[] }[] }>(
      "/v1/alerts",
    );
    assert.equal(
      alerts.items[0]?.words,
      "render: 6 tasks failed with the same error in 10 min (exit_137), all of them on gpu-04.",
    );
    assert.deepEqual(
      alerts.items[0]?.fixes.map(({ do: what }) => what),
      ["drain-worker", "show-failures"],
    );
  });
});

describe("figures and history", patience, () => {
  test("count what went through", async () => {
    hand.join("hand/w", "q");
    for (let n = 0; n < 20; n += 1) {
      await hand.submit("q", "x");
      hand.done(await hand.next("assign"), result);
    }
    await yard.submit("waits", "x");
    type History = { series: { name: string; in: (number | null)[] }[]; untracked: string[] };
    const sum = (points: (number | null)[] = []) => points.reduce<number>((all, n) => all + (n ?? 0), 0);
    const history = await yard.eventually(async () => {
      const found = await get<History>("/v1/history?span=5m&queue=q,nobody");
      return sum(found.series[0]?.in) === 20 ? found : undefined;
    });
    assert.deepEqual(history.untracked, ["nobody"]);
    type Figures = {
      waiting: number;
      done: number;
      oldestQueue: string;
      oldestTask: string;
      workers: number;
    };
    const figures = await yard.eventually(async () => {
      const found = await get<Figures>("/v1/figures");
      return found.done === 20 ? found : undefined;
    });
    assert.deepEqual(
      [figures.waiting, figures.oldestQueue, figures.oldestTask, figures.workers],
      [1, "waits", "21", 1],
    );
    const { items } = await get<{ items: { name: string; doneBy: object; inBy: { hand: number } }[] }>(
      "/v1/queues",
    );
    const queue = items.find(({ name }) => name === "q");
    assert.deepEqual(
      [Object.keys(queue?.doneBy ?? {}), Object.keys(queue?.inBy ?? {})],
      [["hand"], ["hand"]],
    );
  });

  test("workers say how long they may be silent, and what they have done", async () => {
    await yard.submit("q", "x");
    const [attempt] = await yard.claim("q", "w");
    assert.ok(attempt);
    await yard.speak(attempt, "done");
    type Workers = {
      items: {
        id: string;
        limitMs: number;
        silentAt: string;
        done: number;
        donePerMinute: number;
        pulls: boolean;
      }[];
    };
    const [worker] = (await get<Workers>("/v1/workers")).items;
    assert.ok(worker !== undefined && worker.limitMs >= 59_000, JSON.stringify(worker));
    assert.deepEqual([worker.done, worker.donePerMinute, worker.pulls], [1, 1, true]);
    assert.ok(Date.parse(worker.silentAt) > Date.now());
    hand.join("hand/w", "q");
    const owesNone = (await get<Workers>("/v1/workers")).items.find(({ id }) => id === "hand/w");
    assert.deepEqual([owesNone?.limitMs, owesNone?.silentAt], [null, null]);
  });

  test("a task says what it retries, how many tries it has, and who goes before it", async () => {
    const first = await yard.submit("q", "x", "?attempts=3&failures=2");
    assert.deepEqual([first.losses, first.lossesMax, first.failures, first.failuresMax], [0, 3, 0, 2]);
    const second = await yard.submit("q", "y");
    type Outlook = TaskJson & { outlook: { ahead: number; leaseUntil: string | null } };
    assert.equal((await get<Outlook>(`/v1/tasks/${second.id}?outlook=true`)).outlook.ahead, 1);
    assert.equal("outlook" in (await yard.task(second.id)), false);
    await yard.ask("POST", `/v1/tasks/${first.id}:cancel`);
    const again = (await yard.ask("POST", `/v1/tasks/${first.id}:retry`)).json as TaskJson;
    assert.equal(again.retries, first.id);
    assert.deepEqual(await yard.task(again.id), again);
    const [attempt] = await yard.claim("q", "w");
    assert.ok(attempt);
    const running = await get<Outlook>(`/v1/tasks/${attempt.task}?outlook=true`);
    // The two times come from clocks that were read at different moments.
    const apartMs = Date.parse(running.outlook.leaseUntil ?? "") - Date.parse(attempt.leaseUntil);
    assert.ok(Math.abs(apartMs) <= 100, String(apartMs));
  });
});

describe("events that are asked for", patience, () => {
  test("of one queue hold nothing of another", async () => {
    const reader = await listen("/v1/events?queue=mine");
    assert.equal((await reader.next())?.event, "snapshot");
    await yard.submit("other", "x");
    const { id } = await yard.submit("mine", "x");
    const seen = new Set<string>();
    await reader.until(({ event, data }) => {
      const { queue, name } = data as { queue?: string; name?: string };
      seen.add(String(queue ?? name));
      return event === "task" && (data as { id?: string }).id === id;
    });
    assert.deepEqual([...seen], ["mine"]);
  });

  test("of a task begin with it as it is, and tell every change, however many other tasks change", async () => {
    const { id } = await yard.submit("q", "x");
    const reader = await listen(`/v1/events?task=${id},999999`);
    assert.equal((await reader.next())?.data.state, "waiting");
    for (let n = 0; n < 3; n += 1)
      await yard.ask("POST", "/v1/queues/flood/tasks:batch", { body: '{"payload":1}\n'.repeat(2_000) });
    await yard.ask("POST", `/v1/tasks/${id}:cancel`);
    const { event, data } = (await reader.next()) ?? {};
    assert.deepEqual([event, data?.id, data?.state], ["task", id, "cancelled"]);
  });

  test("go on where they broke off, with the same filter", async () => {
    const reader = await listen("/v1/events?types=queue&queue=mine");
    await reader.next();
    await yard.submit("mine", "x");
    await reader.until(({ event }) => event === "queue");
    const lastId = reader.lastId();
    reader.close();
    await yard.submit("other", "x");
    await yard.submit("mine", "x");
    await (await listen("/v1/events")).until(({ event }) => event === "snapshot");
    const back = await listen("/v1/events?types=queue&queue=mine", { "Last-Event-ID": lastId });
    const next = await back.until(({ data }) => data.waiting === 2);
    assert.deepEqual([next.event, next.data.name], ["queue", "mine"]);
  });

  test("of an unknown type are refused, and the known types are named", async () => {
    const { status, text } = await yard.ask("GET", "/v1/events?types=queue,nothing");
    assert.equal(status, 400);
    assert.match(text, /attempts, beats, figures/);
  });

  test("the stream has rows for what runs and what ends, and the figures follow", async () => {
    hand.join("hand/w", "q");
    await hand.submit("q", "x");
    const assigned = await hand.next("assign");
    const reader = await listen("/v1/events?types=attempts,beats,figures");
    type Row = [number, number, number, number, number, number | null, string, string | null, number];
    type Frame = { from: number; workers: string[]; rows: Row[]; busy: number[][] | null };
    const first = (await reader.next())?.data as unknown as Frame;
    assert.deepEqual(
      first.rows.map(([task, attempt, worker, , , end, outcome]) => [
        task,
        attempt,
        first.workers[worker],
        end,
        outcome,
      ]),
      [[assigned.task.id, assigned.attempt, "hand/w", null, "running"]],
    );
    const busy = await reader.until(
      ({ event, data }) => event === "attempts" && (data.busy as unknown[] | null)?.length === 1,
    );
    const [[, , running, slotMs] = []] = busy.data.busy as number[][];
    assert.ok(running === 1 && Number(slotMs) > 500, JSON.stringify(busy.data.busy));
    hand.done(assigned, result);
    const ended = await reader.until(
      ({ event, data }) => event === "attempts" && (data.rows as unknown[]).length > 0,
    );
    const [[task, , , , start, end, outcome] = []] = ended.data.rows as Row[];
    assert.deepEqual([task, outcome], [assigned.task.id, "done"]);
    assert.ok(Number(end) > Number(start));
    const beat = await reader.until(
      ({ event, data }) => event === "beats" && (data.workers as Row[])[0]?.[2] === 1,
    );
    assert.equal((beat.data.workers as unknown[][])[0]?.[0], "hand/w");
    await reader.until(({ event, data }) => event === "figures" && data.running === 0);
  });
});

describe("the wire", patience, () => {
  test("is filtered by type, peer and task, and says which task a message is about", async () => {
    const all = await listen("/v1/wire?type=submitTask");
    const { id } = await yard.submit("q", "x");
    const first = await all.next();
    assert.deepEqual([first?.data.task, first?.data.side, first?.data.type], [id, "client", "submitTask"]);
    const ofTask = await listen(`/v1/wire?task=${id}`);
    const nobody = await listen("/v1/wire?peer=10.1.1.1");
    await yard.submit("q", "other");
    await yard.task(id);
    assert.equal((await ofTask.next())?.data.type, "getTask");
    yard.tap.show({ door: "udp", direction: "in", peer: "10.1.1.1:77", type: "t", bytes: 1, content: null });
    assert.equal((await nobody.next())?.data.peer, "10.1.1.1:77");
  });

  test("shows a limited number a second, counts the rest, and does not decode it", async () => {
    const reader = await listen("/v1/wire?max=20&door=udp");
    let made = 0;
    const content = () => {
      made += 1;
      return "x";
    };
    for (let n = 0; n < 1_000; n += 1)
      yard.tap.show({ door: "udp", direction: "in", peer: "p", type: "t", bytes: 1, content });
    let shown = 0;
    await reader.until(({ event, data }) => {
      if (event === "message") shown += 1;
      return event === "skipped" && Number(data.messages) + shown === 1_000;
    });
    assert.ok(shown <= 20 && made === shown, `${shown} shown, ${made} made`);
  });

  test("a limit below one message per flush holds, too", async () => {
    const reader = await listen("/v1/wire?max=1&door=udp");
    const startedAt = Date.now();
    let shown = 0;
    for (let round = 0; round < 12; round += 1) {
      for (let n = 0; n < 5; n += 1)
        yard.tap.show({ door: "udp", direction: "in", peer: "p", type: "t", bytes: 1, content: null });
      await reader.until(({ event }) => {
        if (event === "message") shown += 1;
        return event === "skipped";
      });
    }
    const seconds = (Date.now() - startedAt) / 1000;
    assert.ok(shown >= 1 && shown <= 2 + seconds, `${shown} in ${seconds} s`);
  });
});
