import assert from "node:assert/strict";
import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, describe, test } from "node:test";
import { EventReader, type ReadEvent } from "../testing/event-reader.js";
import { patience } from "../testing/patience.js";
import type { TaskJson } from "./task-json.js";
import { YardUnderTest } from "./yard-under-test.js";

let yard: YardUnderTest;
let readers: EventReader[];
beforeEach(async () => {
  readers = [];
  yard = await new YardUnderTest().open();
});
afterEach(async () => {
  for (const reader of readers) reader.close();
  await yard.close();
});

async function listen(path: string, headers?: Record<string, string>): Promise<EventReader> {
  const reader = await EventReader.open(`http://${yard.base}${path}`, headers);
  readers.push(reader);
  return reader;
}

const isTask = (id: string, state: string) => (event: ReadEvent) =>
  event.event === "task" && (event.data as TaskJson).id === id && (event.data as TaskJson).state === state;

describe("the events of the yard", patience, () => {
  test("begin with a snapshot and go on with what changes", async () => {
    await yard.submit("before", "x");
    const reader = await listen("/v1/events");
    const snapshot = await reader.next();
    assert.equal(snapshot?.event, "snapshot");
    const { items } = (await yard.ask("GET", "/v1/queues")).json as { items: { waiting: number }[] };
    assert.equal(items[0]?.waiting, 1);
    const { now } = snapshot.data as { now: string };
    assert.match(now, /^\d{4}-.*Z$/);
    assert.deepEqual(snapshot.data, { now, queues: items, workers: [], queueCount: 1, workerCount: 0 });
    const { id } = await yard.submit("after", "x");
    const event = await reader.until(isTask(id, "waiting"));
    assert.deepEqual(event.data, await yard.task(id));
    const [attempt] = await yard.claim("after", "w");
    assert.ok(attempt);
    await reader.until(
      ({ event, data }) => event === "worker" && (data as { state: string }).state === "busy",
    );
    await yard.speak(attempt, "done");
    await reader.until(isTask(id, "done"));
    await yard.ask("POST", "/v1/queues/before:pause");
    const paused = await reader.until(
      ({ event, data }) => event === "queue" && (data as { paused: boolean }).paused,
    );
    assert.equal((paused.data as { name: string }).name, "before");
  });

  test("a listener that comes back misses nothing, and sees nothing twice", async () => {
    const reader = await listen("/v1/events");
    await reader.next();
    const first = await yard.submit("q", "1");
    await reader.until(isTask(first.id, "waiting"));
    const { lastId } = reader;
    reader.close();
    const missed = await yard.submit("q", "2");
    // When another listener receives the event, it is certainly among the kept ones.
    await (await listen("/v1/events")).until(({ event }) => event === "snapshot");
    const back = await listen("/v1/events", { "Last-Event-ID": lastId });
    const seen: string[] = [];
    await back.until((event) => {
      seen.push(`${event.event} ${(event.data as TaskJson).id}`);
      return isTask(missed.id, "waiting")(event);
    });
    assert.ok(!seen.includes(`task ${first.id}`), String(seen));
    assert.ok(!seen.some((event) => event.startsWith("snapshot")), String(seen));
  });

  test("an event that is not known, or of another process, is answered with a snapshot", async () => {
    const reader = await listen("/v1/events");
    const { id = "" } = (await reader.next()) ?? {};
    const [series] = id.split("-");
    for (const lastId of ["", "x", "other-1", `${series}-999999`, `${series}-0`, "§".repeat(10)]) {
      const back = await listen("/v1/events", { "Last-Event-ID": encodeURIComponent(lastId) });
      assert.equal((await back.next())?.event, "snapshot", lastId);
    }
  });

  test("more changes than can be shown are counted, not forgotten", async () => {
    const reader = await listen("/v1/events");
    await reader.next();
    const body = '{"delay":"1h"}\n'.repeat(5_000);
    await yard.ask("POST", "/v1/queues/flood/tasks:batch", { body });
    let heard = 0;
    await reader.until(({ event, data }) => {
      if (event === "task") heard += 1;
      if (event === "skipped") heard += (data as { tasks: number }).tasks;
      return heard >= 5_000;
    });
    assert.equal(heard, 5_000);
  });

  test("changes that no listener wants are not gathered", async () => {
    const numberOf = ({ id }: { id: string }) => Number(id.split("-")[1]);
    const { id } = await yard.submit("q", "x");
    const readers = await Promise.all([
      listen("/v1/events?types=queue,worker,alert,figures,beats,attempts"),
      listen(`/v1/events?task=${id}`),
      listen("/v1/events?types=queue,task&queue=other"),
    ]);
    const first = numberOf((await readers[0]?.until(({ event }) => event === "snapshot")) as ReadEvent);
    await yard.ask("POST", "/v1/queues/flood/tasks:batch", { body: '{"delay":"1h"}\n'.repeat(1_000) });
    const isTold = ({ event, data }: ReadEvent) =>
      event === "queue" && (data as { name: string; waiting: number }).waiting === 1_000;
    const last = numberOf((await readers[0]?.until(isTold)) as ReadEvent);
    // The queue may be told several times while the batch is taken in.
    assert.ok(last - first < 100, `${last - first} events were made`);
  });

  test("a busy queue does not hide a quiet one, with a filter by queue and without", async () => {
    const all = await listen("/v1/events?types=task");
    const reader = await listen("/v1/events?queue=quiet&types=task");
    const busy = await listen("/v1/events?queue=busy&types=task");
    await reader.next();
    const body = '{"delay":"1h"}\n'.repeat(2_000);
    const flood = () => yard.ask("POST", "/v1/queues/busy/tasks:batch", { body });
    const expected: string[] = [];
    for (let round = 0; round < 5; round++) {
      const [, { id }] = await Promise.all([flood(), yard.submit("quiet", "x")]);
      const cancelled = yard.ask("POST", `/v1/tasks/${id}:cancel`);
      await Promise.all([flood(), cancelled]);
      expected.push(id);
    }
    const ended = new Set<string>();
    while (ended.size < expected.length) {
      const { event, data } = (await reader.next()) as ReadEvent;
      assert.equal(event, "task", "changes of the other queue are not counted as skipped here");
      const { id, queue, state } = data as TaskJson;
      assert.equal(queue, "quiet");
      if (state === "cancelled") ended.add(id);
    }
    assert.deepEqual([...ended].sort(), expected.toSorted());
    await all.until((event) => isTask(expected.at(-1) ?? "", "cancelled")(event));
    let heard = 0;
    await busy.until(({ event, data }) => {
      if (event === "task") heard += 1;
      if (event === "skipped") heard += (data as { tasks: number }).tasks;
      return heard >= 20_000;
    });
    assert.equal(heard, 20_000);
  });

  test("one that does not read is left out, and told how things stand when it does", async () => {
    const slow = yard.connect("GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    slow.pause();
    const quick = await listen("/v1/events");
    await quick.next();
    // The system's own buffers take some megabytes before anything waits here.
    const key = "k".repeat(500);
    let roundsBehind = 0;
    for (let round = 0; roundsBehind < 5; round++) {
      if (yard.door.unreadBytes > 100_000) roundsBehind += 1;
      const lines = Array.from({ length: 200 }, (_, n) => JSON.stringify({ key: `${round}.${n}.${key}` }));
      const { id } = (
        (await yard.ask("POST", "/v1/queues/q/tasks:batch", { body: lines.join("\n") })).json as {
          items: TaskJson[];
        }
      ).items[199] as TaskJson;
      await quick.until(
        ({ event, data }) => (event === "task" && (data as TaskJson).id === id) || event === "skipped",
      );
    }
    assert.ok(yard.door.unreadBytes < 1_000_000, `${yard.door.unreadBytes} bytes wait to be read`);
    let heard = "";
    slow.on("data", (chunk) => {
      heard = (heard + chunk).slice(-4_000_000);
    });
    slow.resume();
    await yard.eventually(async () => {
      await yard.submit("q", "again");
      return heard.split("event: snapshot").length > 1 && heard.lastIndexOf("snapshot") > 1000
        ? true
        : undefined;
    });
  });

  test("end when the dispatcher stops", async () => {
    const reader = await listen("/v1/events");
    const wire = await listen("/v1/wire");
    await reader.next();
    await yard.runtime.stop(0);
    while ((await reader.next()) !== undefined);
    assert.equal(await wire.next(), undefined);
  });
});

describe("the wire", patience, () => {
  const message = (door: string, content: unknown) =>
    ({ door, direction: "in", peer: "p", type: "job", bytes: 3, content }) as const;

  test("is shown while somebody listens, to each listener as it asked", async () => {
    assert.equal(yard.tap.isOpen, false);
    const all = await listen("/v1/wire");
    const udp = await listen("/v1/wire?door=udp");
    assert.equal(yard.tap.isOpen, true);
    yard.tap.show(message("pulse", { bytes: Buffer.from("abc"), big: 7n }));
    yard.tap.show(message("udp", "x".repeat(10_000)));
    const first = (await all.next())?.data as Record<string, unknown> | undefined;
    assert.match(String(first?.at), /^\d{4}-/);
    assert.deepEqual(
      { ...first, at: "" },
      {
        at: "",
        door: "pulse",
        direction: "in",
        peer: "p",
        side: null,
        type: "job",
        bytes: 3,
        task: null,
        content: { bytes: "YWJj", big: "7" },
        data: null,
        fields: [],
        fault: null,
      },
    );
    const one = (await udp.next())?.data as { door: string; content: string } | undefined;
    assert.equal(one?.door, "udp");
    assert.ok(one.content.length < 5_000);
    all.close();
    udp.close();
    await yard.eventually(async () => (yard.tap.isOpen ? undefined : true));
  });

  test("shows the http door's own requests, streams aside", async () => {
    const reader = await listen("/v1/wire?door=http");
    await yard.submit("q", "abc");
    const events = [await reader.next(), await reader.next()].map(
      (event) => event?.data as unknown as Record<string, unknown>,
    );
    assert.deepEqual(
      events.map(({ direction, type, bytes, content }) => [direction, type, typeof bytes, content]),
      [
        ["in", "submitTask", "number", { method: "POST", url: "/v1/queues/q/tasks" }],
        ["out", "submitTask", "number", { status: 201 }],
      ],
    );
    assert.equal(events[0]?.bytes, 3);
  });

  test("a flood is counted", async () => {
    const reader = await listen("/v1/wire");
    for (let n = 0; n < 20_000; n++) yard.tap.show(message("udp", { n }));
    let heard = 0;
    await reader.until(({ event, data }) => {
      heard += event === "message" ? 1 : (data as { messages: number }).messages;
      return heard >= 20_000;
    });
    assert.equal(heard, 20_000);
  });
});

/** Node opens as many files as the system allows. */
const openFilesMax = Number(spawnSync("sh", ["-c", "ulimit -Hn"], { encoding: "utf8" }).stdout);
const tooFew = openFilesMax < 11_000 && `needs 11,000 open files, and the limit here is ${openFilesMax}`;

test("ten thousand listen at once, and all hear of one task", {
  ...patience,
  skip: tooFew,
}, async (t) => {
  const child = fork(new URL("../testing/many-listeners.js", import.meta.url), [yard.base, "10000"]);
  try {
    const next = async () => (await once(child, "message"))[0] as { heard: number };
    assert.deepEqual(await next(), { heard: 10_000 }, "not all got a snapshot");
    const all = next();
    const { id } = await yard.submit("many", "x");
    assert.equal((await yard.task(id)).state, "waiting");
    assert.deepEqual(await all, { heard: 10_000 }, "not all heard of the task");
    t.diagnostic(`stalled for ${yard.runtime.stalledMs} ms`);
  } finally {
    child.kill();
    await once(child, "exit");
  }
});
