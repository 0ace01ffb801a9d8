// The fast paths of the SDK over http with a real dispatcher, over a network that fails in every
// way.

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import {
  connect,
  type InterruptedError,
  type RefusedError,
  type RunningWorker,
  UnreachableError,
  type WorkContext,
  work,
  type YardClient,
} from "@yardmaster/sdk";
import { Inbox } from "../interop/inbox.js";
import { measured, patience, waitMs } from "../patience.js";
import { type MeddlingProxy, startMeddlingProxy } from "./meddling-proxy.js";
import { type ServedYard, serveYard } from "./served-yard.js";

let yard: ServedYard;
let proxy: MeddlingProxy;
/** Connected through the proxy. */
let client: YardClient;
before(async () => {
  yard = await serveYard({ limits: { payloadBytes: 20_000 } });
  proxy = await startMeddlingProxy(yard.url);
  client = await connect(proxy.url);
});
after(async () => {
  await client.close();
  await proxy.close();
  await yard.stop();
});
beforeEach(() => {
  proxy.meddle = () => "pass";
  proxy.seen.length = 0;
});

async function tasksOf(queue: string) {
  const found = [];
  for await (const task of client.tasks({ queue })) found.push(task);
  return found;
}

/** Loses the answers to the first requests whose path ends like this. */
function loseFirst(count: number, ending: string): void {
  let left = count;
  proxy.meddle = (path) => (path.endsWith(ending) && left-- > 0 ? "lose" : "pass");
}

describe("tasks submitted one by one", patience, () => {
  test("go in one request when they come in one tick", async () => {
    const submitted = await Promise.all(
      Array.from({ length: 50 }, (_, index) => client.submit(`task ${index}`, { queue: "tick" })),
    );
    assert.deepEqual(proxy.seen, ["/v1/queues/tick/tasks:batch"]);
    assert.equal(new Set(submitted.map(({ id }) => id)).size, 50);
    const [first] = submitted;
    assert.equal((await client.payload(first?.id ?? "")).text(), "task 0");
  });

  test("are refused one by one: the third rejects, the others resolve", async () => {
    await client.submit("first use", { queue: "third", key: "used" });
    const results = await Promise.allSettled([
      client.submit("a", { queue: "third" }),
      client.submit({ b: 1 }, { queue: "third", priority: 3 }),
      client.submit("another payload", { queue: "third", key: "used" }),
      client.submit(Buffer.from([255, 0]), { queue: "third", contentType: "image/raw" }),
      client.submit("e", { queue: "third", priority: 1.5 }),
      client.submit("first use", { queue: "third", key: "used" }),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["fulfilled", "fulfilled", "rejected", "fulfilled", "rejected", "fulfilled"],
    );
    const faults = results.flatMap((one) => (one.status === "rejected" ? [one.reason as RefusedError] : []));
    assert.deepEqual(
      faults.map(({ code, status }) => [code, status]),
      [
        ["key_conflict", 409],
        ["bad_request", 400],
      ],
    );
    assert.match(faults[1]?.message ?? "", /^priority: found 1\.5/);
    const raw = results[3]?.status === "fulfilled" ? results[3].value.id : "";
    const { bytes, contentType } = await client.payload(raw);
    assert.deepEqual([[...bytes], contentType], [[255, 0], "image/raw"]);
    assert.equal((await tasksOf("third")).length, 4);
  });

  test("are submitted again with their keys when the connection dies before the answer, and are there once", async () => {
    loseFirst(1, "/tasks:batch");
    const results = await Promise.allSettled([
      client.submit("a", { queue: "dying", key: "a" }),
      client.submit("b", { queue: "dying" }),
      client.submit("c", { queue: "dying", key: "c" }),
    ]);
    const [a, b, c] = results;
    assert.ok(a?.status === "fulfilled" && c?.status === "fulfilled");
    assert.ok(
      b?.status === "rejected" && b.reason instanceof UnreachableError,
      "nobody knows whether it is there",
    );
    loseFirst(2, "/tasks");
    const alone = await client.submit("d", { queue: "dying", key: "d" });
    const keys = (await tasksOf("dying")).map(({ id, key }) => [key, id]);
    assert.equal(keys.length, 4, "each once");
    for (const [key, { id }] of [
      ["a", a.value],
      ["c", c.value],
      ["d", alone],
    ] as const)
      assert.ok(
        keys.some(([one, its]) => one === key && its === id),
        key,
      );
  });

  test("are not refused because their batch is too large", async () => {
    const text = "x".repeat(9_000);
    const submitted = await Promise.all(
      Array.from({ length: 7 }, () => client.submit(text, { queue: "large" })),
    );
    assert.equal(new Set(submitted.map(({ id }) => id)).size, 7);
    assert.equal((await tasksOf("large")).length, 7);
    await assert.rejects(
      Promise.all([
        client.submit(text, { queue: "large" }),
        client.submit("x".repeat(30_000), { queue: "large" }),
      ]),
      { code: "payload_too_large" },
    );
  });
});

describe("a worker over the stream", patience, () => {
  test("hears of a cancellation within a second, without a beat", async (t) => {
    const begun = new Inbox<WorkContext>();
    const reasons = new Inbox<InterruptedError>();
    const worker = await work(
      proxy.url,
      { queue: "cancelled", leaseMs: 120_000 },
      async (_payload, context) => {
        begun.put(context);
        await new Promise((resolve) => context.signal.addEventListener("abort", resolve, { once: true }));
        reasons.put(context.signal.reason as InterruptedError);
        throw context.signal.reason;
      },
    );
    const { id } = await client.submit("x", { queue: "cancelled" });
    await begun.next();
    const at = performance.now();
    await client.cancel(id);
    assert.equal((await reasons.next()).code, "cancelled");
    measured(t, "from the cancellation to the handler's signal", performance.now() - at, 1_000);
    const { id: next } = await client.submit("y", { queue: "cancelled" });
    assert.equal((await begun.next()).task, next, "its slot is free again");
    await worker.stop({ graceMs: 0 });
  });

  test("goes on after streams that were cut in the middle of a line: nothing is lost or done twice", async () => {
    const runs = new Map<string, number>();
    const worker = await work(proxy.url, { queue: "cut", concurrency: 4 }, (payload) => {
      runs.set(payload.text(), (runs.get(payload.text()) ?? 0) + 1);
      return payload.text();
    });
    const ids: string[] = [];
    for (let round = 0; round < 5; round += 1) {
      proxy.cutStreams();
      const texts = Array.from({ length: 20 }, (_, index) => `${round}.${index}`);
      const submitted = await Promise.all(
        texts.map((text) => client.submit(text, { queue: "cut", attempts: 1 })),
      );
      const results = await Promise.all(submitted.map((one) => client.result(one, { waitMs })));
      assert.deepEqual(
        results.map((body) => body.text()),
        texts,
      );
      ids.push(...submitted.map(({ id }) => id));
    }
    assert.ok(proxy.seen.filter((path) => path.endsWith(":work")).length >= 5, "it was cut");
    assert.deepEqual([...new Set(runs.values())], [1]);
    for (const id of ids) assert.doesNotMatch(JSON.stringify((await client.task(id)).story), /lost/);
    await worker.stop();
  });

  test("keeps what it holds over a restart of the dispatcher", async () => {
    const begun = new Inbox<() => void>();
    const worker = await work(
      proxy.url,
      { queue: "restart", concurrency: 2 },
      (payload) => new Promise<string>((resolve) => begun.put(() => resolve(payload.text()))),
    );
    const submitted = [
      await client.submit("a", { queue: "restart" }),
      await client.submit("b", { queue: "restart" }),
    ];
    const finish = [await begun.next(), await begun.next()];
    const last = yard;
    yard = await last.restart("SIGKILL");
    proxy.aim(yard.url);
    for (const one of finish) one();
    for (const [index, text] of ["a", "b"].entries())
      assert.equal((await client.result(submitted[index]?.id ?? "", { waitMs })).text(), text);
    for (const { id } of submitted)
      assert.doesNotMatch(JSON.stringify((await client.task(id)).story), /lost/);
    const more = client.call("c", { queue: "restart", waitMs });
    (await begun.next())();
    assert.equal((await more).body.text(), "c");
    await worker.stop();
  });

  test("asks again for a large payload when the answer was lost: the task is not to blame", async () => {
    const roomy = await serveYard();
    const own = await connect(roomy.url);
    let worker: RunningWorker | undefined;
    proxy.aim(roomy.url);
    loseFirst(2, "/payload");
    try {
      worker = await work(proxy.url, { queue: "large" }, (payload) => String(payload.bytes.length));
      const { id } = await own.submit(Buffer.alloc(500_000, "x"), { queue: "large", attempts: 1 });
      assert.equal((await own.result(id, { waitMs })).text(), "500000");
      assert.equal(proxy.seen.filter((path) => path.endsWith("/payload")).length, 3);
    } finally {
      proxy.aim(yard.url);
      await worker?.stop();
      await own.close();
      await roomy.stop();
    }
  });

  test("claims where the dispatcher is older and has no stream", async () => {
    proxy.meddle = (path) => (path.endsWith(":work") ? "deny" : "pass");
    let worker: RunningWorker | undefined;
    try {
      worker = await work(
        proxy.url,
        { queue: "older", concurrency: 3 },
        (payload) => `old ${payload.text()}`,
      );
      const texts = Array.from({ length: 10 }, (_, index) => String(index));
      const submitted = await Promise.all(texts.map((text) => client.submit(text, { queue: "older" })));
      const results = await Promise.all(submitted.map((one) => client.result(one, { waitMs })));
      assert.deepEqual(
        results.map((body) => body.text()),
        texts.map((text) => `old ${text}`),
      );
      assert.ok(proxy.seen.some((path) => path.endsWith(":claim")));
      assert.equal(proxy.seen.filter((path) => path.endsWith(":work")).length, 1, "it is asked for once");
    } finally {
      await worker?.stop();
    }
  });

  test("posts again how tasks ended when the answer was lost: one outcome each", async () => {
    const worker = await work(proxy.url, { queue: "unheard", concurrency: 8 }, (payload) => payload.text());
    loseFirst(2, ":batch");
    const texts = Array.from({ length: 16 }, (_, index) => String(index));
    const results = await Promise.all(
      texts.map((text) => client.call(text, { queue: "unheard", key: text, waitMs })),
    );
    assert.deepEqual(
      results.map(({ body }) => body.text()),
      texts,
    );
    await worker.stop();
    assert.equal((await tasksOf("unheard")).length, 16);
  });

  test("ends when another process works under its name", async () => {
    const first = await work(proxy.url, { queue: "named", name: "twin" }, () => "first");
    assert.equal((await client.call("x", { queue: "named", waitMs })).body.text(), "first");
    const second = await work(proxy.url, { queue: "named", name: "twin" }, () => "second");
    await assert.rejects(first.ended, { code: "replaced" });
    assert.equal((await client.call("x", { queue: "named", waitMs })).body.text(), "second");
    await second.stop();
  });
});
