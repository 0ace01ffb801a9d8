// Bodies that the engine keeps outside their records, over http. A claim of a waiting task must
// read its payload first, and nothing that belongs to the claim may be answered before that.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { TaskId } from "@yardmaster/core";
import { OutOfLineEngine } from "../testing/out-of-line-engine.js";
import type { TaskJson } from "./task-json.js";
import { YardUnderTest } from "./yard-under-test.js";

/**
 * Sizes around the largest body inside a record, around a socket's chunk, and one of many chunks.
 */
const sizes = [0, 1, 4095, 4096, 4097, 70_000, 5_000_000];

const textOf = (size: number) => "0123456789".repeat(Math.ceil(size / 10)).slice(0, size);
const plain = (base64: string) => Buffer.from(base64, "base64").toString();

describe("large bodies over http", { timeout: 60_000 }, () => {
  let yard: YardUnderTest;
  let engine: OutOfLineEngine;
  before(async () => {
    engine = new OutOfLineEngine(4096);
    yard = await new YardUnderTest({ payloadBytesMax: 100_000_000, engine }).open();
  });
  after(() => yard.close());

  /** Reads wait until the test releases them. */
  function holdReads() {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = () => {
        engine.beforeRead = async () => {};
        resolve();
      };
    });
    const reading = new Promise<TaskId>((resolve) => {
      engine.beforeRead = (task) => {
        resolve(task);
        return released;
      };
    });
    return { reading, release };
  }

  for (const form of ["json", "raw"]) {
    test(`a waiting task of any size is claimed at once, as ${form}, and its result read back`, async () => {
      for (const size of sizes) {
        const { id } = await yard.submit(form, textOf(size));
        const headers: Record<string, string> = form === "raw" ? { Accept: "application/octet-stream" } : {};
        const claim = await yard.ask("POST", `/v1/queues/${form}:claim?worker=w&wait=20s`, { headers });
        assert.equal(claim.status, 200, `${size} bytes`);
        const attempt =
          form === "json"
            ? (claim.json as { attempts: { attempt: number; token: string; payload: string }[] }).attempts[0]
            : {
                attempt: Number(claim.headers.get("yard-attempt")),
                token: claim.headers.get("yard-token") ?? "",
                payload: Buffer.from(claim.text).toString("base64"),
              };
        assert.ok(attempt);
        assert.ok(plain(attempt.payload) === textOf(size), `${size} bytes come as they went`);
        const done = await yard.ask("POST", `/v1/tasks/${id}/attempts/${attempt.attempt}:done`, {
          body: textOf(size),
          headers: { "Yard-Token": attempt.token },
        });
        assert.equal(done.status, 200);
        assert.equal((done.json as TaskJson).resultBytes, size);
        const { text } = await yard.ask("GET", `/v1/tasks/${id}/result`);
        assert.ok(text === textOf(size), `a result of ${size} bytes`);
      }
    });
  }

  test("one claim takes small and large ones together, in their order", async () => {
    const mixed = [...sizes, ...[...sizes].reverse()];
    const ids: string[] = [];
    for (const size of mixed) ids.push((await yard.submit("mixed", textOf(size))).id);
    const attempts = await yard.claim("mixed", "w", "&max=100");
    assert.deepEqual(
      attempts.map(({ task, payload }) => [task, plain(payload).length]),
      ids.map((id, index) => [id, mixed[index]]),
    );
  });

  test("a task cancelled while its payload is read is cancelled, and the claim is answered", async () => {
    const { id } = await yard.submit("cancelled", textOf(5000));
    const { reading, release } = holdReads();
    const claim = yard.ask("POST", "/v1/queues/cancelled:claim?worker=w");
    assert.equal(String(await reading), id);
    assert.equal((await yard.ask("POST", `/v1/tasks/${id}:cancel`)).status, 200);
    release();
    assert.ok([200, 204].includes((await claim).status));
    assert.equal((await yard.task(id)).state, "cancelled");
  });

  test("a claim whose connection closes while payloads are read gives them back untried", async () => {
    const { id } = await yard.submit("closed", textOf(5000), "?attempts=1");
    const { reading, release } = holdReads();
    const socket = yard.connect(
      "POST /v1/queues/closed:claim?worker=w HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n",
    );
    await reading;
    assert.equal((await yard.task(id)).state, "running");
    socket.resetAndDestroy();
    // The door learns of it before it answers a later request.
    for (const _ of [1, 2]) assert.equal((await yard.task(id)).state, "running");
    release();
    const back = await yard.until(id, ({ state }) => state === "waiting");
    assert.equal(back.story.at(-1)?.cause, "returned: undelivered");
    const [attempt] = await yard.claim("closed", "other");
    assert.equal(plain(attempt?.payload ?? ""), textOf(5000));
  });

  test("a payload that cannot be read fails its task; the others of the claim arrive", async () => {
    const { id: bad } = await yard.submit("damaged", textOf(5000));
    const { id: good } = await yard.submit("damaged", textOf(6000));
    engine.beforeRead = async (task) => {
      if (String(task) === bad) throw new Error("the record is damaged");
    };
    const attempts = await yard.claim("damaged", "w", "&max=10");
    engine.beforeRead = async () => {};
    assert.deepEqual(
      attempts.map(({ task }) => task),
      [good],
    );
    const { state, error } = await yard.task(bad);
    assert.deepEqual([state, error?.code], ["failed", "unreadable_payload"]);
  });

  test("a lost attempt goes to another worker with all its bytes, and a failed one is retried with them", async () => {
    const { id } = await yard.submit("again", textOf(70_000), "?failures=1");
    await yard.claim("again", "first", "&lease=100ms");
    const [second] = await yard.claim("again", "second", "&wait=20s");
    assert.equal(second?.task, id);
    assert.ok(plain(second.payload) === textOf(70_000));
    const headers = { "Content-Type": "application/json" };
    await yard.speak(second, "fail", { body: JSON.stringify({ message: "no" }), headers });
    const retried = (await yard.ask("POST", `/v1/tasks/${id}:retry`)).json as TaskJson;
    const [third] = await yard.claim("again", "third");
    assert.equal(third?.task, retried.id);
    assert.ok(plain(third.payload) === textOf(70_000));
  });
});
