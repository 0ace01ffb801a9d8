import assert from "node:assert/strict";
import { ReadableStream } from "node:stream/web";
import { after, before, describe, test } from "node:test";
import { patience } from "../testing/patience.js";
import { batchItemsMax } from "./batch.js";
import type { TaskJson } from "./task-json.js";
import { YardUnderTest } from "./yard-under-test.js";

type Item = TaskJson & { code?: string; detail?: string };

describe("many tasks at once", patience, () => {
  let yard: YardUnderTest;
  before(async () => {
    yard = await new YardUnderTest().open();
  });
  after(() => yard.close());

  async function submit(queue: string, body: string | ReadableStream): Promise<Item[]> {
    const { status, json, text } = await yard.ask("POST", `/v1/queues/${queue}/tasks:batch`, {
      body,
      duplex: "half",
    } as RequestInit);
    assert.equal(status, 200, text);
    return (json as { items: Item[] }).items;
  }

  const payloadOf = async ({ id }: Item) => (await yard.ask("GET", `/v1/tasks/${id}/payload`)).text;

  test("lines and arrays give the tasks in order, each as a single submission would", async () => {
    const lines = [
      { payload: "text", priority: 3, key: "k" },
      { payload: { a: [1] }, delay: "1h" },
      { payloadBase64: Buffer.from("bytes").toString("base64"), contentType: "x/y", attempts: 2 },
      {},
    ];
    for (const [queue, body] of [
      ["b1", lines.map((line) => `${JSON.stringify(line)}\n`).join("")],
      ["b2", JSON.stringify(lines, null, 2)],
    ] as const) {
      const items = await submit(queue, body);
      assert.deepEqual(
        items.map(({ queue: where, state, priority, key, contentType, payloadBytes, why }) => [
          where,
          state,
          priority,
          key,
          contentType,
          payloadBytes,
          why?.code,
        ]),
        [
          [queue, "waiting", 3, "k", "text/plain; charset=utf-8", 4, "no_worker"],
          [queue, "waiting", 0, null, "application/json", 9, "delayed"],
          [queue, "waiting", 0, null, "x/y", 5, "no_worker"],
          [queue, "waiting", 0, null, "application/octet-stream", 0, "no_worker"],
        ],
      );
      assert.deepEqual(await Promise.all(items.map(payloadOf)), ["text", '{"a":[1]}', "bytes", ""]);
      const [first] = items;
      assert.ok(first);
      assert.deepEqual(await yard.task(first.id), first);
      const again = await submit(queue, JSON.stringify(lines[0]));
      assert.deepEqual(again, [first]);
    }
    assert.deepEqual(await submit("b3", ""), []);
  });

  test("keys that every object inherits are unknown keys, and give a task nothing", async () => {
    const item = '{"payload":{"__proto__":{"a":1},"constructor":2},"__proto__":{"priority":9}}';
    const [refused, accepted] = await submit(
      "proto",
      `${item}\n${item.replace(/,"__proto__":{"priority":9}/, "")}`,
    );
    assert.match(refused?.detail ?? "", /^line 1: .*__proto__/);
    assert.ok(accepted);
    assert.equal(await payloadOf(accepted), '{"__proto__":{"a":1},"constructor":2}');
    for (const name of ["__proto__", "constructor"]) {
      const { status, text } = await yard.ask("POST", `/v1/queues/proto/tasks?${name}=1`);
      assert.equal(status, 400, text);
      assert.match(text, new RegExp(name));
    }
  });

  test("each task of a batch is answered with its own fields, also next to one that is alike", async () => {
    const lines = ['{"payload":"aa"}', '{"payload":"bb"}', '{"payload":"cc","priority":1}', '{"payload":"c"}']
      .concat([
        '{"payload":"d","delay":"1h"}',
        '{"payload":"e","delay":"1h"}',
        '{"payload":"f","key":"\\"x"}',
      ])
      .concat(['{"payload":"g","contentType":"x/y"}', '{"payload":"h","contentType":"x/y"}']);
    const items = await submit("alike", lines.join("\n"));
    assert.equal(items.length, lines.length);
    for (const item of items) {
      const { why, ...task } = await yard.task(item.id);
      const { why: shown, ...rest } = item;
      assert.deepEqual(rest, task);
      assert.equal(shown?.code, why?.code);
    }
  });

  test("a malformed line is named, and the others are accepted", async () => {
    const items = await submit(
      "bad",
      [
        '{"payload":1}',
        "oops",
        '{"payload":2,"prioritY":1}',
        '{"priority":"high"}',
        "7",
        '{"payload":1,"payloadBase64":""}',
        '{"payloadBase64":"§"}',
        '{"delay":"5"}',
        '{"key":""}',
        '{"payload":3}',
      ].join("\n"),
    );
    assert.deepEqual(
      items.map(({ state, code, detail }) => state ?? `${code} ${detail}`),
      [
        "waiting",
        `bad_request line 2: not JSON: ${items[1]?.detail?.slice("line 2: not JSON: ".length)}`,
        'bad_request line 3: unknown property "prioritY"; did you mean priority? (known here: payload, payloadBase64, contentType, priority, delay, timeout, expires, attempts, failures, key, group, after, ifFailed)',
        'bad_request line 4: priority: found "high", expected a whole number from -2147483648 to 2147483647',
        "bad_request line 5: found 7, expected a JSON object",
        "bad_request line 6: payload or payloadBase64, not both",
        'bad_request line 7: payloadBase64: found "§", expected base64',
        'bad_request line 8: delay: found "5", expected a duration such as 500ms, 30s, 5m or 1h, at most 87600h',
        'bad_request line 9: key: found "", expected 1 to 512 printable characters',
        "waiting",
      ],
    );
  });

  test("an array that breaks off is accepted up to there, and says where", async () => {
    const items = await submit("broken", '[{"payload":1},\n{"payload":2},\n,{"payload":3}]');
    assert.deepEqual(
      items.map(({ state, detail }) => state ?? detail),
      [
        "waiting",
        "waiting",
        "line 3: an element is missing between commas; the rest of the array is not read",
      ],
    );
  });

  test("it is read as it comes: tasks are there before the batch ends", async () => {
    let send: (text: string) => void = () => {};
    let end: () => void = () => {};
    const body = new ReadableStream({
      start(controller) {
        send = (text) => controller.enqueue(Buffer.from(text));
        end = () => controller.close();
      },
    });
    const answered = submit("live", body);
    send('{"payload":"first"}\n{"pay');
    const [attempt] = await yard.claim("live", "w", "&wait=20s");
    assert.equal(Buffer.from(attempt?.payload ?? "", "base64").toString(), "first");
    send('load":"second"}');
    end();
    assert.equal((await answered).length, 2);
  });

  test("a batch has a maximum number of items, and the rest is not read", async () => {
    const items = await submit("many", '{"delay":"1h"}\n'.repeat(batchItemsMax + 5));
    assert.equal(items.length, batchItemsMax + 1);
    assert.equal(items.filter(({ state }) => state === "waiting").length, batchItemsMax);
    assert.match(items[batchItemsMax]?.detail ?? "", /^line 10001: a batch has at most 10000 items/);
  });

  test("a batch over the size limit is refused whole if its Content-Length says so, else from the item that exceeds it", async () => {
    const body = `{"payload":"${"x".repeat(600_000)}"}\n`;
    const announced = await yard.ask("POST", "/v1/queues/large/tasks:batch", { body: body + body });
    assert.equal(announced.status, 413);
    const chunks = [body, body];
    const items = await submit(
      "large",
      new ReadableStream({
        pull(controller) {
          const chunk = chunks.pop();
          if (chunk) controller.enqueue(Buffer.from(chunk));
          else controller.close();
        },
      }),
    );
    assert.deepEqual(
      items.map(({ state, code }) => state ?? code),
      ["waiting", "payload_too_large"],
    );
  });

  test("a full queue refuses items one by one", async () => {
    const small = await new YardUnderTest({ queues: { tiny: { maxWaiting: 2 } } }).open();
    try {
      const { json } = await small.ask("POST", "/v1/queues/tiny/tasks:batch", { body: "{}\n{}\n{}\n" });
      assert.deepEqual(
        (json as { items: Item[] }).items.map(({ state, code }) => state ?? code),
        ["waiting", "waiting", "queue_full"],
      );
    } finally {
      await small.close();
    }
  });

  test("many attempts end at once, each by itself", async () => {
    await submit("ends", "{}\n{}\n{}\n{}\n");
    const [one, two, three, four] = await yard.claim("ends", "w", "&max=4");
    assert.ok(one && two && three && four);
    const said = ({ task, attempt, token }: typeof one) => ({ task, attempt, token });
    const lines = [
      { ...said(one), result: { ok: true } },
      { ...said(two), error: { code: "E", message: "no" } },
      { ...said(three), token: four.token, result: "x" },
      { ...said(four), resultBase64: "eA==", contentType: "x/y" },
      { ...said(one), result: { ok: true } },
      { ...said(two), error: { message: "no" }, result: 1 },
      { ...said(two), task: "nobody" },
    ];
    const body = lines.map((line) => JSON.stringify(line)).join("\n");
    const { status, json } = await yard.ask("POST", "/v1/attempts:batch", { body });
    assert.equal(status, 200);
    const items = (json as { items: Item[] }).items;
    assert.deepEqual(
      items.map(({ state, code, detail }) => state ?? `${code}: ${detail}`),
      [
        "done",
        "failed",
        "unauthorized: Yard-Token is missing, or is not the one of this attempt",
        "done",
        "done",
        "bad_request: line 6: give only one of result, resultBase64, error, return and beat",
        'bad_request: line 7: task: found "nobody", expected a task\'s id',
      ],
    );
    assert.equal((await yard.ask("GET", `/v1/tasks/${one.task}/result`)).text, '{"ok":true}');
    const last = await yard.ask("GET", `/v1/tasks/${four.task}/result`);
    assert.deepEqual([last.text, last.headers.get("content-type")], ["x", "x/y"]);
  });
});

describe("a task that ended badly", patience, () => {
  test("is retried as a new task; one that has not finished, or is done, is refused", async () => {
    const yard = await new YardUnderTest().open();
    try {
      const retry = (id: string, query = "") => yard.ask("POST", `/v1/tasks/${id}:retry${query}`);
      const old = (
        await yard.ask("POST", "/v1/queues/q/tasks?priority=4&attempts=2", {
          body: "payload",
          headers: { "Content-Type": "x/y" },
        })
      ).json as TaskJson;
      const early = await retry(old.id);
      assert.deepEqual([early.status, (early.json as Item).code], [409, "wrong_state"]);
      await yard.ask("POST", `/v1/tasks/${old.id}:cancel`);
      const { status, headers, json } = await retry(old.id, "?key=again");
      const { id, state, queue, priority, contentType, key } = json as TaskJson;
      assert.equal(status, 201);
      assert.equal(headers.get("location"), `/v1/tasks/${id}`);
      assert.notEqual(id, old.id);
      assert.deepEqual([state, queue, priority, contentType, key], ["waiting", "q", 4, "x/y", "again"]);
      const twice = await retry(old.id, "?key=again");
      assert.deepEqual([twice.status, (twice.json as TaskJson).id], [200, id]);
      const [attempt] = await yard.claim("q", "w");
      assert.equal(Buffer.from(attempt?.payload ?? "", "base64").toString(), "payload");
      assert.ok(attempt);
      await yard.speak(attempt, "done");
      assert.equal((await retry(id)).status, 409);
      assert.equal((await retry("999")).status, 404);
      assert.equal((await yard.task(old.id)).state, "cancelled");
    } finally {
      await yard.close();
    }
  });
});

test("bodies on their way are bounded together", patience, async () => {
  const yard = await new YardUnderTest({ payloadBytesMax: 1000 }).open();
  try {
    const head = "POST /v1/queues/q/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\n";
    // The limit is twice the largest body: two of these are arriving and never complete.
    const slow = [1, 2].map(() => yard.connect(`${head}Content-Length: 1000\r\n\r\n${"x".repeat(900)}`));
    const refused = await yard.eventually(async () => {
      const asked = await yard.ask("POST", "/v1/queues/q/tasks", { body: "y".repeat(500) });
      return asked.status === 429 ? asked : undefined;
    });
    assert.equal((refused.json as Item).code, "queue_full");
    assert.match((refused.json as Item).detail ?? "", /bodies on their way hold 1800 of 2000 bytes/);
    for (const socket of slow) socket.destroy();
    await yard.eventually(async () => {
      const { status } = await yard.ask("POST", "/v1/queues/q/tasks", { body: "y".repeat(1000) });
      return status === 201 ? true : undefined;
    });
  } finally {
    await yard.close();
  }
});

test("a small body is received while large ones fill their room", patience, async () => {
  const yard = await new YardUnderTest({ payloadBytesMax: 1_000_000 }).open();
  try {
    const head = "POST /v1/queues/q/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\n";
    // Seven eighths of twice the largest body are for large ones.
    const slow = [1, 2].map(() =>
      yard.connect(`${head}Content-Length: 850000\r\n\r\n${"x".repeat(840_000)}`),
    );
    await yard.eventually(async () => {
      const { status } = await yard.ask("POST", "/v1/queues/q/tasks", { body: "y".repeat(300_000) });
      return status === 429 ? true : undefined;
    });
    const { status } = await yard.ask("POST", "/v1/queues/q/tasks", { body: "y".repeat(60_000) });
    assert.equal(status, 201);
    for (const socket of slow) socket.destroy();
  } finally {
    await yard.close();
  }
});

test("answers that nobody reads are bounded together", patience, async () => {
  const payloadBytesMax = 8_000_000;
  const yard = await new YardUnderTest({ payloadBytesMax, timeouts: { silenceMs: 1_000 } }).open();
  try {
    const { id } = await yard.submit("q", "x".repeat(payloadBytesMax));
    const ask = `GET /v1/tasks/${id}/payload HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
    for (let n = 0; n < 2; n++) yard.connect(ask).pause();
    const refused = await yard.eventually(async () => {
      const asked = await yard.ask("GET", `/v1/tasks/${id}/payload`);
      return asked.status === 429 ? asked : undefined;
    });
    assert.equal((refused.json as Item).code, "queue_full");
    // They are closed for it, and then there is room again.
    await yard.eventually(async () => {
      const { status } = await yard.ask("GET", `/v1/tasks/${id}/payload`);
      return status === 200 ? true : undefined;
    });
  } finally {
    await yard.close();
  }
});
